from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("audit", "0004_verification")]
    operations = [
        migrations.AddIndex("auditentry", models.Index(fields=["stream", "outcome", "seq"], name="audit_entry_by_outcome")),
        migrations.AddIndex("auditentry", models.Index(fields=["stream", "request_id", "seq"], name="audit_entry_by_request")),
    ]
