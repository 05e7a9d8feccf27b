"""What the audit log asks for: every minute sealing and a signed checkpoint where due, every hour a summary of what agents wrote."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from django.db import transaction
from django.db.models import Count, Q, Sum

from memadmin.audit import checkpoints, log
from memadmin.audit.actions import Action
from memadmin.audit.models import AuditEntry, AuditPending, Stream
from memadmin.store.models import Subject
from memadmin.store.models.subjects import COUNTERS

SEAL = "seal"
ACTOR = "job/seal"
HOURLY = "account"
HOURLY_ACTOR = f"job/{HOURLY}"


def is_due(*, now: datetime) -> bool:
    return AuditPending.objects.exists() or checkpoints.is_due(now=now)


@transaction.atomic
def summarise(*, now: datetime) -> int:
    """Note, for each container that changed since its last summary, what it holds; return how many did.

    What agents write is not noted one by one: every row says itself who wrote it and when.
    """
    changed = 0
    for uid, counts in _totals():
        target = f"containers/{uid}"
        before = AuditEntry.objects.filter(stream=Stream.ACTIVITY, target=target).order_by("-seq").values_list("counts", flat=True).first()
        if counts != before:
            log.note(Action.CONTAINER_COUNTED, actor=HOURLY_ACTOR, target=target, at=now, counts=counts)
            changed += 1
    return changed


def _totals() -> Iterator[tuple[object, dict[str, int]]]:
    names = ["users", *COUNTERS]
    sums = {name: Sum(name) for name in COUNTERS}
    users = Count("id", filter=Q(user_id__isnull=False))
    rows = Subject.objects.values("container__uid").annotate(users=users, **sums).order_by("container__uid")
    for uid, *numbers in rows.values_list("container__uid", *names).iterator():
        yield uid, {name: number or 0 for name, number in zip(names, numbers, strict=True)}
