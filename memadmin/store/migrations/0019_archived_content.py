from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("store", "0018_pinned_rows")]

    operations = [migrations.AddField(model_name="archived", name="content_at", field=models.DateTimeField(null=True))]
