"""Actors as the audit log and the store know them: opaque texts that outlive the account."""

from collections.abc import Iterable
from uuid import UUID

from memadmin.access.models import Person


def actor_of(person: Person) -> str:
    return f"person/{person.uid}"


def names_of(actors: Iterable[str]) -> dict[str, str]:
    """Return what to show for each actor: the name of a person who still has an account, in plain words otherwise. One query."""
    asked = set(actors)
    uids = {actor: uid for actor in asked if (uid := _person_uid(actor))}
    people = {person.uid: str(person) for person in Person.objects.filter(uid__in=uids.values())} if uids else {}
    return {actor: people.get(uids[actor], "a former account") if actor in uids else _in_words(actor) for actor in asked}


def _person_uid(actor: str) -> UUID | None:
    kind, _, rest = actor.partition("/")
    try:
        return UUID(rest) if kind == "person" else None
    except ValueError:
        return None


def _in_words(actor: str) -> str:
    kind, _, rest = actor.partition("/")
    words = {"job": f"job {rest}", "command": f"command {rest}", "token": f"API token {rest[:8]}"}
    return words.get(kind, actor or "unknown")
