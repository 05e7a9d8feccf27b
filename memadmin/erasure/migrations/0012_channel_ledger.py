from django.db import migrations, models

CHANNELS = {
    "page": "on a page",
    "api": "over the API",
    "command": "by a command",
    "nightly": "gathered at night",
    "drill": "by a drill",
    "ledger": "from the ledger, after a backup was put back",
}


class Migration(migrations.Migration):
    dependencies = [("erasure", "0011_drills")]

    operations = [
        migrations.AlterField(
            model_name="erasurerequest", name="channel", field=models.CharField(choices=list(CHANNELS.items()), max_length=8)
        ),
        migrations.RemoveConstraint(model_name="erasurerequest", name="erasure_channel_known"),
        migrations.AddConstraint(
            model_name="erasurerequest",
            constraint=models.CheckConstraint(condition=models.Q(channel__in=list(CHANNELS)), name="erasure_channel_known"),
        ),
    ]
