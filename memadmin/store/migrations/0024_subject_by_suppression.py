"""Who is suppressed is told on the inbox of requests and on the overview: found without reading all users."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("store", "0023_rows_protect_their_users")]
    operations = [
        migrations.AddIndex(
            "subject",
            models.Index(fields=["suppressed"], condition=models.Q(("suppressed", ""), _negated=True), name="subject_by_suppression"),
        )
    ]
