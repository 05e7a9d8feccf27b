"""A made-up person in every place that the register knows: for controls, which are taken back at once, and for drills."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from django.apps import apps
from django.db import models

from memadmin.store import ingest, locations
from memadmin.store.intake import (
    IncomingArchived,
    IncomingHistory,
    IncomingMemory,
    IncomingPin,
    IncomingSession,
    IncomingWorking,
    Source,
)
from memadmin.store.locations import Location
from memadmin.store.models import Container, ItemType, Session, Subject

ARCHIVED_DAYS = timedelta(days=30)
# What `plant_person` fills by writing as an agent does; the rows of the others are made one by one.
BY_WRITING = frozenset(
    {
        "store_working",
        "store_history",
        "store_long_term",
        "store_sessions",
        "store_archive",
        "store_pins",
        "store_provenance",
        "store_subjects",
        "store_containers",
        "store_container_owners",
    }
)


@dataclass(frozen=True, slots=True)
class Planted:
    """A made-up user, known outside by `word` alone."""

    word: str
    subject: Subject
    container: Container


def plant_person(container: Container, word: str, *, actor: str, now: datetime) -> Planted:
    """Write one session, message, memory, summary, change and archive copy of a user whose every field is the word."""
    session_uid, memory_uid = uuid.uuid4(), uuid.uuid4()
    details: dict[str, Any] = {"user_id": word, "owner": word, "namespace": {word: word}, "created_at": now}
    pin = IncomingPin(reason=word, actor=actor, created_at=now)
    said: dict[str, Any] = {"messages": [{"role": "user", "content": word}], "author": word, "event": {"content": word}}
    ingest.write(
        container,
        [
            _session(word, session_uid, pin, details),
            IncomingWorking(session_ref=f"{word}-session", external_id=f"{word}-message", **_data(word), **said, **details),
            _memory(word, memory_uid, session_uid, pin, details),
            IncomingHistory(
                external_id=f"{word}-change", memory_uid=memory_uid, memory_ref=f"{word}-memory", action="UPDATE", before={"memory": word},
                after={"memory": word}, error=word, tags={word: word}, **details,
            ),
            IncomingArchived(
                user_id=word, item=IncomingMemory(text=word, external_id=f"{word}-old", **details), reason="ttl", archived_at=now,
                expires_at=now + ARCHIVED_DAYS,
            ),
        ],
        actor=actor,
        now=now,
    )  # fmt: skip
    return Planted(word, Subject.objects.get(container=container, user_id=word), container)


def plant_row(location: Location, planted: Planted, *, now: datetime) -> None:
    """Make one row of a place that no writing of an agent fills, with the word in each of its columns."""
    if location.plant is not None:
        location.plant(planted.word, now)
        return
    model = _model_of(location.table)
    model(**values_of(model, location, planted, now=now)).save(force_insert=True)


def values_of(model: type[models.Model], location: Location, planted: Planted, *, now: datetime) -> dict[str, Any]:
    """Return what a made-up row of a place says; columns that fill themselves are left out."""
    return {field.attname: value for field in model._meta.concrete_fields for value in _value(location, field, planted, now=now)}


def made_row_by_row() -> list[Location]:
    """Return the places with a table that `plant_person` leaves empty; those of the workflow itself hold requests, not people."""
    every = [place for place in locations.in_order() if place.table and place.app != "erasure"]
    return [place for place in every if place.name.replace(".", "_") not in BY_WRITING]


def _session(word: str, uid: uuid.UUID, pin: IncomingPin, details: Any) -> IncomingSession:
    whole: dict[str, Any] = {name: {"note": word} for name in ("state", "metadata", "agents", "additional_info")}
    return IncomingSession(uid=uid, external_id=f"{word}-session", summary=word, pin=pin, **whole, **details)


def _memory(word: str, uid: uuid.UUID, session: uuid.UUID, pin: IncomingPin, details: Any) -> IncomingMemory:
    return IncomingMemory(
        uid=uid,
        external_id=f"{word}-memory",
        text=word,
        parts=[{"text": word}],
        author=word,
        strategy_id=word,
        strategy_type=word,
        tags={word: word},
        metadata={word: word},
        fact_key=word,
        superseded_by=uid,
        pin=pin,
        sources=(Source(item_type=ItemType.SESSION, uid=session),),
        **details,
    )


def _data(word: str) -> dict[str, Any]:
    whole = {name: {"note": word} for name in ("structured_data", "structured_data_blob", "metadata", "tags", "parameters")}
    return {**whole, **dict.fromkeys(("binary_data", "checkpoint_id", "event_id", "invocation_id"), word)}


def _model_of(table: str) -> type[models.Model]:
    return next(model for model in apps.get_models(include_auto_created=True) if model._meta.db_table == table)


def _value(location: Location, field: Any, planted: Planted, *, now: datetime) -> Iterator[Any]:
    """Yield the value of a column of a made-up row, or nothing where the database or the model has one."""
    if field.attname in location.example:
        yield location.example[field.attname]
    elif field.column in location.columns:
        yield _said(location, field, planted)
    elif not _fills_itself(field):
        yield _least(field, planted, now=now)


def _fills_itself(field: Any) -> bool:
    has_default = field.has_default() or field.db_default is not models.NOT_PROVIDED
    return bool(field.auto_created or has_default or field.null or field.blank)


def _said(location: Location, field: Any, planted: Planted) -> Any:
    if field.column in location.pack:
        return location.pack[field.column](planted.word)
    if isinstance(field, models.ForeignKey):
        return planted.subject.pk
    if isinstance(field, models.UUIDField):
        return Session.objects.of_subject(planted.subject).values_list("uid", flat=True)[0]
    if isinstance(field, models.JSONField):
        return [planted.word]
    return planted.word.encode() if isinstance(field, models.BinaryField) else planted.word


def _least(field: Any, planted: Planted, *, now: datetime) -> Any:
    """Return the plainest value that a column takes."""
    if isinstance(field, models.ForeignKey):
        nobody = -1 - secrets.randbelow(2**31 - 1)  # a real row may have a line of its own already, which a made-up one would meet
        return {Container: planted.container.pk, Subject: planted.subject.pk}.get(field.related_model, nobody)
    if field.choices:
        return field.choices[0][0]
    plain: list[tuple[type, Any]] = [
        (models.DateTimeField, now),
        (models.DateField, date(now.year, 1, 1)),
        (models.UUIDField, uuid.uuid4()),
        (models.BooleanField, False),
        (models.JSONField, {}),
        (models.BinaryField, b"\0"),
        (models.FloatField, 0.5),
        (models.IntegerField, 1),
    ]
    return next((value for kind, value in plain if isinstance(field, kind)), uuid.uuid4().hex[:16])
