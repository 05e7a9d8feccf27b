"""Actors as the audit log and the store know them: opaque texts that outlive the account."""

from collections.abc import Iterable
from uuid import UUID

from django.db.models import Q

from memadmin.access.models import ApiToken, Person


def actor_of(person: Person) -> str:
    return f"person/{person.uid}"


def names_of(actors: Iterable[str]) -> dict[str, str]:
    """Return what to show for each actor: the name of a person or the label of a token, in plain words otherwise. Two queries at most."""
    asked = set(actors)
    people = {actor: uid for actor in asked if (uid := _uid_of(actor, "person"))}
    tokens = {actor: uid for actor in asked if (uid := _uid_of(actor, "token"))}
    names = {person.uid: str(person) for person in Person.objects.filter(uid__in=people.values())} if people else {}
    labels = {token.uid: f"API token {token.label}" for token in ApiToken.objects.filter(uid__in=tokens.values())} if tokens else {}
    known = {actor: names.get(uid, "a former account") for actor, uid in people.items()}
    known |= {actor: labels[uid] for actor, uid in tokens.items() if uid in labels}
    return {actor: known.get(actor) or _in_words(actor) for actor in asked}


def actor_called(said: str) -> str:
    """Return the actor who is meant by a login or full name, whatever its case; what names no account, or several, as it was said."""
    found = [] if "/" in said else list(Person.objects.filter(Q(login__iexact=said) | Q(name__iexact=said))[:2])
    return actor_of(found[0]) if len(found) == 1 else said


def _uid_of(actor: str, kind: str) -> UUID | None:
    given, _, rest = actor.partition("/")
    try:
        return UUID(rest) if given == kind else None
    except ValueError:
        return None


def _in_words(actor: str) -> str:
    kind, _, rest = actor.partition("/")
    if rest.startswith("drill."):
        return f"the made-up {rest.split('.')[1]} of a drill"
    words = {"job": f"job {rest}", "command": f"command {rest}", "token": f"API token {rest[:8]}"}
    return words.get(kind, actor or "unknown")
