"""Emptying the test database between tests that need real transactions, in spite of append-only triggers.

Production never flushes. Here the triggers are put aside inside the flushing transaction alone, and the rows that
the migrations made are put back, so that every test starts from the store as `migrate` leaves it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.apps import apps
from django.core import serializers
from django.db import connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

MADE_AFTER_EVERY_FLUSH = {"auth", "contenttypes"}  # by the post_migrate signal that the flush command sends
_TRIGGER_STATES = {"O": "ENABLE", "A": "ENABLE ALWAYS", "R": "ENABLE REPLICA"}
_SQLITE_TRIGGERS = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
_POSTGRES_TRIGGERS = """
    SELECT tgrelid::regclass::text, quote_ident(tgname), tgenabled::text FROM pg_trigger
    WHERE NOT tgisinternal AND tgenabled <> 'D'
    AND tgrelid IN (SELECT oid FROM pg_class WHERE relnamespace = current_schema()::regnamespace)
"""


def rows_of_migrations() -> str:
    """Return the rows that the migrations left in the new database, as JSON."""
    models = [model for model in apps.get_models() if model._meta.app_label not in MADE_AFTER_EVERY_FLUSH and model._meta.managed]
    return serializers.serialize("json", [row for model in models for row in model._default_manager.order_by("pk")])


def flush_with_triggers_aside(original: Callable[[Any, list[str]], None], *, rows: str) -> Callable[[Any, list[str]], None]:
    """Return what to call in place of the `original` `DatabaseOperations.execute_sql_flush`."""

    def execute_sql_flush(operations: Any, statements: list[str]) -> None:
        with transaction.atomic(), _triggers_aside(operations.connection):
            if operations.connection.vendor == "postgresql":
                _delete_everything(operations.connection)
            else:
                original(operations, statements)
            for row in serializers.deserialize("json", rows):
                row.save()

    return execute_sql_flush


def _delete_everything(database: BaseDatabaseWrapper) -> None:
    """TRUNCATE makes new files for every table and index. The few rows that a test leaves are deleted in a fraction of that time."""
    with database.cursor() as cursor:
        for table in database.introspection.django_table_names(only_existing=True, include_views=False):
            cursor.execute(f'DELETE FROM "{table}"')


@contextmanager
def _triggers_aside(database: BaseDatabaseWrapper) -> Iterator[None]:
    put_aside = _sqlite_triggers_aside if database.vendor == "sqlite" else _postgres_triggers_aside
    with put_aside():
        yield


@contextmanager
def _sqlite_triggers_aside() -> Iterator[None]:
    with connection.cursor() as cursor:
        triggers = cursor.execute(_SQLITE_TRIGGERS).fetchall()
        for name, _ in triggers:
            cursor.execute(f'DROP TRIGGER "{name}"')
        yield
        for _, sql in triggers:
            cursor.execute(sql)


@contextmanager
def _postgres_triggers_aside() -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL lock_timeout = '20s'")  # a test that left a transaction open fails here instead of hanging
        cursor.execute(_POSTGRES_TRIGGERS)
        triggers = cursor.fetchall()
        for table, name, _ in triggers:
            cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER {name}")
        yield
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # a table with pending checks cannot be altered
        for table, name, state in triggers:
            cursor.execute(f"ALTER TABLE {table} {_TRIGGER_STATES[state]} TRIGGER {name}")
