"""What must be kept and what may not come back, as the ledger says it: holds first of all, since they bind what is erased afterwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime

from django.db import transaction
from django.db.models import Count

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.audit.ledger import Line
from memadmin.audit.models import AuditEntry
from memadmin.erasure import afterwards
from memadmin.erasure.access_exports import ending
from memadmin.erasure.intake import Thing
from memadmin.erasure.models import AccessExport, ExportState, Kind
from memadmin.erasure.models.access_exports import LIVE
from memadmin.erasure.restoring.papers import ACTOR
from memadmin.erasure.restoring.told import Erasure, HoldTold
from memadmin.store import holding, suppression
from memadmin.store.models import Container, Hold, HoldScope, Mode, Subject, Suppression


@dataclass(slots=True)
class Holds:
    """What differs: holds to be placed again, and (with the line that ended them) those that stand though they were released."""

    to_place: list[Hold] = field(default_factory=list)
    to_release: list[tuple[Hold, Line]] = field(default_factory=list)


def holds_of(told: Sequence[HoldTold], people: Mapping[str, int], things: Mapping[str, Thing]) -> Holds:
    """Compare the holds of the ledger with those that stand. One on something that is not in this database binds nothing here."""
    known = {str(hold.uid): hold for hold in Hold.objects.filter(uid__in=[each.uid for each in told])}
    found = Holds()
    for each in told:
        here = known.get(each.uid)
        if each.released is not None:
            if here is not None and here.released_at is None:
                found.to_release.append((here, each.released))
        elif here is None and each.placed is not None:
            hold = _made_again(each.placed, people, things)
            if hold is not None:
                found.to_place.append(hold)
    return found


def settle_holds(found: Holds, *, now: datetime) -> tuple[int, int]:
    """Place and release, and return how many of each. Twice is once."""
    placed = sum(holding.place_again(hold, actor=ACTOR, now=now) for hold in found.to_place)
    released = 0
    for hold, line in found.to_release:
        day = line.facts.get("noticed_on", "")
        noticed = date.fromisoformat(day) if day else None
        released += holding.release_again(hold, by=line.facts["by"], at=line.at, noticed_on=noticed, actor=ACTOR, now=now)
    return placed, released


def lost_corrections(told: Mapping[str, tuple[int, int]]) -> list[int]:
    """Return the numbers of the requests for which more was corrected than this database knows of: somebody has to do it again.

    What was right nobody outside knows, so it cannot be done here.
    """
    known = dict(
        AuditEntry.objects.filter(action=Action.ERASURE_ITEM_CORRECTED, outcome="ok", target__in=[f"erasure/{uid}" for uid in told])
        .order_by()
        .values("target")
        .annotate(n=Count("pk"))
        .values_list("target", "n")
    )
    return sorted(number for uid, (number, corrections) in told.items() if known.get(f"erasure/{uid}", 0) < corrections)


def end_exports(*, now: datetime) -> int:
    """Call off every export for a person that this older database takes for one that waits: it may have been taken since. Once is once."""
    live = AccessExport.objects.filter(state__in=LIVE).select_related("request").order_by("pk")
    return sum(ending.end(export, ExportState.WITHDRAWN, actor=ACTOR, now=now, reason_code="ledger") for export in live)


def _made_again(line: Line, people: Mapping[str, int], things: Mapping[str, Thing]) -> Hold | None:
    facts, scope = line.facts, HoldScope(line.facts["scope"])
    container = Container.objects.filter(uid=facts["container"]).first()
    subject = Subject.objects.filter(pk=people.get(facts["subject"], 0)).first() if facts["subject"] else None
    thing = things.get(facts["item"])
    target = container if scope == HoldScope.CONTAINER else subject if scope == HoldScope.SUBJECT else thing
    if container is None or target is None:
        return None
    return Hold(
        uid=facts["hold"],
        kind=facts["kind"],
        scope=scope,
        container=container,
        subject_id=None if scope == HoldScope.CONTAINER else thing.subject_id if thing else subject.pk if subject else None,
        target_uid=target.uid,
        authority=facts["authority"],
        review_on=date.fromisoformat(facts["review_on"]),
        placed_by=facts["by"],
        placed_at=line.at,
    )


def to_lift(lines: Sequence[Line]) -> list[tuple[Suppression, Line]]:
    """Return the suppressions that stand here though they were lifted, as far as they are in the database by now."""
    by_name = {(line.facts["container"], line.facts["digest"]): line for line in lines}
    standing = Suppression.objects.filter(digest__in=[digest for _, digest in by_name], mode__in=suppression.STANDING)
    named = [(each, (str(each.container.uid) if each.container else "", each.digest)) for each in standing.select_related("container")]
    return [(each, by_name[name]) for each, name in named if name in by_name and each.mode != Mode.FENCE]


def lift(found: Sequence[tuple[Suppression, Line]], *, now: datetime) -> int:
    for each, line in found:
        suppression.lift_again(each, by=line.facts["by"], at=line.at, actor=ACTOR, now=now)
    return len(found)


@transaction.atomic
def remember(told: Erasure, *, now: datetime) -> int:
    """Let whom an erasure names be refused for as long as was meant, whether or not this database has heard of them.

    Returns how many are new.
    """
    if not Kind(told.facts["kind"]).is_about_people:
        return 0
    target = f"erasure/{told.request}"
    terms = afterwards.terms(told.ended_at)
    containers = {str(each.uid): each for each in Container.objects.filter(uid__in=[fence["container"] for fence in _fences(told)])}
    made = 0
    for fence in _fences(told):
        container = containers.get(fence["container"])
        if container is not None:
            named = {"key_id": fence["key_id"], "container": container}
            made += suppression.remember(fence["digest"], **named, terms=terms, request_ref=target, now=now)
    if told.completed is not None:
        suppression.block_until(target, terms.block_until)
    if made:
        log.append(Action.SUPPRESSION_PLACED, actor=ACTOR, target=target, at=now, reason_code="ledger", counts={terms.mode.value: made})
    return made


def _fences(told: Erasure) -> list[dict[str, str]]:
    return list(told.facts.get("fences", []))
