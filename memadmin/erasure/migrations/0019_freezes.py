from django.db import migrations, models


def mark_standing(apps, schema_editor):
    """Whatever restricts somebody on receipt already goes on doing so when it is decided anew who is meant."""
    standing = apps.get_model("store", "Hold").objects.filter(authority="request_pending", released_at=None)
    uids = [ref.removeprefix("erasure/") for ref in standing.values_list("request_ref", flat=True).distinct() if ref.startswith("erasure/")]
    for uid in uids:
        apps.get_model("erasure", "ErasureRequest").objects.filter(uid=uid).update(freezes=True)


class Migration(migrations.Migration):
    dependencies = [("erasure", "0018_wrong_words_inside"), ("store", "0022_archived_owner_filled")]

    operations = [
        migrations.AddField(
            model_name="erasurerequest",
            name="freezes",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.RunPython(mark_standing, migrations.RunPython.noop),
    ]
