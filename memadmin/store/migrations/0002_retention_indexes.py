"""The covering indexes that retention reads, written for each database: SQLite has no INCLUDE."""

from django.db import migrations

TABLE = "store_longtermmemory"
EXPOSED = "WHERE NOT pinned AND NOT held"
SCORED = "id, last_accessed_at, created_at, last_updated_at, importance, hits, tokens, pinned, held, revision, uid"

POSTGRESQL = [
    f"CREATE INDEX longterm_by_subject ON {TABLE} (container_id, subject_id) INCLUDE ({SCORED})",
    f"CREATE INDEX longterm_by_update ON {TABLE} (container_id, last_updated_at, id) {EXPOSED}",
    f"CREATE INDEX longterm_by_creation ON {TABLE} (container_id, created_at, id) INCLUDE (subject_id, tokens) {EXPOSED}",
    f"CREATE INDEX longterm_held ON {TABLE} (container_id) INCLUDE (subject_id) WHERE held AND NOT pinned",
    "CREATE INDEX session_held ON store_session (container_id) WHERE held AND NOT pinned",
    # Touches move indexed columns; room on the page and early vacuums keep the index-only scans.
    f"ALTER TABLE {TABLE} SET (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02)",
    "ALTER TABLE store_subject SET (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02)",
]
SQLITE = [
    f"CREATE INDEX longterm_by_subject ON {TABLE} (container_id, subject_id, {SCORED})",
    f"CREATE INDEX longterm_by_update ON {TABLE} (container_id, last_updated_at, id) {EXPOSED}",
    f"CREATE INDEX longterm_by_creation ON {TABLE} (container_id, created_at, id, subject_id, tokens) {EXPOSED}",
    f"CREATE INDEX longterm_held ON {TABLE} (container_id, subject_id) WHERE held AND NOT pinned",
    "CREATE INDEX session_held ON store_session (container_id) WHERE held AND NOT pinned",
]
NAMES = ["longterm_by_subject", "longterm_by_update", "longterm_by_creation", "longterm_held", "session_held"]


def create(apps, schema_editor):
    for statement in POSTGRESQL if schema_editor.connection.vendor == "postgresql" else SQLITE:
        schema_editor.execute(statement)


def drop(apps, schema_editor):
    for name in NAMES:
        schema_editor.execute(f"DROP INDEX {name}")


class Migration(migrations.Migration):
    dependencies = [("store", "0001_tables")]
    operations = [migrations.RunPython(create, drop)]
