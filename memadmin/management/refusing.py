"""Which commands may run while the database is not in step with what lies outside of it (`erasure.restoring.guard`)."""

from __future__ import annotations

from collections.abc import Sequence

from django.core.management import get_commands

from memadmin.erasure.restoring import guard
from memadmin.erasure.restoring.wording import told

# Those that look, that make what the program itself needs, and the one that puts it right.
ALLOWED = {"reapply_erasures", "verify_audit_log", "check_store", "store_counts", "create_person", "up", "test"}
HARMLESS = {("erasure", "verify"), ("erasure", "show"), ("audit_log", "accept-restore")}  # that alone lets nobody in
SHUT = "Not now: {why}. {what} Nothing is changed until {until}. Run `python3 manage.py reapply_erasures`."


def refusal_of(words: Sequence[str]) -> str:
    """Return why the command, given as the words behind `manage.py`, may not run now; "" where it may."""
    name = words[0] if words else "help"
    ours = str(get_commands().get(name, "")).startswith("memadmin")
    harmless = (name in ALLOWED and "--demo" not in words) or tuple(words[:2]) in HARMLESS or bool({"--help", "-h"} & set(words))
    if not ours or harmless:
        return ""
    state = guard.state()
    if state.is_open:
        return ""
    said = told(state)
    return SHUT.format(why="; ".join(reason.label for reason in state.reasons), what=said.what, until=said.until)
