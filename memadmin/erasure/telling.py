"""The answer to the person after an erasure: what was done with their request, within one month of it (GDPR Art. 12(3)).

The names in the papers of a complete erasure are purged, so the letter names nobody, and no copy of it is kept: only on which day the
person was told, and who noted it. What the letter says is taken from the certificate.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date, datetime
from typing import Any

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.erasure.bars import ERASING
from memadmin.erasure.certificates.reading import WHY_KEPT
from memadmin.erasure.intake import target_of, today
from memadmin.erasure.models import Certificate, Channel, ErasureRequest, Kind, NoticeState, Profile, Status
from memadmin.erasure.moves import Refusal, WrongState
from memadmin.erasure.querysets import RequestQuerySet
from memadmin.erasure.refusals import audited
from memadmin.plurals import counted

AFTER = (Status.COMPLETED, Status.CLOSED)
ASKED_BY_NOBODY = Kind.STORAGE_LIMIT
NOT_TOLD = (NoticeState.IMPOSSIBLE, NoticeState.DISPROPORTIONATE)


class NotTold(Refusal):
    """The day on which the person was told cannot be right."""

    code = "not_told"


def to_be_told(requests: RequestQuerySet) -> RequestQuerySet:
    """Return the complete erasures somebody has asked for, of whom it is not noted that they were told."""
    done = requests.filter(state__in=AFTER, kind__in=ERASING, drill=None, told_on=None, completed_at__isnull=False)
    return done.exclude(kind=ASKED_BY_NOBODY).exclude(channel=Channel.LEDGER)


def is_to_be_told(request: ErasureRequest) -> bool:
    return request.state in AFTER and to_be_told(ErasureRequest.objects.filter(pk=request.pk)).exists()


@audited(Action.ERASURE_PERSON_TOLD)
def note_told(request: ErasureRequest, *, told_on: date, actor: str, now: datetime) -> None:
    """Note on which day the person was told that the erasure is done. Raises NotTold, WrongState."""
    locked = ErasureRequest.objects.select_for_update().get(pk=request.pk)
    if not is_to_be_told(locked):
        raise WrongState(f"Of request {locked.number} nobody has to be told (any more).")
    if not today(locked.completed_at or now) <= told_on <= today(now):
        raise NotTold("The person was told since the erasure was complete, and not ahead of today.")
    locked.told_on, locked.told_by = told_on, actor
    locked.save(update_fields=["told_on", "told_by"])
    counts = {"days_after_receipt": max((told_on - today(locked.received_at)).days, 0)}
    log.append(Action.ERASURE_PERSON_TOLD, actor=actor, target=target_of(locked), at=now, counts=counts)
    request.refresh_from_db()


def letter_of(request: ErasureRequest) -> str:
    """Return a letter to the person, to be completed and sent; "" before there is a certificate."""
    certificate = Certificate.objects.filter(request=request).order_by("-pk").first()
    if certificate is None or request.completed_at is None:
        return ""
    return "\n\n".join(_paragraphs(request, json.loads(certificate.document)))


def _paragraphs(request: ErasureRequest, said: dict[str, Any]) -> Iterator[str]:
    received, completed = _day(today(request.received_at)), _day(today(request.completed_at))  # type: ignore[arg-type]
    yield f"Your request of {received}, number {request.number}"
    what = "the data that we held about you" if Kind(request.kind).is_about_people else "what you named in your request"
    yield f"We have erased {what}. This was complete on {completed}, and was then verified independently."
    yield from _what_stays(request, said)
    yield from _recipients(said["recipients"])
    yield from _backups(said["backups"])
    yield f"A signed certificate of the erasure has the serial number {said['serial']}. We send it to you when you ask for it." + (
        " With the receipt that we gave you, you can show that it is about you." if said["subject_commitments"] else ""
    )


def _what_stays(request: ErasureRequest, said: dict[str, Any]) -> Iterator[str]:
    kept = said["withheld"]
    if not kept:
        return
    lines = [
        f"- {counted(each['items'], 'item')}: {WHY_KEPT.get(each['reason'], each['reason'])}{_again(each['review_on'])}" for each in kept
    ]
    yield "\n".join(["Some of it we have to keep for now:", *lines])
    if request.profile != Profile.CCPA:
        yield "You may lodge a complaint about this with a supervisory authority, and seek a judicial remedy."


def _again(review_on: str) -> str:
    return f"; we look at it again on {_day(date.fromisoformat(review_on))}" if review_on else ""


def _recipients(counts: dict[str, int]) -> Iterator[str]:
    told = sum(number for state, number in counts.items() if state not in NOT_TOLD)
    not_told = sum(counts.values()) - told
    if told:
        yield f"We tell those to whom we had given the data: {counted(told, 'recipient')}. You may ask us who they are."
    if not_told:
        yield f"{counted(not_told, 'recipient')} could not be told, or only with a disproportionate effort. You may ask us who and why."


def _backups(backups: dict[str, Any]) -> Iterator[str]:
    if not backups:
        return
    until = backups["expire_at"]
    when = (
        "We cannot say yet when the last of them ends."
        if until == "unknown"
        else f"The last of them ends by {_day(date.fromisoformat(until[:10]))}."
    )
    yield f"Backups from before hold the data until they expire; what is restored from one is erased again before it is used. {when}"


def _day(day: date) -> str:
    return f"{day.day} {day:%B %Y}"
