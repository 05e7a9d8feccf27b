"""What agents and staff have left behind in the demo: the recalls of the last weeks, and two reports on what was forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from memadmin.lifecycle import feedback
from memadmin.lifecycle.feedback import Report
from memadmin.lifecycle.suspects import suspects_of
from memadmin.store.archive import unpack
from memadmin.store.bulk import insert_rows
from memadmin.store.models import Archived, Container, FeedbackKind, ItemType, LongTermMemory, RecallEvent, Subject

SPAN = timedelta(days=60)
MOST_RECALLS = 5  # of one memory in that time
BATCH = 5_000
WORDS = 9  # of a forgotten memory that the report repeats


def leave(container: Container, *, as_of: datetime, actor: str, now: datetime) -> None:
    """Write the traces. The caller's transaction makes it once."""
    events = _events(container, as_of=as_of)
    while batch := list(islice(events, BATCH)):
        insert_rows(RecallEvent, batch)
    _report_two(container, actor=actor, now=now)


def _events(container: Container, *, as_of: datetime) -> Iterator[dict[str, Any]]:
    """Yield the last recalls of each memory that was recalled lately, the latest at the time that its row says."""
    rows = LongTermMemory.objects.filter(container=container, hits__gt=0, last_accessed_at__gt=as_of - SPAN, last_accessed_at__lte=as_of)
    columns = ("uid", "subject_id", "fact_key", "hits", "created_at", "last_accessed_at")
    for row in rows.order_by("pk").values(*columns).iterator(chunk_size=2_000):
        begin = max(row["created_at"] or as_of - SPAN, as_of - SPAN)
        number = min(row["hits"], MOST_RECALLS)
        for turn in range(number):
            at = row["last_accessed_at"] - (row["last_accessed_at"] - begin) * (turn / number)
            yield {
                "container_id": container.pk,
                "subject_id": row["subject_id"],
                "memory_uid": row["uid"],
                "fact_key": row["fact_key"],
                "session_ref": f"visit-{at:%Y-%m-%d}",
                "invocation_id": f"turn-{at:%Y%m%d}-{turn}",
                "at": at,
            }


def _report_two(container: Container, *, actor: str, now: datetime) -> None:
    """Somebody missed two of the memories that the finished run evicted; of the first the cause was found."""
    copies = Archived.objects.filter(container=container, item_type=ItemType.LONG_TERM).order_by("pk")[:2]
    for copy, kind in zip(copies, (FeedbackKind.FORGOT, FeedbackKind.WRONG), strict=False):
        text = str(unpack(copy.payload)["row"]["text"])
        words = f"Asked again for what it used to know: {' '.join(text.split()[:WORDS])}"
        made = feedback.record(
            Subject.objects.get(pk=copy.subject_id), Report(kind=kind, words=words, noticed_at=now), actor=actor, now=now
        )
        if kind is FeedbackKind.FORGOT and copy.uid in {suspect.uid for suspect in suspects_of(made).found}:
            feedback.match(made, copy.uid, actor=actor, now=now)
