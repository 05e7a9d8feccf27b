"""Emptying the test database between tests that need real transactions, in spite of append-only triggers.

Production never flushes. Here the triggers are put aside inside the flushing transaction alone, and every table has afterwards the rows
that `migrate` left in it. Most tables of most tests have them anyway, and are not touched.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from django.contrib.contenttypes.models import ContentType
from django.db import connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

Rows = list[tuple[Any, ...]]

_TRIGGER_STATES = {"O": "ENABLE", "A": "ENABLE ALWAYS", "R": "ENABLE REPLICA"}
_SQLITE_TRIGGERS = "SELECT tbl_name, name, sql FROM sqlite_master WHERE type = 'trigger'"
_POSTGRES_TRIGGERS = """
    SELECT tgrelid::regclass::text, quote_ident(tgname), tgenabled::text FROM pg_trigger
    WHERE NOT tgisinternal AND tgenabled <> 'D'
    AND tgrelid IN (SELECT oid FROM pg_class WHERE relnamespace = current_schema()::regnamespace)
"""


def rows_of_migrations() -> dict[str, Rows]:
    """Return the rows that the migrations left in the new database, by table; what `post_migrate` makes, as permissions, is among them."""
    with connection.cursor() as cursor:
        return {table: _rows(cursor, table) for table in _with_rows(cursor, _tables(connection))}


def flush_with_triggers_aside(rows: dict[str, Rows]) -> Callable[[Any, list[str]], None]:
    """Return what to call in place of `DatabaseOperations.execute_sql_flush`."""

    def execute_sql_flush(operations: Any, statements: list[str]) -> None:
        ContentType.objects.clear_cache()
        with transaction.atomic(), operations.connection.cursor() as cursor:
            changed = _changed(cursor, _tables(operations.connection), rows)
            with _triggers_aside(operations.connection, changed):
                for table in changed:
                    # TRUNCATE makes new files for every table and index. The few rows of a test are deleted in a fraction of that time.
                    cursor.execute(f'DELETE FROM "{table}"')
                for table in changed:
                    _put_back(cursor, table, rows.get(table, []))

    return execute_sql_flush


def _tables(database: BaseDatabaseWrapper) -> list[str]:
    return database.introspection.django_table_names(only_existing=True, include_views=False)


def _with_rows(cursor: Any, tables: Sequence[str]) -> list[str]:
    cursor.execute(" UNION ALL ".join(f"SELECT '{table}' WHERE EXISTS (SELECT 1 FROM \"{table}\")" for table in tables))
    return [table for (table,) in cursor.fetchall()]


def _changed(cursor: Any, tables: Sequence[str], rows: dict[str, Rows]) -> list[str]:
    filled = set(_with_rows(cursor, tables))
    return [table for table in tables if (_rows(cursor, table) != rows[table] if table in rows else table in filled)]


def _rows(cursor: Any, table: str) -> Rows:
    cursor.execute(f'SELECT * FROM "{table}"')
    return sorted(cursor.fetchall(), key=repr)


def _put_back(cursor: Any, table: str, rows: Rows) -> None:
    if rows:
        cursor.executemany(f'INSERT INTO "{table}" VALUES ({", ".join(["%s"] * len(rows[0]))})', rows)


@contextmanager
def _triggers_aside(database: BaseDatabaseWrapper, tables: Sequence[str]) -> Iterator[None]:
    put_aside = _sqlite_triggers_aside if database.vendor == "sqlite" else _postgres_triggers_aside
    with put_aside(tables):
        yield


@contextmanager
def _sqlite_triggers_aside(tables: Sequence[str]) -> Iterator[None]:
    with connection.cursor() as cursor:
        triggers = [(name, sql) for table, name, sql in cursor.execute(_SQLITE_TRIGGERS).fetchall() if table in tables]
        for name, _ in triggers:
            cursor.execute(f'DROP TRIGGER "{name}"')
        yield
        for _, sql in triggers:
            cursor.execute(sql)


@contextmanager
def _postgres_triggers_aside(tables: Sequence[str]) -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL lock_timeout = '20s'")  # a test that left a transaction open fails here instead of hanging
        cursor.execute(_POSTGRES_TRIGGERS)
        triggers = [each for each in cursor.fetchall() if each[0].strip('"') in tables]
        for table, name, _ in triggers:
            cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER {name}")
        yield
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # a table with pending checks cannot be altered
        for table, name, state in triggers:
            cursor.execute(f"ALTER TABLE {table} {_TRIGGER_STATES[state]} TRIGGER {name}")
