"""After an execution that left something: what the next manifest takes over from the one before, and what it has that nobody approved.

Invariant: nothing is erased on the word of an old approval but what that approval named, technical copies of it, and the papers.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.erasure import manifests
from memadmin.erasure.execution.steps import ACTOR, enqueue
from memadmin.erasure.intake import target_of
from memadmin.erasure.models import ErasureRequest, Manifest, ManifestItem, Status
from memadmin.erasure.moves import move
from memadmin.store.bulk import insert_rows
from memadmin.store.locations import Act, ItemClass

STAYS = (Act.WITHHOLD, Act.KEEP)
AT_ONCE = 500
COPIED = (
    *("location", "row_key", "row_uid", "item_ref", "subject_id", "item_class", "act", "reason_code", "review_on", "decision"),
    *("decided_by", "survivors", "size", "dated_at", "matched", "matched_at"),
)


def executed(request: ErasureRequest) -> Manifest | None:
    """Return the manifest whose execution was looked at last, None before the first one."""
    last = request.verifications.select_related("manifest").order_by("-number").first()
    return last.manifest if last else None


def carry_over(manifest: Manifest) -> int:
    """Let what was decided about the same things before hold again, and return how many things nobody has approved."""
    before = manifest.follows
    assert before is not None
    strangers, after = 0, 0
    while batch := list(manifest.items.filter(pk__gt=after).order_by("pk")[:AT_ONCE]):
        after = batch[-1].pk
        known = {(item.location, item.row_uid): item for item in before.items.filter(row_uid__in=[item.row_uid for item in batch])}
        for item in batch:
            decided = known.get((item.location, item.row_uid))
            if decided is not None:
                _decide_as(item, decided)
            elif item.item_class != ItemClass.COPY and item.act not in (*STAYS, Act.CLEAR) and not _is_evicted(item, known.values()):
                strangers += 1
    _add_staying(manifest, before)
    return strangers


def _is_evicted(item: ManifestItem, approved: Collection[ManifestItem]) -> bool:
    """Whether it is the copy in the archive of something whose erasure was approved, and which a run took away meanwhile."""
    return item.location == "store.archive" and any(each.row_uid == item.row_uid and each.act == Act.DELETE for each in approved)


def settle(manifest: Manifest, *, now: datetime) -> None:
    """End the search for what was left: it is erased now, or where something is new, reviewed first. The caller has the transaction."""
    request, strangers = manifest.request, carry_over(manifest)
    manifests.sum_up(manifest)
    if strangers:
        move(request, Status.REVIEW, now=now, expect=Status.RESIDUE_FOUND, **_to_review(manifest))
        counts = {"items": strangers}
        log.append(
            Action.ERASURE_RETURNED, actor=ACTOR, target=target_of(request), at=now, reason_code="residue_not_approved", counts=counts
        )
        return
    Manifest.objects.filter(pk=manifest.pk).update(frozen_at=now)
    numbers = {"manifest_number": manifest.number, "manifest_digest": manifest.digest}
    move(request, Status.EXECUTING, now=now, expect=Status.RESIDUE_FOUND, **numbers)
    enqueue(request, actor=ACTOR, now=now)
    counts = {"manifest": manifest.number, "items": manifest.items_total}
    log.append(Action.ERASURE_GOES_ON, actor=ACTOR, target=target_of(request), at=now, reason_code="residue", counts=counts)


def _to_review(manifest: Manifest) -> dict[str, object]:
    return {"manifest_number": manifest.number, "manifest_digest": "", "reviewed_by": ""}


def _decide_as(item: ManifestItem, decided: ManifestItem) -> None:
    """Holds count as they are now, and not as they were."""
    if manifests.HELD in (item.reason_code, decided.reason_code):
        return
    values = {name: getattr(decided, name) for name in ("act", "reason_code", "review_on", "decision", "decided_by")}
    ManifestItem.objects.filter(pk=item.pk).update(**values)


def _add_staying(manifest: Manifest, before: Manifest) -> None:
    """What was to stay is expected still, also where this search had no reason to come across it."""
    there = manifest.items.values("row_uid")
    missing = (
        before.items.filter(act__in=STAYS).exclude(reason_code=manifests.HELD).exclude(row_uid__in=there).order_by("pk").values(*COPIED)
    )
    rows = list(missing)
    for at in range(0, len(rows), AT_ONCE):
        insert_rows(ManifestItem, [{"manifest_id": manifest.pk, **row} for row in rows[at : at + AT_ONCE]])
