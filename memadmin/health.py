"""Two addresses for whoever watches the service. States only: no names, numbers or versions."""

from datetime import timedelta
from functools import cache

from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.http import HttpRequest, JsonResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from memadmin.erasure.restoring import guard
from memadmin.jobs import heartbeat

WORKER_IS_LATE_AFTER = timedelta(seconds=180)  # it beats every minute


@require_safe
@never_cache
def healthz(request: HttpRequest) -> JsonResponse:
    """Whether the web process answers."""
    return JsonResponse({"process": "up"})


@require_safe
@never_cache
def readyz(request: HttpRequest) -> JsonResponse:
    """Whether work can be done: 200 when every state is good, else 503."""
    try:
        states = {"database": "up", "migrations": _migrations(), "worker": worker_state(), "ledger": _ledger()}
    except DatabaseError:
        states = {"database": "down", "migrations": "unknown", "worker": "unknown", "ledger": "unknown"}
    good = states == {"database": "up", "migrations": "applied", "worker": "alive", "ledger": "applied"}
    return JsonResponse(states, status=200 if good else 503)


def worker_state() -> str:
    """Return "alive", "late" or "never seen"."""
    age = heartbeat.age(timezone.now())
    if age is None:
        return "never seen"
    return "alive" if age <= WORKER_IS_LATE_AFTER else "late"


def _ledger() -> str:
    """Return "applied", or why the database is not as new as what lies outside of it."""
    found = guard.state()
    return "applied" if found.is_open else "; ".join(reason.label for reason in found.reasons)


def _migrations() -> str:
    missing = _known_migrations() - set(MigrationRecorder(connection).applied_migrations())
    return "missing" if missing else "applied"


@cache
def _known_migrations() -> frozenset[tuple[str, str]]:
    return frozenset(MigrationLoader(None).disk_migrations)
