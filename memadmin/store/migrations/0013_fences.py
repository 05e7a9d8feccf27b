"""The database refuses rows for a subject that is fenced, blocked or gone."""

from django.db import migrations

from memadmin.store import fencing


def install(apps, schema_editor):
    fencing.install(schema_editor.connection)


def remove(apps, schema_editor):
    fencing.remove(schema_editor.connection)


class Migration(migrations.Migration):
    dependencies = [("store", "0012_suppressions")]
    operations = [migrations.RunPython(install, remove)]
