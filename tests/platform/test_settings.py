import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client

from tests.databases import is_sqlite
from tests.sources import ROOT

NOT_IN_PRODUCTION = {"DEBUG", "SECURE", "DJANGO_ALLOW_ASYNC_UNSAFE"}  # the last one is set by the browser tests


def manage(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**{key: value for key, value in os.environ.items() if key not in NOT_IN_PRODUCTION}, **variables}
    return subprocess.run([sys.executable, "manage.py", *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def test_a_bad_value_stops_the_start_with_one_line_that_names_it():
    answer = manage("check", HSTS_SECONDS="soon")

    assert answer.returncode != 0
    assert answer.stderr.splitlines()[-1] == "HSTS_SECONDS must be a whole number from 0 to 63072000, not 'soon'."


def test_production_settings_pass_the_deployment_check(tmp_path: Path):
    answer = manage("check", "--deploy", "--fail-level", "WARNING", VAR_DIR=str(tmp_path))

    assert answer.returncode == 0, answer.stderr


def test_times_are_utc():
    assert (settings.TIME_ZONE, settings.USE_TZ) == ("UTC", True)


def test_the_content_security_policy_is_strict(client: Client):
    policy = client.get("/nowhere").headers["Content-Security-Policy"]

    assert sorted(policy.split("; ")) == [
        "base-uri 'self'",
        "default-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "img-src 'self' data:",
    ]


@pytest.mark.django_db
@pytest.mark.skipif(not is_sqlite(), reason="about SQLite only")
def test_sqlite_is_opened_as_the_settings_say():
    with connection.cursor() as cursor:
        values = {
            name: cursor.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous", "secure_delete", "foreign_keys")
        }

    assert values == {"journal_mode": "wal", "synchronous": 1, "secure_delete": 1, "foreign_keys": 1}
    assert connection.transaction_mode == "IMMEDIATE"  # type: ignore[attr-defined]


@pytest.mark.django_db
@pytest.mark.skipif(is_sqlite(), reason="about PostgreSQL only")
def test_postgresql_compiles_no_query_and_pools_no_connection():
    with connection.cursor() as cursor:
        cursor.execute("SHOW jit")
        assert cursor.fetchone() == ("off",)

    assert "pool" not in connection.settings_dict["OPTIONS"]
