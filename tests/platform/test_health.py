from datetime import timedelta

import pytest
from django.db import OperationalError, connection
from django.test import Client
from django.utils import timezone

from memadmin.jobs import heartbeat


@pytest.fixture(autouse=True)
def _https_only(settings: object) -> None:
    settings.SECURE_SSL_REDIRECT = True  # type: ignore[attr-defined]  # probes come over plain HTTP all the same


def test_the_web_process_answers_without_a_login(client: Client):
    answer = client.get("/healthz")

    assert (answer.status_code, answer.json()) == (200, {"process": "up"})


@pytest.mark.django_db
def test_ready_means_database_migrations_and_a_living_worker(client: Client):
    heartbeat.beat(timezone.now())

    answer = client.get("/readyz")

    assert (answer.status_code, answer.json()) == (200, {"database": "up", "migrations": "applied", "worker": "alive", "ledger": "applied"})


@pytest.mark.django_db
def test_a_worker_that_has_not_beaten_for_three_minutes_is_late(client: Client):
    heartbeat.beat(timezone.now() - timedelta(seconds=181))

    answer = client.get("/readyz")

    assert (answer.status_code, answer.json()["worker"]) == (503, "late")


@pytest.mark.django_db
def test_a_worker_that_never_started_is_told_apart(client: Client):
    assert client.get("/readyz").json()["worker"] == "never seen"


@pytest.mark.django_db
def test_a_missing_migration_is_not_ready(client: Client):
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'store'")

    answer = client.get("/readyz")

    assert (answer.status_code, answer.json()["migrations"]) == (503, "missing")


def test_a_database_that_is_down_is_said_without_details(client: Client, monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object) -> None:
        raise OperationalError("connection to 10.0.0.7 refused for user memories")

    monkeypatch.setattr("memadmin.health.MigrationRecorder", refuse)

    answer = client.get("/readyz")

    assert (answer.status_code, answer.json()) == (
        503,
        {"database": "down", "migrations": "unknown", "worker": "unknown", "ledger": "unknown"},
    )
