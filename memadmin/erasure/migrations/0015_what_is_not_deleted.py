from django.db import migrations, models


class Migration(migrations.Migration):
    """Of hundreds of thousands of things next to all are deleted; what is not is asked for by itself, place by place."""

    dependencies = [("erasure", "0014_disclosures")]

    operations = [
        migrations.AddIndex(
            model_name="manifestitem",
            index=models.Index(
                fields=["manifest", "location", "id"], condition=models.Q(("act", "delete"), _negated=True), name="manifest_item_not_deleted"
            ),
        ),
    ]
