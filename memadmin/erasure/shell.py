"""The verbs of the workflow for a shell: `erasure open | show | approve`. Who acts gives their password, as on the pages."""

from __future__ import annotations

import sys
from datetime import date
from getpass import getpass
from typing import Any

from django.contrib.auth import authenticate
from django.core.management.base import CommandError
from django.utils import timezone

from memadmin.access.actors import actor_of
from memadmin.access.models import Person
from memadmin.access.rights import Right
from memadmin.access.visibility import visible_containers
from memadmin.erasure import approving, grounds, intake, naming
from memadmin.erasure.approving import Word
from memadmin.erasure.intake import Opening
from memadmin.erasure.look_alikes import candidates
from memadmin.erasure.models import Channel, ErasureRequest, Ground, IdentityLevel, Kind, Origin, Profile, Status
from memadmin.erasure.moves import Refusal
from memadmin.erasure.outcomes import outcome_in_words
from memadmin.erasure.visibility import visible_requests
from memadmin.plurals import counted

LEVELS = {level.name.lower(): level for level in IdentityLevel}
KINDS = [kind.value for kind in Kind if kind.is_taken_in]


def add_verbs(verbs: Any) -> None:
    """Add the three verbs to the command's parsers."""
    opening = verbs.add_parser(
        "open", help="take in a request about a user, single items or a topic; look-alike ids are ticked on its page"
    )
    about = opening.add_mutually_exclusive_group(required=True)
    about.add_argument("--user", help="the id by which the agent knows the person, exactly")
    about.add_argument("--item", nargs="+", metavar="TYPE/UID", help="sessions/UID, working/UID or long-term/UID")
    about.add_argument("--topic", metavar="WORDS", help="what has these words now, in one --container, becomes a fixed list")
    opening.add_argument("--container", nargs="+", metavar="NAME", help="only in these containers; without it in all that you see")
    opening.add_argument("--kind", choices=KINDS, help="without it: erase_subject for --user, erase_topic for the others")
    opening.add_argument("--freeze", action="store_true", help="restrict the user until the request has ended")
    opening.add_argument("--ground", choices=Ground.values, help="one of the right that is used; without it the usual one of the kind")
    opening.add_argument("--profile", choices=Profile.values, default=Profile.GDPR.value, help="whose deadlines count")
    opening.add_argument("--identity", choices=LEVELS, help="how it is known that it is this person, if it is known yet")
    opening.add_argument("--key", default="", help="the same key twice is one request")
    shown = verbs.add_parser("show", help="say how far a request is, or list those that are open; names nobody")
    shown.add_argument("number", type=int, nargs="?")
    approval = verbs.add_parser("approve", help="approve the frozen manifest of a request, by its digest")
    approval.add_argument("number", type=int)
    approval.add_argument("--digest", required=True, help="as `erasure show` and the request's page have it")
    for verb in (opening, approval):
        add_who(verb)
    for verb in (opening, shown, approval):
        verb.add_argument("--json", action="store_true", help="print one JSON object")


def add_who(verb: Any) -> None:
    """Let the verb ask who acts."""
    verb.add_argument("--as", dest="login", required=True, metavar="LOGIN", help="who acts; asks for the password")
    verb.add_argument("--password-stdin", action="store_true", help="the password is the first line of standard input")


def open_request(options: dict[str, Any]) -> dict[str, Any]:
    person = person_of(options, Right.ERASURE_INTAKE)
    kind = Kind(options["kind"] or (Kind.TOPIC if options["user"] is None else Kind.SUBJECT))
    try:
        opening = Opening(
            kind=kind,
            ground=grounds.given_or_usual(kind, options["ground"]),
            profile=Profile(options["profile"]),
            channel=Channel.COMMAND,
            identity=LEVELS.get(options["identity"]),
            freeze=options["freeze"],
            key=options["key"],
            **_named(person, options),
        )
        return said(intake.open_request(opening, actor=actor_of(person), now=timezone.now()))
    except Refusal as refusal:
        raise CommandError(str(refusal)) from refusal


