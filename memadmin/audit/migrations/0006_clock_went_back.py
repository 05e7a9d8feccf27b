from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("audit", "0005_more_filters")]
    operations = [migrations.AddField("verification", "clock_went_back", models.BigIntegerField(default=0))]
