from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("erasure", "0016_grounds_by_kind")]

    operations = [
        migrations.AddField(
            model_name="manifestitem", name="matched", field=models.CharField(blank=True, db_default="", default="", max_length=16)
        ),
        migrations.AddField(
            model_name="manifestitem", name="matched_at", field=models.CharField(blank=True, db_default="", default="", max_length=40)
        ),
    ]