def show(options: dict[str, Any]) -> dict[str, Any]:
    if options["number"] is None:
        return {"requests": [said(each) for each in ErasureRequest.objects.open().filter(drill=None).soonest_first()]}
    return said(numbered(ErasureRequest.objects.all(), options["number"]))


def approve(options: dict[str, Any]) -> dict[str, Any]:
    person = person_of(options, Right.ERASURE_APPROVE)
    request, now = numbered(visible_requests(person), options["number"]), timezone.now()
    word = Word(digest=options["digest"], number=str(options["number"]), proved_at=now, method="password_in_shell")
    try:
        approving.approve(request, word, actor=actor_of(person), now=now)
    except Refusal as refusal:
        raise CommandError(str(refusal)) from refusal
    return said(request)


def said(request: ErasureRequest) -> dict[str, Any]:
    """Return what a shell may show: numbers, codes and days, no name of the person."""
    manifest = request.manifests.filter(number=request.manifest_number or 0).first()
    return {
        "number": request.number,
        "uid": str(request.uid),
        "kind": request.kind,
        "state": request.state,
        "outcome": request.outcome_code,
        "due_on": request.due_on.isoformat(),
        "to_tick": request.subjects.filter(ticked=None).count(),
        "things": manifest.items_total if manifest else 0,
        "to_decide": manifest.undecided if manifest else 0,
        "digest": request.manifest_digest,
    }


def line_of(one: dict[str, Any]) -> str:
    """Return what `said` says in the words of the pages."""
    waits = [counted(one["to_tick"], "id") + " to tick"] if one["to_tick"] else []
    waits += [counted(one["to_decide"], "item") + " to decide about"] if one["to_decide"] else []
    state = str(Status(one["state"]).label)
    state += f" ({outcome_in_words(one['outcome'])})" if one["outcome"] else ""
    due = date.fromisoformat(one["due_on"])
    found = ", ".join([f"{counted(one['things'], 'item')} found", *waits])
    digest = f"\n  digest {one['digest']}" if one["digest"] else ""
    return f"Request {one['number']}: {Kind(one['kind']).label}. {state.capitalize()}, due {due.day} {due:%b %Y}; {found}.{digest}"


def _named(person: Person, options: dict[str, Any]) -> dict[str, Any]:
    """Return whom or what the options name, as `Opening` takes it. Raises Refusal."""
    if options["item"]:
        return {"things": naming.things_named(person, options["item"])}
    if options["topic"] is not None:
        seen = visible_containers(person).filter(name__in=options["container"] or [])
        if len(seen) != 1:
            raise CommandError("Name the one --container in which the words of the topic are looked for.")
        return {"things": naming.things_about(person, options["topic"], seen.get())}
    found, unknown = _meant(person, options["user"], options["container"])
    ticked = [each for each in found if each.origin == Origin.GIVEN]
    return {"ticked": ticked, "others": [(each, None) for each in found if each.origin != Origin.GIVEN], "unknown": unknown}


def _meant(person: Person, user_id: str, names: list[str] | None) -> tuple[list[Any], list[str]]:
    seen = visible_containers(person)
    if names:
        seen = seen.filter(name__in=names)
        missing = set(names) - set(seen.values_list("name", flat=True))
        if missing:
            raise CommandError(f"No container that you see is called {', '.join(sorted(missing))}.")
    found = candidates(user_id, list(seen.values_list("pk", flat=True)))
    exact = any(each.origin == Origin.GIVEN for each in found)
    return found, [] if exact else [user_id]


def person_of(options: dict[str, Any], right: Right) -> Person:
    """Return who acts, after their password. One sentence for every cause, as on the login page."""
    password = sys.stdin.readline().rstrip("\r\n") if options["password_stdin"] else getpass("Password: ")
    person = authenticate(None, login=options["login"], password=password)
    if not isinstance(person, Person):
        raise CommandError("Login and password do not match an account.")
    if not person.may(right):
        raise CommandError(f"You need the right to {right.label}.")
    return person


def numbered(rows: Any, number: int) -> ErasureRequest:
    request: ErasureRequest | None = rows.filter(number=number).first()
    if request is None:
        raise CommandError(f"There is no request {number}.")
    return request
