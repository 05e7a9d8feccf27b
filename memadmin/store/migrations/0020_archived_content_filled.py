"""When what the archive copies last changed, read out of each copy: a hard limit counts from then."""

import json
import zlib
from datetime import datetime

from django.db import migrations

AT_ONCE = 1_000


def fill(apps, schema_editor):
    Archived = apps.get_model("store", "Archived")
    after = 0
    while rows := list(Archived.objects.filter(pk__gt=after, content_at=None).order_by("pk")[:AT_ONCE]):
        for row in rows:
            row.content_at = changed_at(bytes(row.payload), row.archived_at)
        Archived.objects.bulk_update(rows, ["content_at"], batch_size=200)
        after = rows[-1].pk


def changed_at(payload, archived_at):
    """A copy that cannot be read keeps none: then the time in the archive counts, as before."""
    try:
        row = json.loads(payload if payload.startswith(b"{") else zlib.decompress(payload)).get("row", {})
        stored, known = (_time(row.get("stored_at")), _time(row.get("last_updated_at") or row.get("created_at") or row.get("stored_at")))
    except (ValueError, TypeError, AttributeError, zlib.error):
        return None
    return stored if known is not None and known > archived_at else known


def _time(text):
    return datetime.fromisoformat(text) if text else None


class Migration(migrations.Migration):
    atomic = False  # a large archive is filled batch by batch; what is filled stays after a stop
    dependencies = [("store", "0019_archived_content")]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
