"""Whoever deletes the row of a user or a container in a shell is refused while memories hang on it. Nothing changes in the database."""

import django.db.models.deletion
from django.db import migrations, models

MODELS = ("session", "workingmemory", "longtermmemory", "historyentry", "archived")


def protected(to):
    return models.ForeignKey(
        to=f"store.{to}", on_delete=django.db.models.deletion.PROTECT, related_name="+", db_constraint=False, db_index=False
    )


class Migration(migrations.Migration):
    dependencies = [("store", "0022_archived_owner_filled")]
    operations = [migrations.AlterField(model, name, protected(name)) for model in MODELS for name in ("container", "subject")]
