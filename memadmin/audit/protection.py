"""The triggers that refuse every change of the log, whoever asks. Nothing in the product takes them off; `remove` undoes the migration.

Whoever owns the tables, or holds the SQLite file, can still drop them: `faults` notices, and `verify_audit_log` says so.
A later migration that alters one of the three tables calls `install` again: SQLite rebuilds the table and loses its triggers.
"""

import logging

from django.db import DatabaseError
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper

from memadmin.audit import triggers_postgresql, triggers_sqlite
from memadmin.audit.models import AuditEntry

logger = logging.getLogger(__name__)


def install(connection: BaseDatabaseWrapper) -> None:
    """Put the triggers on the tables, in place of those that are there."""
    with connection.cursor() as cursor:
        for statement in triggers_sqlite.to_install() if _is_sqlite(connection) else triggers_postgresql.to_install(_schema(cursor)):
            cursor.execute(statement)


def remove(connection: BaseDatabaseWrapper) -> None:
    with connection.cursor() as cursor:
        for statement in triggers_sqlite.to_remove() if _is_sqlite(connection) else triggers_postgresql.to_remove(_schema(cursor)):
            cursor.execute(statement)


def faults(connection: BaseDatabaseWrapper) -> dict[str, str]:
    """Return {name of trigger: what is wrong with it}; empty when all is as installed."""
    with connection.cursor() as cursor:
        return triggers_sqlite.faults(cursor) if _is_sqlite(connection) else triggers_postgresql.faults(cursor)


def announce(connection: BaseDatabaseWrapper) -> None:
    """Say at start-up where the protection is not what was installed. A database that cannot be read is told of elsewhere."""
    try:
        found = faults(connection) if AuditEntry._meta.db_table in connection.introspection.table_names() else {}
    except DatabaseError:
        return
    for name, problem in sorted(found.items()):
        logger.critical("audit log: the trigger %s %s; run verify_audit_log", name, problem)


def _is_sqlite(connection: BaseDatabaseWrapper) -> bool:
    return connection.vendor == "sqlite"


def _schema(cursor: CursorWrapper) -> str:
    cursor.execute(
        "SELECT relnamespace::regnamespace::text FROM pg_class WHERE oid = 'audit_entry'::regclass"
    )  # quoted where it needs to be
    return str(cursor.fetchone()[0])
