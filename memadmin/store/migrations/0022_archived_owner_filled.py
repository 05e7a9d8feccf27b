"""Who wrote what the archive copies, read out of each copy: a report about a user is taken from who wrote of this user."""

import json
import zlib

from django.db import migrations

AT_ONCE = 1_000


def fill(apps, schema_editor):
    Archived = apps.get_model("store", "Archived")
    after = 0
    while rows := list(Archived.objects.filter(pk__gt=after, owner=None).only("payload").order_by("pk")[:AT_ONCE]):
        found = [row for row in rows if named(row)]
        Archived.objects.bulk_update(found, ["owner"], batch_size=200)
        after = rows[-1].pk


def named(row):
    """Name the owner, and say whether there is one. A copy that cannot be read has none."""
    payload = bytes(row.payload)
    try:
        row.owner = json.loads(payload if payload.startswith(b"{") else zlib.decompress(payload)).get("row", {}).get("owner")
    except (ValueError, TypeError, AttributeError, zlib.error):
        return False
    return row.owner is not None


class Migration(migrations.Migration):
    atomic = False  # a large archive is filled batch by batch; what is filled stays after a stop
    dependencies = [("store", "0021_archived_owner")]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
