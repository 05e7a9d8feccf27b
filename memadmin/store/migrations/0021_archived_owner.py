from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("store", "0020_archived_content_filled")]

    operations = [migrations.AddField(model_name="archived", name="owner", field=models.CharField(max_length=512, null=True))]
