"""Which working memories have no session in the store, as SQL over the alias m: the same words for selecting and for deleting."""

from __future__ import annotations

from django.db import connection

LOST = (
    "m.session_id IS NULL AND NOT EXISTS "
    "(SELECT 1 FROM store_session s WHERE s.container_id = m.container_id AND s.external_id = m.session_ref)"
)
NAMES = ("session_id", "user_id", "agent_id")


def names_nobody_sql() -> str:
    """Return the condition for what names no session, user or agent at all, in a column or in its namespace."""
    of_nobody = "m.subject_id IN (SELECT u.id FROM store_subject u WHERE u.container_id = m.container_id AND u.user_id IS NULL)"
    in_namespace = " AND ".join(f"{_named(name)} IS NULL" for name in NAMES)
    return f"m.session_ref IS NULL AND {of_nobody} AND {in_namespace}"


def _named(name: str) -> str:
    if connection.vendor == "postgresql":
        return f"m.namespace ->> '{name}'"
    return f"json_extract(m.namespace, '$.{name}')"
