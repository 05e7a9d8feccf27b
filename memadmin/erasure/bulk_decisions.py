"""Decisions about many things that waited at once, and undoing the last of them as a whole.

What each thing was planned to be is kept beside it, so that it waits again just as it was found. A thing that was decided about by itself
since does not belong to the decision any more, and stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Exists, F, Max, OuterRef, QuerySet, Value
from django.db.models.functions import Concat

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.erasure import deciding, manifests
from memadmin.erasure.deciding import NotDecidable, Verdict
from memadmin.erasure.intake import target_of
from memadmin.erasure.models import BulkDecision, Decision, ErasureRequest, Manifest, ManifestItem, Status
from memadmin.erasure.refusals import audited
from memadmin.store.locations import ItemClass

UNDONE = "decision_undone"
MADE_HERE = Exists(BulkDecision.objects.filter(manifest=OuterRef("pk"), undone_at=None))  # of a manifest: whether anything may be undone


def waits(item_class: ItemClass) -> Exists:
    """Of a manifest: whether anything of a class waits to be decided about."""
    return Exists(ManifestItem.objects.filter(manifest=OuterRef("pk"), item_class=item_class, decision=Decision.WAITING))


@dataclass(frozen=True, slots=True)
class Undoable:
    """The last decision about many, and how many things it holds for still."""

    decision: BulkDecision
    items: int


def decide(manifest: Manifest, waiting: QuerySet[ManifestItem], verdict: Verdict | None, *, actor: str, now: datetime) -> int:
    """Treat all that wait so, None: each as planned, and return how many that were. The caller has the transaction, and the log."""
    number = (manifest.bulk_decisions.aggregate(last=Max("number"))["last"] or 0) + 1
    act, code = (verdict.act.value, verdict.code) if verdict else ("", "")
    values = {"act": act, "reason_code": code, "review_on": verdict.review_on} if verdict else {}
    planned = Concat(F("act"), Value(" "), F("reason_code"))
    changed = waiting.filter(decision=Decision.WAITING).update(
        **values, planned=planned, bulk=number, decision=Decision.MADE, decided_by=actor
    )
    if changed:
        BulkDecision.objects.create(manifest=manifest, number=number, act=act, reason_code=code, items=changed, made_by=actor, made_at=now)
        manifests.recount(manifest)
    return changed


@audited(Action.ERASURE_DECIDED)
def accept_planned(request: ErasureRequest, item_class: ItemClass, *, actor: str, now: datetime) -> int:
    """Decide that all of a class that wait are treated as planned, and return how many. Raises WrongState, NotDecidable."""
    manifest = deciding.in_review(request)
    changed = decide(manifest, manifest.items.filter(item_class=item_class), None, actor=actor, now=now)
    if not changed:
        raise NotDecidable("Nothing of this class waits for a decision.")
    counts = {"items": changed}
    log.append(Action.ERASURE_DECIDED, actor=actor, target=target_of(request), at=now, reason_code="as_planned", counts=counts)
    return changed


def last_of(request: ErasureRequest) -> Undoable | None:
    """Return what can be undone now, None where nothing can: nothing was decided so, or the list was approved."""
    if request.state not in {Status.REVIEW, Status.AWAITING_APPROVAL}:
        return None
    for decision in BulkDecision.objects.filter(
        manifest__request=request, manifest__number=request.manifest_number or 0, undone_at=None
    ).order_by("-number"):
        items = _items_of(decision).count()
        if items:
            return Undoable(decision, items)
    return None


@audited(Action.ERASURE_DECISION_UNDONE)
def undo(request: ErasureRequest, number: int, *, actor: str, now: datetime) -> int:
    """Let all that the last decision about many has decided wait again, and return how many that is. A list that waits for its approval
    goes back to review. Raises NotDecidable where the decision of this number is not the last (any more), WrongState.
    """
    if ErasureRequest.objects.select_for_update().get(pk=request.pk).state == Status.AWAITING_APPROVAL:
        deciding.return_to_review(request, code=UNDONE, actor=actor, now=now)
    manifest = deciding.in_review(request)
    request.refresh_from_db()
    last = last_of(request)
    if last is None or last.decision.number != number:
        raise NotDecidable("This is not the last decision about many any more. Look at the list again.")
    items = _items_of(last.decision)
    for planned in list(items.order_by("planned").values_list("planned", flat=True).distinct()):
        act, _, code = planned.partition(" ")
        as_found = {"act": act, "reason_code": code, "review_on": None, "decision": Decision.WAITING, "decided_by": ""}
        items.filter(planned=planned).update(**as_found, bulk=None, planned="")
    BulkDecision.objects.filter(pk=last.decision.pk).update(undone_by=actor, undone_at=now)
    manifests.recount(manifest)
    counts = {"items": last.items, "decision": number}
    log.append(Action.ERASURE_DECISION_UNDONE, actor=actor, target=target_of(request), at=now, counts=counts)
    return last.items


def _items_of(decision: BulkDecision) -> QuerySet[ManifestItem]:
    return ManifestItem.objects.filter(manifest=decision.manifest_id, bulk=decision.number).exclude(decision=Decision.NONE)
