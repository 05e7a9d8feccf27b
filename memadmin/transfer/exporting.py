"""Memories out into a file of our own format: complete, and the same bytes from every database.

Left out, and named in the header: the audit log, runs, settings and people, provenance of memories that have gone for good,
and what belongs to this store alone (row revisions, the time of storing, holds).
"""

from __future__ import annotations

import itertools
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from django.db import connection, models, transaction

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.store import archive
from memadmin.store.models import (
    Archived,
    Container,
    HistoryEntry,
    ItemType,
    LongTermMemory,
    Pin,
    PolicyVersion,
    Provenance,
    Session,
    Subject,
    WorkingMemory,
)
from memadmin.store.querysets import ContainerQuerySet, SubjectQuerySet
from memadmin.transfer import own
from memadmin.transfer.files import json_lines

NOT_INCLUDED = [
    *("audit log", "runs", "settings", "people", "provenance of removed memories", "holds", "row revisions", "time of storing"),
    *("recalls", "feedback", "vectors", "suppressions", "what was set aside", "requests of people and their papers", "API tokens"),
    *("webhooks", "jobs and schedules", "idempotency keys", "consent to removing unattributed memories"),
]
SUBJECTS_AT_A_TIME = 200
ROWS_AT_A_TIME = 200

MODELS: dict[str, type[models.Model]] = {
    "session": Session,
    "working": WorkingMemory,
    "long-term": LongTermMemory,
    "history": HistoryEntry,
}

Record = dict[str, Any]


class NobodyFound(Exception):
    """No container that may be exported knows this user."""


@dataclass(frozen=True)
class Exported:
    """How many records of each type went into the file."""

    containers: int
    counts: Mapping[str, int]


def export_containers(to: Path, containers: ContainerQuerySet, *, actor: str, now: datetime) -> Exported:
    """Write all that the containers hold. The caller decides which containers a person may see."""
    return _export(to, list(containers.order_by("name", "uid")), None, actor=actor, now=now)


def export_user(to: Path, user_id: str, containers: ContainerQuerySet, *, actor: str, now: datetime) -> Exported:
    """Write all that the containers hold of one user, and of the containers only their names. Raises NobodyFound."""
    holding = containers.filter(id__in=Subject.objects.filter(user_id=user_id).values("container_id"))
    chosen = list(holding.order_by("name", "uid"))
    if not chosen:
        raise NobodyFound
    return _export(to, chosen, user_id, actor=actor, now=now)


def _export(to: Path, containers: list[Container], user_id: str | None, *, actor: str, now: datetime) -> Exported:
    counts: Counter[str] = Counter()
    with json_lines(to) as write:
        with _snapshot():
            write(_header(containers, is_user=user_id is not None, now=now))
            for container in containers:
                for record in _records(container, user_id):
                    counts[record["type"]] += 1
                    write(record)
        write({"type": "end", "counts": dict(counts)})
        _audit(containers, user_id, counts, actor=actor, now=now)
    return Exported(containers=len(containers), counts=dict(counts))


def _header(containers: Iterable[Container], *, is_user: bool, now: datetime) -> Record:
    return {
        "memadmin": own.VERSION,
        "exported_at": own.write_time(now),
        "scope": "user" if is_user else "container",
        "containers": [{"uid": str(container.uid), "name": container.name} for container in containers],
        "not_included": NOT_INCLUDED,
    }


@transaction.atomic
def _audit(containers: Iterable[Container], user_id: str | None, counts: Mapping[str, int], *, actor: str, now: datetime) -> None:
    for container in containers:
        target = f"containers/{container.uid}"
        if user_id is not None:
            target = f"subjects/{Subject.objects.get(container=container, user_id=user_id).uid}"
        log.append(Action.EXPORT_FINISHED, actor=actor, target=target, at=now, counts=counts)


