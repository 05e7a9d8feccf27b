from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("api", "0001_search_indexes")]
    operations = [
        migrations.CreateModel(
            name="KeyedCall",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("token", models.UUIDField()),
                ("key_digest", models.CharField(max_length=64)),
                ("request_digest", models.CharField(max_length=64)),
                ("status", models.PositiveSmallIntegerField()),
                ("identity", models.CharField(max_length=100)),
                ("created_at", models.DateTimeField()),
            ],
            options={
                "indexes": [models.Index(fields=["token", "created_at"], name="keyed_call_by_age")],
                "constraints": [models.UniqueConstraint(fields=("token", "key_digest"), name="keyed_call_once")],
            },
        )
    ]
