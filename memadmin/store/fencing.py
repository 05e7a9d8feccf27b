"""The database's own refusal of rows for a subject that is fenced, blocked or gone, whoever writes them: the product, a script, a COPY.

On PostgreSQL the trigger also locks the subjects' rows in share mode: a fence waits for a writer in flight, and a writer who comes after
it sees it. On SQLite one writer at a time does the same. `remove` undoes the migration; nothing in the product takes the triggers off.
A later migration that makes SQLite rebuild one of the tables calls `install` again.
"""

from __future__ import annotations

from django.db.backends.base.base import BaseDatabaseWrapper

TABLES = (
    "store_session",
    "store_workingmemory",
    "store_longtermmemory",
    "store_historyentry",
    "store_archived",
    "store_provenance",
    "store_pin",
)
REFUSAL = "store: nothing is written for a subject that is fenced, blocked or gone"
_SHUT = "('fence', 'block')"
_FUNCTIONS = {
    # The rows are locked in the order of the key, like everywhere.
    "store_subject_open_inserted": f"""
DECLARE open_ones bigint; asked_for bigint;
BEGIN
  SELECT count(DISTINCT subject_id) INTO asked_for FROM arrived;
  SELECT count(*) INTO open_ones FROM (
    SELECT s.suppressed FROM %(schema)s.store_subject s
    WHERE s.id IN (SELECT subject_id FROM arrived) ORDER BY s.id FOR SHARE OF s
  ) AS locked WHERE locked.suppressed NOT IN {_SHUT};
  IF open_ones <> asked_for THEN RAISE EXCEPTION '{REFUSAL}' USING ERRCODE = 'integrity_constraint_violation'; END IF;
  RETURN NULL;
END
""",
    "store_subject_open_moved": f"""
BEGIN
  PERFORM 1 FROM (SELECT s.suppressed FROM %(schema)s.store_subject s WHERE s.id = NEW.subject_id FOR SHARE OF s) AS locked
  WHERE locked.suppressed NOT IN {_SHUT};
  IF NOT FOUND THEN RAISE EXCEPTION '{REFUSAL}' USING ERRCODE = 'integrity_constraint_violation'; END IF;
  RETURN NEW;
END
""",
}


def install(connection: BaseDatabaseWrapper) -> None:
    """Put the triggers on the tables, in place of those that are there."""
    _run(connection, _sqlite() if connection.vendor == "sqlite" else _postgresql(_schema(connection)))


def remove(connection: BaseDatabaseWrapper) -> None:
    if connection.vendor == "sqlite":
        _run(connection, [f"DROP TRIGGER IF EXISTS {table}_{what}" for table in TABLES for what in ("arrives", "moves")])
    else:
        schema = _schema(connection)
        drops = [f"DROP TRIGGER IF EXISTS {table}_{what} ON {schema}.{table}" for table in TABLES for what in ("arrives", "moves")]
        _run(connection, drops + [f"DROP FUNCTION IF EXISTS {schema}.{name}()" for name in _FUNCTIONS])


def missing(connection: BaseDatabaseWrapper) -> list[str]:
    """Return the names of triggers that are not there or asleep."""
    asked = (
        "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        if connection.vendor == "sqlite"
        else "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal AND tgenabled = 'A'"
    )
    with connection.cursor() as cursor:
        cursor.execute(asked)
        present = {name for (name,) in cursor.fetchall()}
    return sorted({f"{table}_{what}" for table in TABLES for what in ("arrives", "moves")} - present)


def _sqlite() -> list[str]:
    statements = []
    for table in TABLES:
        for what, event in (("arrives", "INSERT"), ("moves", "UPDATE OF subject_id")):
            statements += [
                f"DROP TRIGGER IF EXISTS {table}_{what}",
                f"CREATE TRIGGER {table}_{what} BEFORE {event} ON {table} "
                f"WHEN NOT EXISTS (SELECT 1 FROM store_subject s WHERE s.id = NEW.subject_id AND s.suppressed NOT IN {_SHUT}) "
                f"BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END",
            ]
    return statements


def _postgresql(schema: str) -> list[str]:
    statements = [
        f"CREATE OR REPLACE FUNCTION {schema}.{name}() RETURNS trigger LANGUAGE plpgsql AS $guard${body % {'schema': schema}}$guard$"
        for name, body in _FUNCTIONS.items()
    ]
    for table in TABLES:
        name = f"{schema}.{table}"
        statements += [
            f"DROP TRIGGER IF EXISTS {table}_arrives ON {name}",
            f"CREATE TRIGGER {table}_arrives AFTER INSERT ON {name} REFERENCING NEW TABLE AS arrived "
            f"FOR EACH STATEMENT EXECUTE FUNCTION {schema}.store_subject_open_inserted()",
            f"DROP TRIGGER IF EXISTS {table}_moves ON {name}",
            f"CREATE TRIGGER {table}_moves BEFORE UPDATE OF subject_id ON {name} FOR EACH ROW "
            f"WHEN (OLD.subject_id IS DISTINCT FROM NEW.subject_id) EXECUTE FUNCTION {schema}.store_subject_open_moved()",
            f"ALTER TABLE {name} ENABLE ALWAYS TRIGGER {table}_arrives",
            f"ALTER TABLE {name} ENABLE ALWAYS TRIGGER {table}_moves",
        ]
    return statements


def _schema(connection: BaseDatabaseWrapper) -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT relnamespace::regnamespace::text FROM pg_class WHERE oid = 'store_subject'::regclass")
        return str(cursor.fetchone()[0])  # quoted where it needs to be


def _run(connection: BaseDatabaseWrapper, statements: list[str]) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
