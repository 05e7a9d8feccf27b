from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('lifecycle', '0006_clusters'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='runvictim',
            index=models.Index(fields=['subject'], name='victim_by_subject'),
        ),
    ]
