"""After a residue: another approval beside the one that was used, and a manifest that follows the one whose execution left something."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("erasure", "0005_outcomes")]

    operations = [
        migrations.RemoveConstraint(model_name="approval", name="approval_one_standing"),
        migrations.AddField(
            model_name="manifest",
            name="follows",
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="erasure.manifest"),
        ),
        migrations.AddConstraint(
            model_name="approval",
            constraint=models.UniqueConstraint(
                condition=models.Q(("used_at__isnull", True), ("voided_at__isnull", True)), fields=("request",), name="approval_one_standing"
            ),
        ),
    ]
