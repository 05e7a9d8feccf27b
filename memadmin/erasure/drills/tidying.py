"""Take away what a drill has made: the neighbour, the container, rows beside them, and after a failure the person too.

Invariant: rows go by the keys that the drill has written down, or by its own container. Nothing is looked for by a word.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import connection, transaction
from django.db.models import QuerySet

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.audit.models import AuditPayload
from memadmin.erasure import purging
from memadmin.erasure.drills import guarding
from memadmin.erasure.drills.planting import model_of
from memadmin.erasure.execution import physical
from memadmin.erasure.execution.erasing import OF_PLACE
from memadmin.erasure.intake import target_of
from memadmin.erasure.models import Drill, ErasureRequest, Status
from memadmin.erasure.querysets import ENDED
from memadmin.erasure.verification.schema import tables
from memadmin.store import locations, removal, suppression

PAYLOADS = AuditPayload._meta.db_table  # which the log lets go of itself, so that its chain says so


@transaction.atomic
def tidy(drill: Drill, *, actor: str, now: datetime) -> None:
    """Take everything away, and say how much it was. Twice is once."""
    request = ErasureRequest.objects.filter(drill=drill).first()
    counts = {"rows": _remove_rows(drill, actor=actor, now=now), **_remove_container(drill)}
    if request is not None:
        counts["suppressions"] = suppression.end_drill(target_of(request))
        _end(request, now=now)
    Drill.objects.filter(pk=drill.pk).update(tidied=guarding.is_gone(drill), rows=[])
    log.append(Action.ERASURE_DRILL_TIDIED, actor=actor, target=target_of_drill(drill), at=now, counts=counts)


def target_of_drill(drill: Drill) -> str:
    return f"drills/{drill.uid}"


def forget(drill: Drill) -> None:
    """After a failure nobody else has: let the database forget what was planted, outside of any transaction. Raises NotForgotten."""
    if drill.failures:
        physical.forget(table.name for table in tables())


def _remove_rows(drill: Drill, *, actor: str, now: datetime) -> int:
    said = [tuple(key) for table, key in drill.rows if table == PAYLOADS]
    gone = log.redact_payload(said, actor=actor, at=now, reason_code="drill")
    for table, key in drill.rows:
        if table == PAYLOADS:
            continue
        rows: QuerySet[Any] = QuerySet(model_of(table)).filter(pk=key)
        gone += rows._raw_delete(connection.alias)
    return gone


def _remove_container(drill: Drill) -> dict[str, int]:
    """The users of the drill's container and all that is theirs, then the container, once nothing hangs on it."""
    users = guarding.made_up_users(drill)  # whoever else wrote there stays, and the container with them
    gone = 0
    for location in locations.in_order():
        model = model_of(location.table) if location.table and location.app != "erasure" else None
        if model is None or not users or all(field.attname != "subject_id" for field in model._meta.concrete_fields):
            continue
        keys = list(model._base_manager.filter(subject_id__in=users).values_list("pk", flat=True))
        if keys and location.name in OF_PLACE:
            gone += removal.remove_erased(OF_PLACE[location.name][0], keys)
        elif keys and location.delete is not None:
            gone += location.delete(keys)
    removed = removal.remove_users(users)
    containers = removal.remove_containers([] if drill.container_id is None else [drill.container_id])
    return {"items": gone, "users": removed, "containers": containers}


def _end(request: ErasureRequest, *, now: datetime) -> None:
    """A drill that failed leaves no open request behind: nobody could carry it on, since its person is gone."""
    if request.state in ENDED:
        return  # its execution has purged its papers
    ErasureRequest.objects.filter(pk=request.pk).update(state=Status.CANCELLED, state_since=now, outcome_code="drill_failed")
    purging.purge(request, now=now)
