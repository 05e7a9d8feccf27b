from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("audit", "0003_pending")]
    operations = [
        migrations.CreateModel(
            name="Verification",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("whole", models.BooleanField()),
                ("actor", models.CharField(max_length=100)),
                ("started_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
                ("exit_code", models.PositiveSmallIntegerField(null=True)),
                ("rows", models.BigIntegerField(default=0)),
                ("checkpoint", models.BigIntegerField(default=0)),
                ("found", models.JSONField(default=dict)),
                ("first_findings", models.JSONField(default=list)),
                ("redacted", models.BigIntegerField(default=0)),
                ("unanchored", models.BigIntegerField(default=0)),
            ],
            options={"db_table": "audit_verification"},
        ),
    ]
