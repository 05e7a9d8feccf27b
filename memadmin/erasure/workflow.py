"""The verbs on a request before anything is found: who it comes from, how long there is, and how it may end without an erasure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime

from django.db.models import F

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.audit.signing import KeysUnusable
from memadmin.erasure import correction_checks, freezing, notices
from memadmin.erasure.certificates.contents import Executed
from memadmin.erasure.certificates.issuing import issue
from memadmin.erasure.intake import dates_of, link_duplicates, note, target_of, today
from memadmin.erasure.models import ErasureRequest, IdentityLevel, Kind, Level, NoteKind, Origin, Profile, Status
from memadmin.erasure.moves import BEFORE_EXECUTION, NOT_ENDED, Refusal, WrongState, move, touch
from memadmin.erasure.rectifying import corrections
from memadmin.erasure.refusals import audited

EXTENSION_CODES = {"complexity": "the request is complex", "number": "the person made many requests"}
REFUSAL_CODES = {
    "not_identified": "the person could not be identified (GDPR 12(2), 11)",
    "unfounded": "manifestly unfounded or excessive (12(5))",
    "art_17_3_a": "freedom of expression and information (17(3)(a))",
    "art_17_3_b": "a legal duty or a task in the public interest (17(3)(b))",
    "art_17_3_c": "public health (17(3)(c))",
    "art_17_3_d": "archiving, research or statistics (17(3)(d))",
    "art_17_3_e": "legal claims (17(3)(e))",
    "no_ground": "none of the grounds applies (17(1))",
    "not_in_law": "the law that applies does not give this right",
}


class NotExtended(Refusal):
    """The time can be extended once, before it is over, with a reason and proof that the person was told."""

    code = "not_extended"


class NoPause(Refusal):
    """CCPA knows no pause, and a clock that stands cannot be stopped."""

    code = "no_pause"


class UnknownCode(Refusal):
    """A reason that is none of those in law."""

    code = "unknown_code"


class NotSoEnded(Refusal):
    """This kind of request, or what was found for it, does not allow this end."""

    code = "not_so_ended"


@audited(Action.ERASURE_IDENTITY_NOTED)
def note_identity(request: ErasureRequest, level: IdentityLevel, *, actor: str, now: datetime) -> None:
    """Note how it is known that the request comes from the person. The clock runs on if it stood for this. Raises WrongState."""
    _resume(request, actor=actor, now=now)
    touch(request, within=BEFORE_EXECUTION, identity_level=level, identity_by=actor, identity_at=now)
    link_duplicates(request)
    log.append(Action.ERASURE_IDENTITY_NOTED, actor=actor, target=target_of(request), at=now, counts={"level": int(level)})


@audited(Action.ERASURE_PAUSED)
def pause(request: ErasureRequest, *, actor: str, now: datetime) -> None:
    """Stop the clock while the person is asked to prove who they are. Raises NoPause, WrongState."""
    if request.profile == Profile.CCPA:
        raise NoPause("Under CCPA the clock does not stop for verifying: the 45 days include it.")
    if request.paused_on is not None or request.identity_level is not None:
        raise NoPause(
            "The clock stands already." if request.paused_on else "The person has proved who they are: there is nothing to wait for."
        )
    touch(request, within=BEFORE_EXECUTION, paused_on=today(now))
    log.append(Action.ERASURE_PAUSED, actor=actor, target=target_of(request), at=now)


@audited(Action.ERASURE_RESUMED)
def resume(request: ErasureRequest, *, actor: str, now: datetime) -> None:
    """Let the clock run on, later by the days that it stood. Raises NoPause, WrongState."""
    if request.paused_on is None:
        raise NoPause("The clock of this request runs.")
    _resume(request, actor=actor, now=now)


@audited(Action.ERASURE_EXTENDED)
def extend(request: ErasureRequest, code: str, *, noticed_on: date, actor: str, now: datetime) -> None:
    """Extend the time, once, with the reason and the day on which the person was told. Raises NotExtended, UnknownCode, WrongState."""
    if code not in EXTENSION_CODES:
        raise UnknownCode(f"Choose a reason: {', '.join(EXTENSION_CODES)}.")
    if request.extended_at is not None:
        raise NotExtended("The time of this request was extended already, and can be once.")
    if today(now) > request.due_on or not today(request.received_at) <= noticed_on <= today(now):
        raise NotExtended("The person must have been told, with the reason, since the request came and before its time is over.")
    request.extended_at = now
    touch(
        request,
        within=NOT_ENDED,
        extended_at=now,
        extension_code=code,
        extension_noticed_on=noticed_on,
        **dates_of(request),
    )
    log.append(Action.ERASURE_EXTENDED, actor=actor, target=target_of(request), at=now, reason_code=code)


@audited(Action.ERASURE_USERS_TICKED)
def tick(request: ErasureRequest, ticked: Mapping[str, bool], *, actor: str, now: datetime) -> None:
    """Decide which look-alikes are meant, by their digests. What was found is then looked for anew. Raises WrongState, NotSoEnded."""
    if request.state not in {Status.RECEIVED, Status.REVIEW}:
        raise WrongState(f"Request {request.number} is {Status(request.state).label}: send it back to review first.")
    rows = {row.subject_ref: row for row in request.subjects.exclude(origin=Origin.ALIAS)}
    changed = {ref: meant for ref, meant in ticked.items() if ref in rows and rows[ref].ticked is not meant}
    if not changed:
        return
    if not any(changed.get(ref, row.ticked) for ref, row in rows.items()):
        raise NotSoEnded("Somebody must be meant. Cancel the request if nobody is.")
    for ref, meant in changed.items():
        request.subjects.filter(subject_ref=ref).update(ticked=meant)
    widened = any(meant or rows[ref].ticked for ref, meant in changed.items())
    if request.state == Status.REVIEW and widened:
        move(request, Status.RECEIVED, now=now, manifest_number=None)
    freezing.follow_ticks(request, actor=actor, now=now)
    counts = {"in": sum(changed.values()), "out": len(changed) - sum(changed.values())}
    log.append(Action.ERASURE_USERS_TICKED, actor=actor, target=target_of(request), at=now, counts=counts)


@audited(Action.ERASURE_NOTE_ADDED)
def add_note(request: ErasureRequest, text: str, *, actor: str, now: datetime) -> None:
    """Raises NothingWritten, TooMany, WrongState for a request whose notes have been purged."""
    if request.purged_at is not None:
        raise WrongState("The notes of this request have been purged; nothing is added to them.")
    note(request, text, kind=NoteKind.NOTE, actor=actor, now=now)
    log.append(Action.ERASURE_NOTE_ADDED, actor=actor, target=target_of(request), at=now)


@audited(Action.ERASURE_REFUSED)
def refuse(request: ErasureRequest, code: str, *, letter: str, actor: str, now: datetime) -> None:
    """End a request with a reason in law and the letter to the person. Raises UnknownCode, NothingWritten, WrongState."""
    if code not in REFUSAL_CODES:
        raise UnknownCode(f"Choose a reason in law: {', '.join(REFUSAL_CODES)}.")
    _check_untouched(request)
    note(request, letter, kind=NoteKind.LETTER, actor=actor, now=now)
    move(request, Status.REFUSED, now=now, outcome_code=code)
    _void_standing(request, "refused", now=now)
    freezing.lift(request, actor=actor, now=now)
    log.append(Action.ERASURE_REFUSED, actor=actor, target=target_of(request), at=now, reason_code=code)


@audited(Action.ERASURE_CANCELLED)
def cancel(request: ErasureRequest, *, actor: str, now: datetime) -> None:
    """Withdraw a request. Once the erasure has begun it cannot be: Raises WrongState."""
    if request.state not in BEFORE_EXECUTION:
        raise WrongState(f"Request {request.number} is {Status(request.state).label}: it cannot be withdrawn any more.")
    _check_untouched(request)
    move(request, Status.CANCELLED, now=now, outcome_code="withdrawn")
    _void_standing(request, "cancelled", now=now)
    freezing.lift(request, actor=actor, now=now)
    log.append(Action.ERASURE_CANCELLED, actor=actor, target=target_of(request), at=now)


@audited(Action.ERASURE_NOTHING_HELD)
def end_as_nothing_held(request: ErasureRequest, *, letter: str, actor: str, now: datetime) -> None:
    """End a request for which every place answered, and none held a thing. Raises NotSoEnded, NothingWritten, WrongState."""
    _check_untouched(request)
    manifest = request.manifests.filter(number=request.manifest_number or 0).first()
    if manifest is None or manifest.completed_at is None or manifest.items_total:
        raise NotSoEnded("Something was found, or nothing was looked for yet.")
    if manifest.answers.filter(answer__in=["unreachable", "failed"]).exists():
        raise NotSoEnded("A place could not be asked: nobody knows whether it is empty. Look again.")
    if request.subjects.filter(ticked=None).exists():
        raise NotSoEnded("Decide about the ids that look alike first.")
    note(request, letter, kind=NoteKind.LETTER, actor=actor, now=now)
    move(request, Status.NOTHING_HELD, now=now, outcome_code="nothing_held", reviewed_by=actor)
    empty = Executed(started_at=None, completed_at=now, places=[], recipients={})
    try:
        issue(request, Level.NOTHING_HELD, empty, actor=actor, now=now)
    except KeysUnusable as problem:
        raise NotSoEnded(f"The certificate cannot be signed: {problem}") from problem
    freezing.lift(request, actor=actor, now=now)
    log.append(Action.ERASURE_NOTHING_HELD, actor=actor, target=target_of(request), at=now)


@audited(Action.ERASURE_ANSWERED)
def answer(request: ErasureRequest, code: str, *, letter: str, actor: str, now: datetime) -> None:
    """End a request to correct, restrict or give access that was done as `code` says.

    One to restrict is followed here: the users that are meant are restricted in this transaction. Raises NotSoEnded, NothingWritten,
    WrongState.
    """
    if Kind(request.kind).erases:
        raise NotSoEnded("A request to erase ends with an erasure and its certificate, or with a refusal.")
    if code not in {"done", "done_in_part"}:
        raise UnknownCode("Say done or done_in_part; a request that is not followed is refused with a reason.")
    if request.kind == Kind.ACCESS and code == "done" and not request.access_exports.filter(handed_at__isnull=False).exists():
        raise NotSoEnded("Make the export and hand out its link first, or say done_in_part: then the letter says how they got their data.")
    note(request, letter, kind=NoteKind.LETTER, actor=actor, now=now)
    if request.kind == Kind.RESTRICT:
        _restrict(request, actor=actor, now=now)
    if request.kind == Kind.RECTIFY and not corrections(request):
        raise NotSoEnded("Nothing was corrected yet. Correct an item first, or refuse the request with a reason and a letter.")
    freezing.lift(request, actor=actor, now=now)
    move(request, Status.COMPLETED, now=now, expect=Status.REVIEW, outcome_code=code, completed_at=now, reviewed_by=actor)
    if request.kind != Kind.ACCESS:
        notices.make(request, now=now)
    if request.kind == Kind.RECTIFY:
        correction_checks.ask(request, actor=actor, now=now)
    log.append(Action.ERASURE_ANSWERED, actor=actor, target=target_of(request), at=now, reason_code=code)


def _check_untouched(request: ErasureRequest) -> None:
    """After an execution that left something the request is in review again, and can only be carried to its end."""
    if request.attempt:
        raise WrongState(f"The erasure of request {request.number} has begun: part of it is done, and it can only be completed.")


def _restrict(request: ErasureRequest, *, actor: str, now: datetime) -> None:
    if request.identity_level is None:
        raise NotSoEnded(
            "Note first how it is known that the request comes from the person: a stranger must not stop what an agent recalls."
        )
    if request.subjects.filter(ticked=None).exists():
        raise NotSoEnded("Decide about the ids that look alike first.")
    if not freezing.restrict(request, actor=actor, now=now):
        raise NotSoEnded(
            "No container holds anything of this person (any more): there is nothing to restrict. Refuse the request with a letter."
        )


def _resume(request: ErasureRequest, *, actor: str, now: datetime) -> None:
    if request.paused_on is None:
        return
    days = max((today(now) - request.paused_on).days, 0)  # a clock set back must not take days away
    touch(request, within=BEFORE_EXECUTION, paused_on=None, paused_days=F("paused_days") + days)
    touch(request, within=BEFORE_EXECUTION, **dates_of(request))
    log.append(Action.ERASURE_RESUMED, actor=actor, target=target_of(request), at=now, counts={"days": days})


def _void_standing(request: ErasureRequest, code: str, *, now: datetime) -> None:
    request.approvals.filter(voided_at=None, used_at=None).update(voided_at=now, void_code=code)
