from django.db import migrations

from memadmin.audit import protection


def install(apps, schema_editor):
    protection.install(schema_editor.connection)


def remove(apps, schema_editor):
    protection.remove(schema_editor.connection)


class Migration(migrations.Migration):

    dependencies = [("audit", "0001_tables")]

    operations = [migrations.RunPython(install, remove)]
