"""The orders in which `store.lowest` looks for the lowest scores: by last access, by creation where nobody has read, and by what does not age.

Of one container, which has its rows by creation already, and of one user. SQLite has no INCLUDE. Pinned memories have an index of their
own, which is small: what is past a limit is counted without looking at each.
"""

from django.db import migrations

TABLE = "store_longtermmemory"
EXPOSED = "NOT pinned AND NOT held"
READ = f"WHERE {EXPOSED} AND last_accessed_at IS NOT NULL"
UNREAD = f"WHERE {EXPOSED} AND last_accessed_at IS NULL"
STATIC = {
    "postgresql": "(CAST(0.2 AS double precision) * LEAST(CAST(1.0 AS double precision), ln(CAST(1.0 AS double precision) + hits) "
    "/ CAST(4.61512051684126 AS double precision)) + CAST(0.4 AS double precision) * GREATEST(importance, CAST(1e-300 AS double precision)))",
    "sqlite": "(0.2 * MIN(1.0, ln(1.0 + hits) / 4.61512051684126) + 0.4 * MAX(importance, 1e-300))",
}
OWNER = {"container": "container_id", "subject": "container_id, subject_id"}
INDEXES = {  # by name: the keys, what else is read, and the rows
    **{f"longterm_{name}_read": (f"{keys}, last_accessed_at, id", "created_at, hits, importance", READ) for name, keys in OWNER.items()},
    **{
        f"longterm_{name}_static": (f"{keys}, {{static}}, id", "last_accessed_at, created_at, hits, importance", f"WHERE {EXPOSED}")
        for name, keys in OWNER.items()
    },
    "longterm_subject_unread": (f"{OWNER['subject']}, created_at, id", "hits, importance", UNREAD),
    "longterm_pinned": ("container_id, created_at", "last_updated_at, subject_id", "WHERE pinned"),
    "longterm_large": ("container_id, subject_id", "tokens", f"WHERE tokens > 4000 AND {EXPOSED}"),
}


def create(apps, schema_editor):
    vendor = schema_editor.connection.vendor
    for name, (keys, more, rows) in INDEXES.items():
        columns = f"({keys}) INCLUDE ({more})" if vendor == "postgresql" else f"({keys}, {more})"
        schema_editor.execute(f"CREATE INDEX IF NOT EXISTS {name} ON {TABLE} {columns.format(static=STATIC[vendor])} {rows}")


def drop(apps, schema_editor):
    for name in INDEXES:
        schema_editor.execute(f"DROP INDEX IF EXISTS {name}")


class Migration(migrations.Migration):
    dependencies = [("store", "0013_fences")]
    operations = [migrations.RunPython(create, drop)]
