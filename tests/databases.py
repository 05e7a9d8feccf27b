"""Which database the tests run on, for the header of the test run and for tests that differ."""

import sqlite3
from typing import Any
from urllib.parse import quote

import psycopg
from django.conf import settings
from django.db import connection

SQLITE = "memadmin.sqlite"


def is_sqlite() -> bool:
    return bool(settings.DATABASES["default"]["ENGINE"] == SQLITE)


def describe_database() -> str:
    """Return engine and version, for example `PostgreSQL 15.19 on 127.0.0.1`."""
    if is_sqlite():
        return f"SQLite {sqlite3.sqlite_version}"
    where = settings.DATABASES["default"]
    with server(where["NAME"]) as other:
        return f"PostgreSQL {other.info.parameter_status('server_version')} on {where['HOST'] or 'the local socket'}"


def server(name: str) -> psycopg.Connection[Any]:
    """Return a connection of its own to a database of the server, in which each statement counts at once."""
    database: dict[str, Any] = settings.DATABASES["default"]
    where = {"host": database["HOST"], "port": database["PORT"], "user": database["USER"], "password": database["PASSWORD"]}
    return psycopg.connect(dbname=name, autocommit=True, **{key: value for key, value in where.items() if value})


def database_url() -> str:
    """Return the address of the database of this test run, for processes that it starts."""
    at = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{at['NAME']}"
    who = f"{quote(at['USER'], safe='')}:{quote(at['PASSWORD'], safe='')}"
    host, port = at["HOST"] or at["OPTIONS"].get("host", ""), at["PORT"] or at["OPTIONS"].get("port", "")
    if not host or host.startswith("/"):  # a socket
        asked = "&".join(f"{name}={value}" for name, value in (("host", host), ("port", port)) if value)
        return f"postgres://{who}@/{at['NAME']}?{asked}"
    return f"postgres://{who}@{host}{f':{port}' if port else ''}/{at['NAME']}"
