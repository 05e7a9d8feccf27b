"""Which commands may run: none on a database that holds no store, and few while it is not in step with what lies outside of it."""

from __future__ import annotations

from collections.abc import Sequence

from django.core.management import get_commands
from django.db import DatabaseError, connection

from memadmin.erasure.restoring import guard
from memadmin.erasure.restoring.wording import told

# Those that look, that make what the program itself needs, and the one that puts it right.
ALLOWED = {"reapply_erasures", "verify_audit_log", "check_store", "store_counts", "create_person", "up", "test"}
HARMLESS = {("erasure", "show"), ("audit_log", "accept-restore")}  # that alone lets nobody in
OF_A_FILE = {("erasure", "verify")}  # asks no database, and touches none: whoever was given a file has no other
# Those that make the store, and those that say with an exit code of their own what a database lacks.
WITHOUT_A_STORE = {"up", "test", "reapply_erasures", "verify_audit_log"}
NO_STORE = (
    "There is no store in this database yet. Start once with `python3 manage.py up`, which makes it, "
    "or set VAR_DIR or DATABASE_URL to those of the store that you mean."
)
SHUT = "Not now: {why}. {what} Nothing is changed until {until}. Run `python3 manage.py reapply_erasures`."


def refusal_of(words: Sequence[str]) -> str:
    """Return why the command, given as the words behind `manage.py`, may not run now; "" where it may."""
    name = words[0] if words else "help"
    ours = str(get_commands().get(name, "")).startswith("memadmin")
    if not ours or tuple(words[:2]) in OF_A_FILE or {"--help", "-h"} & set(words):
        return ""
    if name not in WITHOUT_A_STORE and not _has_a_store():
        return NO_STORE
    if (name in ALLOWED and "--demo" not in words) or tuple(words[:2]) in HARMLESS:
        return ""
    state = guard.state()
    if state.is_open:
        return ""
    said = told(state)
    return SHUT.format(why="; ".join(reason.label for reason in state.reasons), what=said.what, until=said.until)


def _has_a_store() -> bool:
    """Whether the tables are there. A database that does not answer is told by the command itself."""
    try:
        return "store_container" in connection.introspection.table_names()
    except DatabaseError:
        return True
