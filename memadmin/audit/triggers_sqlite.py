"""The triggers that keep the log append-only on SQLite.

REPLACE deletes rows without firing delete triggers, by any unique key, the hidden rowid included: hence the EXISTS in the insert guards.
"""

from django.db.backends.utils import CursorWrapper

from memadmin.audit.chain import GENESIS

_FOREVER = "audit log: rows are added, never changed or removed"

TRIGGERS = {
    "audit_entry_insert": """CREATE TRIGGER audit_entry_insert BEFORE INSERT ON audit_entry
WHEN NOT EXISTS (SELECT 1 FROM audit_head h WHERE h.stream = NEW.stream AND h.seq + 1 = NEW.seq AND h.row_hash = NEW.prev_hash)
  OR EXISTS (SELECT 1 FROM audit_entry e WHERE (e.stream = NEW.stream AND e.seq = NEW.seq) OR e.rowid = NEW.rowid)
BEGIN SELECT RAISE(ABORT, 'audit log: an entry must follow the last one'); END""",
    "audit_entry_update": f"""CREATE TRIGGER audit_entry_update BEFORE UPDATE ON audit_entry
BEGIN SELECT RAISE(ABORT, '{_FOREVER}'); END""",
    "audit_entry_delete": f"""CREATE TRIGGER audit_entry_delete BEFORE DELETE ON audit_entry
BEGIN SELECT RAISE(ABORT, '{_FOREVER}'); END""",
    "audit_payload_insert": """CREATE TRIGGER audit_payload_insert BEFORE INSERT ON audit_payload
WHEN NOT EXISTS (
    SELECT 1 FROM audit_entry e JOIN audit_head h ON h.stream = e.stream AND h.seq + 1 = e.seq
    WHERE e.stream = NEW.stream AND e.seq = NEW.seq AND e.payload_digest <> '')
  OR EXISTS (SELECT 1 FROM audit_payload p WHERE (p.stream = NEW.stream AND p.seq = NEW.seq) OR p.rowid = NEW.rowid)
BEGIN SELECT RAISE(ABORT, 'audit log: a payload comes with its entry'); END""",
    "audit_payload_update": f"""CREATE TRIGGER audit_payload_update BEFORE UPDATE ON audit_payload
BEGIN SELECT RAISE(ABORT, '{_FOREVER}'); END""",
    "audit_head_insert": f"""CREATE TRIGGER audit_head_insert BEFORE INSERT ON audit_head
WHEN NEW.seq IS NOT 0 OR NEW.row_hash IS NOT '{GENESIS}'
  OR EXISTS (SELECT 1 FROM audit_entry e WHERE e.stream = NEW.stream)
  OR EXISTS (SELECT 1 FROM audit_head h WHERE h.stream = NEW.stream OR h.rowid = NEW.rowid)
BEGIN SELECT RAISE(ABORT, 'audit log: a stream begins once, and empty'); END""",
    "audit_head_update": """CREATE TRIGGER audit_head_update BEFORE UPDATE ON audit_head
WHEN NEW.stream IS NOT OLD.stream OR NEW.rowid IS NOT OLD.rowid OR NEW.seq IS NOT OLD.seq + 1
  OR NOT EXISTS (SELECT 1 FROM audit_entry e WHERE e.stream = NEW.stream AND e.seq = NEW.seq AND e.row_hash = NEW.row_hash)
BEGIN SELECT RAISE(ABORT, 'audit log: the head moves to the next entry and nowhere else'); END""",
    "audit_head_delete": f"""CREATE TRIGGER audit_head_delete BEFORE DELETE ON audit_head
BEGIN SELECT RAISE(ABORT, '{_FOREVER}'); END""",
}
_PRESENT = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name IN ('audit_entry', 'audit_payload', 'audit_head')"


def to_install() -> list[str]:
    return [*to_remove(), *TRIGGERS.values()]


def to_remove() -> list[str]:
    return [f"DROP TRIGGER IF EXISTS {name}" for name in TRIGGERS]


def faults(cursor: CursorWrapper) -> dict[str, str]:
    """Return what is wrong with each trigger that is missing, changed or too many."""
    cursor.execute(_PRESENT)
    present = dict(cursor.fetchall())
    found = dict.fromkeys(TRIGGERS.keys() - present.keys(), "is missing")
    found |= dict.fromkeys(present.keys() - TRIGGERS.keys(), "does not belong here")
    return found | {name: "was changed" for name, sql in present.items() if name in TRIGGERS and sql != TRIGGERS[name]}
