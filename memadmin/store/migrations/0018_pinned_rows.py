"""What is pinned, with what the register of pins says of it: tokens and dates. Without these each pin costs a look into its table.

SQLite has no INCLUDE.
"""

from django.db import migrations

INDEXES = {  # by name: the table, and what is read beside the keys
    "longterm_pins": ("store_longtermmemory", "tokens, created_at, last_updated_at"),
    "session_pins": ("store_session", "last_updated_at"),
}


def create(apps, schema_editor):
    postgresql = schema_editor.connection.vendor == "postgresql"
    for name, (table, more) in INDEXES.items():
        columns = f"(subject_id, uid) INCLUDE ({more})" if postgresql else f"(subject_id, uid, pinned, {more})"
        schema_editor.execute(f"CREATE INDEX {name} ON {table} {columns} WHERE pinned")


def drop(apps, schema_editor):
    for name in INDEXES:
        schema_editor.execute(f"DROP INDEX {name}")


class Migration(migrations.Migration):
    dependencies = [("store", "0017_hold_requests")]
    operations = [migrations.RunPython(create, drop)]
