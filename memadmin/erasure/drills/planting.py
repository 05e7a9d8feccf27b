"""Plant a made-up person in every place, and a neighbour whose id begins with theirs. Unlike controls these rows are committed.

Invariant: what is planted is acted upon by nobody: jobs have ended, subscriptions are off, holds are released.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.apps import apps
from django.db import models, transaction

from memadmin.erasure.drills.names import canary_of, neighbour_of, person_of
from memadmin.erasure.models import Drill, DrillPlace
from memadmin.erasure.planting import BY_WRITING, Planted, made_row_by_row, plant_person, values_of
from memadmin.store import appending, editing, locations
from memadmin.store.intake import IncomingWorking
from memadmin.store.locations import Location
from memadmin.store.models import Container, LongTermMemory

# Places in which nothing is planted for good: why. Their columns are tried by the controls of the verification, which are taken back.
CONTROLS_ONLY = {
    "access.people": "an account is a key to the store, and none is made for a drill",
    "access.tokens": "a token is a key to the store, and none is made for a drill",
    "access_exports.copies": "an export is made for the reviewed request of a person",
    "access_exports.parts": "an export is made for the reviewed request of a person",
    "lifecycle.approvals": "a run that waits for a second person would call people",
    "store.container_owners": "whose a container is decides who sees it, and that of a drill is nobody's",
    "store.lift_reasons": "a suppression is made by an erasure",
    "store.suppressions": "holds keyed digests, in which no word can be found",
    "webhooks.addresses": "a subscription would be told of what happens",
}
BESIDE = Location(name="erasure.beside", title="a row that another one needs", order=0)


class NotPlantable(Exception):
    """A row here would need a request beside it, and a drill makes no other one than its own."""


def inert(table: str, word: str, now: datetime) -> Mapping[str, Any]:
    """Return what keeps a row of this table from being acted upon."""
    every: dict[str, dict[str, Any]] = {
        "jobs_job": {"state": "done", "finished_at": now},
        "django_q_schedule": {"repeats": 0},
        "django_q_ormq": {"lock": None},
        "store_hold": {"released_at": now, "released_by": "system/drill", "release_reason": word, "notice_sent_on": now.date()},
        "webhooks_subscription": {"enabled": False},
        "webhooks_delivery": {"state": "delivered", "ended_at": now},
    }
    return every.get(table, {})


def plant(drill: Drill, container: Container, *, actor: str, now: datetime) -> None:
    """Plant the person by all the ways in, row by row where no way leads, and the neighbour. The caller has the transaction."""
    plant_person(container, neighbour_of(drill), actor=actor, now=now)
    planted = plant_person(container, person_of(drill), actor=actor, now=now)
    _say(drill, container, actor=actor, now=now)
    rows: list[list[Any]] = []
    for location in made_row_by_row():
        if location.name not in CONTROLS_ONLY:
            rows += _plant_row(location, planted, now=now)
    drill.rows = rows
    drill.save(update_fields=["rows"])
    DrillPlace.objects.bulk_create([DrillPlace(drill=drill, location=name, planted=n) for name, n in _counted(planted).items()])


def _say(drill: Drill, container: Container, *, actor: str, now: datetime) -> None:
    """Let the person say the canary word as an agent writes: a message more, and a correction, which leaves history."""
    person = person_of(drill)
    said = [{"role": "user", "content": f"The word is {canary_of(drill)}"}]
    message = IncomingWorking(uid=uuid.uuid4(), session_ref=f"{person}-session", user_id=person, messages=said, created_at=now)
    appending.append(container, message, now=now)
    memory = LongTermMemory.objects.get(container=container, external_id=f"{person}-memory")
    editing.edit_memory(memory, {"text": f"{person} says {canary_of(drill)}"}, actor=actor, now=now)


def _plant_row(location: Location, planted: Planted, *, now: datetime) -> list[list[Any]]:
    """Make one row, and what its table needs besides; return [table, key] of each, the last one first."""
    if location.plant is not None:
        return [[location.table, location.plant(planted.word, now)]]
    return _made(model_of(location.table), planted, location, now=now)


def _made(model: type[models.Model], planted: Planted, location: Location, *, now: datetime) -> list[list[Any]]:
    values = values_of(model, location, planted, now=now) | dict(inert(model._meta.db_table, planted.word, now))
    beside: list[list[Any]] = []
    fields: list[Any] = list(model._meta.concrete_fields)
    for field in fields:
        if _needs_another(field, values) and field.related_model._meta.app_label == "erasure":
            raise NotPlantable(f"{location.name} needs a request: say in CONTROLS_ONLY why nothing is planted there.")
        if _needs_another(field, values):
            beside += _made(field.related_model, planted, BESIDE, now=now)
            values[field.attname] = beside[0][1]
    row = model(**values)
    with transaction.atomic():
        row.save(force_insert=True)
    return [[model._meta.db_table, row.pk], *beside]


def _needs_another(field: Any, values: Mapping[str, Any]) -> bool:
    if not isinstance(field, models.ForeignKey) or field.attname not in values:
        return False
    link: Any = field
    return bool(link.db_constraint) and link.related_model._meta.db_table not in ("store_container", "store_subject")


def _counted(planted: Planted) -> dict[str, int]:
    """Return how many rows of the person there are by place."""
    counts: dict[str, int] = {}
    for location in locations.in_order():
        if not location.table or location.app == "erasure" or location.name in CONTROLS_ONLY:
            continue
        model = model_of(location.table)
        owned = any(field.attname == "subject_id" for field in model._meta.concrete_fields)
        rows = model._base_manager.filter(subject_id=planted.subject.pk).count() if owned else 1
        counts[location.name] = 1 if location.name.replace(".", "_") in BY_WRITING and not owned else rows
    return counts


def model_of(table: str) -> type[models.Model]:
    return next(model for model in apps.get_models(include_auto_created=True) if model._meta.db_table == table)
