"""Which database the tests run on, for the header of the test run and for tests that differ."""

import sqlite3
from typing import Any

import psycopg
from django.conf import settings

SQLITE = "django.db.backends.sqlite3"


def is_sqlite() -> bool:
    return bool(settings.DATABASES["default"]["ENGINE"] == SQLITE)


def describe_database() -> str:
    """Return engine and version, for example `PostgreSQL 15.19 on 127.0.0.1`."""
    if is_sqlite():
        return f"SQLite {sqlite3.sqlite_version}"
    database: dict[str, Any] = settings.DATABASES["default"]
    where = {"host": database["HOST"], "port": database["PORT"], "user": database["USER"], "password": database["PASSWORD"]}
    with psycopg.connect(dbname=database["NAME"], **{key: value for key, value in where.items() if value}) as server:
        return f"PostgreSQL {server.info.parameter_status('server_version')} on {database['HOST'] or 'the local socket'}"