@contextmanager
def _snapshot() -> Iterator[None]:
    """See the store as it is now until the end, without keeping writers out."""
    if connection.in_atomic_block:
        yield
        return
    with connection.cursor() as cursor:  # not `atomic`: on SQLite that would lock the store against writers
        cursor.execute("BEGIN DEFERRED" if connection.vendor == "sqlite" else "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        try:
            yield
        finally:
            cursor.execute("ROLLBACK")


def _records(container: Container, user_id: str | None) -> Iterator[Record]:
    subjects = Subject.objects.of_container(container)
    if user_id is None:
        yield own.container_record(container)
        for version in PolicyVersion.objects.filter(container=container).order_by("number"):
            yield own.policy_record(version, json.loads(version.document))
    else:
        subjects = subjects.filter(user_id=user_id)
        yield {"type": "container", "name": container.name, "uid": str(container.uid)}
    for chunk in _chunks(subjects.attributed()):
        yield from ({"type": "user", "user_id": name} for name in chunk.values())
    for kind, model in MODELS.items():
        for page in _pages(model, container, subjects):
            yield from _item_records(kind, page)
    for page in _pages(Archived, container, subjects):
        yield from _archived_records(page)


def _chunks(subjects: SubjectQuerySet) -> Iterator[dict[int, str | None]]:
    """Yield {key: user id} of a few subjects at a time, in the order of the user ids; the unattributed one comes last, alone."""
    users = subjects.attributed().order_by("user_id").values_list("id", "user_id").iterator(chunk_size=1_000)
    while chunk := dict(itertools.islice(users, SUBJECTS_AT_A_TIME)):
        yield chunk
    if unattributed := dict(subjects.filter(user_id=None).values_list("id", "user_id")):
        yield unattributed


def _pages(model: type[models.Model], container: Container, subjects: SubjectQuerySet) -> Iterator[list[Record]]:
    """Yield the rows of a table a page at a time, by user and then as they were stored."""
    for chunk in _chunks(subjects):
        # Only this table's index begins with the container; naming it elsewhere makes SQLite walk the whole container each time.
        among = {"container": container} if model is LongTermMemory else {}
        rows = model._default_manager.filter(**among, subject_id__in=chunk).order_by("subject__user_id", "id").values()
        found = ({**row, "user_id": chunk[row["subject_id"]]} for row in rows.iterator(chunk_size=ROWS_AT_A_TIME))
        while page := list(itertools.islice(found, ROWS_AT_A_TIME)):
            yield page


def _item_records(kind: str, page: list[Record]) -> Iterator[Record]:
    pinned = [row["uid"] for row in page if kind in ("session", "long-term") and row["pinned"]]
    pins = {(pin.target_uid, pin.subject_id): pin for pin in Pin.objects.filter(target_uid__in=pinned)} if pinned else {}
    sources = _sources(row["uid"] for row in page) if kind == "long-term" else {}
    for row in page:
        key = (row["uid"], row["subject_id"])
        yield {**own.item_record(kind, row, pin=pins.get(key), sources=sources.get(key, ())), "user_id": row["user_id"]}


def _sources(uids: Iterable[Any]) -> dict[tuple[Any, int], list[Provenance]]:
    found: defaultdict[tuple[Any, int], list[Provenance]] = defaultdict(list)
    for link in Provenance.objects.filter(derived_uid__in=list(uids)).order_by("source_type", "source_uid"):
        found[link.derived_uid, link.subject_id].append(link)
    return found


def _archived_records(page: list[Record]) -> Iterator[Record]:
    sources = _sources(row["uid"] for row in page)
    for row in page:
        body = archive.unpack(row["payload"])
        kind = own.KIND_OF[ItemType(row["item_type"])]
        yield {
            "type": "archived",
            "user_id": row["user_id"],
            "reason": row["reason"],
            "run_number": row["run_number"],
            "archived_at": own.write_time(row["archived_at"]),
            "expires_at": own.write_time(row["expires_at"]),
            "item": own.item_record(kind, body["row"], pin=archive.pin_in(body), sources=sources.get((row["uid"], row["subject_id"]), ())),
            "working": [own.item_record("working", {**memory, "session_id": 0}) for memory in body["working"]],
        }
