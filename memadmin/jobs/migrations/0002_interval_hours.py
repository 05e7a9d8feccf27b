from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("jobs", "0001_jobs")]
    operations = [migrations.AddField("schedule", "interval_hours", models.PositiveSmallIntegerField(null=True))]
