"""Past recalls: how long they are kept, and which of them are those of one fact.

An event is dropped when it is older than `recall_keep_days` and not of one of its user's last `recall_keep_sessions` sessions.
What a memory was recalled for follows the fact: by its key, else by the sources that it was made of, when the memory is built anew.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db import connection
from django.db.models import F, Max, Q, QuerySet, Window
from django.db.models.functions import RowNumber

from memadmin.store import configuration
from memadmin.store.models import ItemType, LongTermMemory, Provenance, RecallEvent

AT_ONCE = 5_000
STEP = 10.0  # seconds of work before the place is given back

Cursor = dict[str, Any]


def prune(*, now: datetime, after: Mapping[str, Any] | None = None, seconds: float = STEP) -> Cursor | None:
    """Drop events that have had their time, from the place `after` on, and return how far it got; None when all have been looked at.

    Takes about `seconds`. Dropping again what has been looked at does nothing, so a place that was lost costs time only.
    """
    began, place = time.monotonic(), dict(after or {"container": 0, "at": "", "id": 0})
    cutoff = now - timedelta(days=configuration.value("recall_keep_days"))
    while True:
        rows = list(_next_rows(place, cutoff)[:AT_ONCE])
        if rows:
            _drop(rows)
            place.update(at=rows[-1]["at"].isoformat(), id=rows[-1]["id"])
        elif not _enter_next_container(place):
            return None
        if time.monotonic() - began >= seconds:
            return place


def _next_rows(place: Cursor, cutoff: datetime) -> QuerySet[RecallEvent, Any]:
    rows = RecallEvent.objects.filter(container=place["container"], at__lt=cutoff)
    if place["at"]:
        at = datetime.fromisoformat(place["at"])
        rows = rows.filter(at__gte=at).filter(Q(at__gt=at) | Q(id__gt=place["id"]))
    return rows.order_by("at", "id").values("id", "at", "subject_id", "session_ref")


def _enter_next_container(place: Cursor) -> bool:
    following = (
        RecallEvent.objects.filter(container__gt=place["container"]).order_by("container").values_list("container", flat=True).first()
    )
    place.update(container=following or 0, at="", id=0)
    return following is not None


def _drop(rows: list[dict[str, Any]]) -> None:
    lasting = last_sessions(row["subject_id"] for row in rows if row["session_ref"] is not None)
    going = [row["id"] for row in rows if (row["subject_id"], row["session_ref"]) not in lasting]
    RecallEvent.objects.filter(id__in=going)._raw_delete(connection.alias)


def last_sessions(subject_ids: Iterable[int]) -> set[tuple[int, str | None]]:
    """Return the last sessions in which something of these subjects was recalled, as (subject, the agent's name of the session)."""
    kept = configuration.value("recall_keep_sessions")
    sessions = RecallEvent.objects.filter(subject__in=set(subject_ids), session_ref__isnull=False).values("subject_id", "session_ref")
    place = Window(RowNumber(), partition_by="subject_id", order_by=[F("last").desc(), "session_ref"])
    ranked = sessions.annotate(last=Max("at")).annotate(place=place).filter(place__lte=kept).order_by("subject_id", "place")
    return {(row["subject_id"], row["session_ref"]) for row in ranked}


def recalls_of(memory: LongTermMemory) -> QuerySet[RecallEvent]:
    """Return the recalls of the fact that a memory holds, those of its forerunners too, the newest first."""
    same = Q(memory_uid=memory.uid)
    if memory.fact_key:
        same |= Q(fact_key=memory.fact_key)
    else:
        same |= Q(memory_uid__in=_made_of_the_same(memory))
    return RecallEvent.objects.filter(same, subject=memory.subject_id).order_by("-at", "-id")


def _made_of_the_same(memory: LongTermMemory) -> QuerySet[Provenance, Any]:
    """Memories that have gone, made of a source of this one. A source of several that are there says nothing of which one goes on."""
    links = Provenance.objects.filter(subject=memory.subject_id, derived_type=ItemType.LONG_TERM)
    others = LongTermMemory.objects.filter(subject=memory.subject_id).exclude(pk=memory.pk).values("uid")
    shared = links.filter(derived_uid__in=others).values("source_uid")
    sources = links.filter(derived_uid=memory.uid).exclude(source_uid__in=shared).values("source_uid")
    return links.filter(source_uid__in=sources).values("derived_uid")
