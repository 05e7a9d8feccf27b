"""Indexes for what the compatible API looks up by the ids of an agent and of its users, however large the tables are."""

from django.db import migrations

EVERYWHERE = {
    "working_by_session_ref": "store_workingmemory (container_id, session_ref) WHERE session_ref IS NOT NULL",
    "history_by_memory_ref": "store_historyentry (container_id, memory_ref) WHERE memory_ref IS NOT NULL",
}
# SQLite keeps no statistics unless told to, and then takes an index that starts with the container for one that says enough.
ON_SQLITE = {
    "session_by_user": "store_session (container_id, subject_id)",
    "working_by_user": "store_workingmemory (container_id, subject_id)",
    "history_by_user": "store_historyentry (container_id, subject_id)",
}


def _indexes(schema_editor):
    return {**EVERYWHERE, **({} if schema_editor.connection.vendor == "postgresql" else ON_SQLITE)}


def create(apps, schema_editor):
    for name, columns in _indexes(schema_editor).items():
        schema_editor.execute(f"CREATE INDEX {name} ON {columns}")


def drop(apps, schema_editor):
    for name in _indexes(schema_editor):
        schema_editor.execute(f"DROP INDEX {name}")


class Migration(migrations.Migration):
    dependencies = [("store", "0004_external_ids_and_deletion")]
    operations = [migrations.RunPython(create, drop)]
