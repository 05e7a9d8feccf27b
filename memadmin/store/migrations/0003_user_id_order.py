"""User ids are compared and ordered byte by byte on every database."""

from django.db import migrations


def collate_bytewise(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute('ALTER TABLE store_subject ALTER COLUMN user_id TYPE varchar(512) COLLATE "C"')
        schema_editor.execute('ALTER TABLE store_container ALTER COLUMN name TYPE varchar(512) COLLATE "C"')


class Migration(migrations.Migration):
    dependencies = [("store", "0002_retention_indexes")]
    operations = [migrations.RunPython(collate_bytewise, migrations.RunPython.noop)]
