"""The triggers that keep the log append-only on PostgreSQL.

ENABLE ALWAYS, because `session_replication_role = replica` puts plain triggers to sleep. Row triggers do not see TRUNCATE, so each table
has a statement trigger for it too. Tables are named with their schema, so that a temporary table of the same name is not asked instead.
"""

from dataclasses import dataclass

from django.db.backends.utils import CursorWrapper

from memadmin.audit.chain import GENESIS

_REFUSE = "RAISE EXCEPTION '{}' USING ERRCODE = 'integrity_constraint_violation';"
_FOREVER = _REFUSE.format("audit log: rows are added, never changed or removed")

_ENTRY = f"""
BEGIN
  IF TG_OP <> 'INSERT' THEN {_FOREVER} END IF;
  IF NOT EXISTS (SELECT 1 FROM %(schema)s.audit_head h WHERE h.stream = NEW.stream AND h.seq + 1 = NEW.seq AND h.row_hash = NEW.prev_hash)
  THEN {_REFUSE.format("audit log: an entry must follow the last one")} END IF;
  RETURN NEW;
END
"""
_PAYLOAD = f"""
BEGIN
  IF TG_OP <> 'INSERT' THEN {_FOREVER} END IF;
  IF NOT EXISTS (
    SELECT 1 FROM %(schema)s.audit_entry e JOIN %(schema)s.audit_head h ON h.stream = e.stream AND h.seq + 1 = e.seq
    WHERE e.stream = NEW.stream AND e.seq = NEW.seq AND e.payload_digest <> '')
  THEN {_REFUSE.format("audit log: a payload comes with its entry")} END IF;
  RETURN NEW;
END
"""
_HEAD = f"""
BEGIN
  IF TG_OP IN ('DELETE', 'TRUNCATE') THEN {_FOREVER} END IF;
  IF TG_OP = 'INSERT' AND (NEW.seq <> 0 OR NEW.row_hash <> '{GENESIS}'
    OR (EXISTS (SELECT 1 FROM %(schema)s.audit_entry e WHERE e.stream = NEW.stream)
      AND NOT EXISTS (SELECT 1 FROM %(schema)s.audit_head h WHERE h.stream = NEW.stream)))  -- where it exists, the key decides
  THEN {_REFUSE.format("audit log: a stream begins once, and empty")} END IF;
  IF TG_OP = 'UPDATE' AND (NEW.stream <> OLD.stream OR NEW.seq <> OLD.seq + 1 OR NOT EXISTS (
    SELECT 1 FROM %(schema)s.audit_entry e WHERE e.stream = NEW.stream AND e.seq = NEW.seq AND e.row_hash = NEW.row_hash))
  THEN {_REFUSE.format("audit log: the head moves to the next entry and nowhere else")} END IF;
  RETURN NEW;
END
"""
FUNCTIONS = {"audit_entry_guard": _ENTRY, "audit_payload_guard": _PAYLOAD, "audit_head_guard": _HEAD}


@dataclass(frozen=True)
class Trigger:
    table: str
    name: str
    events: str
    level: str
    kind: int  # pg_trigger.tgtype: row 1, before 2, insert 4, delete 8, update 16, truncate 32

    @property
    def function(self) -> str:
        return f"{self.table}_guard"


TRIGGERS = (
    Trigger("audit_entry", "audit_entry_rows", "INSERT OR UPDATE OR DELETE", "ROW", 31),
    Trigger("audit_entry", "audit_entry_truncate", "TRUNCATE", "STATEMENT", 34),
    Trigger("audit_payload", "audit_payload_rows", "INSERT OR UPDATE", "ROW", 23),
    Trigger("audit_payload", "audit_payload_truncate", "TRUNCATE", "STATEMENT", 34),
    Trigger("audit_head", "audit_head_rows", "INSERT OR UPDATE OR DELETE", "ROW", 31),
    Trigger("audit_head", "audit_head_truncate", "TRUNCATE", "STATEMENT", 34),
)
_PRESENT = """
SELECT c.relname, t.tgname, t.tgtype, t.tgenabled::text, t.tgqual IS NULL AND t.tgattr = ''::int2vector, p.proname, p.prosrc, l.lanname,
       n.oid::regnamespace::text
FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_proc p ON p.oid = t.tgfoid JOIN pg_language l ON l.oid = p.prolang
WHERE NOT t.tgisinternal AND c.oid IN (to_regclass('audit_entry'), to_regclass('audit_payload'), to_regclass('audit_head'))
"""
_RULES = """
SELECT r.rulename FROM pg_rewrite r
WHERE r.ev_class IN (to_regclass('audit_entry'), to_regclass('audit_payload'), to_regclass('audit_head'))
"""


def to_install(schema: str) -> list[str]:
    """Return the statements for tables in this (quoted) schema."""
    statements = [
        f"CREATE OR REPLACE FUNCTION {schema}.{name}() RETURNS trigger LANGUAGE plpgsql AS $guard${body % {'schema': schema}}$guard$"
        for name, body in FUNCTIONS.items()
    ]
    for each in TRIGGERS:
        table = f"{schema}.{each.table}"
        statements += [
            f"DROP TRIGGER IF EXISTS {each.name} ON {table}",
            f"CREATE TRIGGER {each.name} BEFORE {each.events} ON {table} FOR EACH {each.level} EXECUTE FUNCTION {schema}.{each.function}()",
            f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER {each.name}",
        ]
    return statements


def to_remove(schema: str) -> list[str]:
    drops = [f"DROP TRIGGER IF EXISTS {each.name} ON {schema}.{each.table}" for each in TRIGGERS]
    return drops + [f"DROP FUNCTION IF EXISTS {schema}.{name}()" for name in FUNCTIONS]


def faults(cursor: CursorWrapper) -> dict[str, str]:
    """Return what is wrong with each trigger or rule that is missing, changed or too many."""
    cursor.execute(_PRESENT)
    present = {name: (table, *rest) for table, name, *rest in cursor.fetchall()}
    cursor.execute(_RULES)
    found = {name: "does not belong here" for (name,) in cursor.fetchall()}
    found |= dict.fromkeys(present.keys() - {each.name for each in TRIGGERS}, "does not belong here")
    for each in TRIGGERS:
        if each.name not in present:
            found[each.name] = "is missing"
            continue
        table, kind, enabled, whole, function, source, language, schema = present[each.name]
        if enabled != "A":
            found[each.name] = "is not ENABLE ALWAYS"
        expected = (each.table, each.kind, True, each.function, FUNCTIONS[each.function] % {"schema": schema}, "plpgsql")
        if (table, kind, whole, function, source, language) != expected:
            found[each.name] = "was changed"
    return found
