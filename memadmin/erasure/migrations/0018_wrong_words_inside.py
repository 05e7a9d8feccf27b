from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("erasure", "0017_mentions_by_match")]

    operations = [
        migrations.AddField(model_name="correction", name="words", field=models.PositiveIntegerField(null=True)),
        migrations.AddField(
            model_name="correction", name="words_ref", field=models.CharField(blank=True, default="", max_length=64), preserve_default=False
        ),
        migrations.AddField(model_name="wrongleft", name="inside", field=models.BooleanField(default=False)),
        migrations.AddField(
            model_name="wrongleft", name="left_by", field=models.CharField(blank=True, default="", max_length=100), preserve_default=False
        ),
        migrations.AddConstraint(
            model_name="wrongleft",
            constraint=models.CheckConstraint(
                condition=models.Q(left_by="") | models.Q(inside=True), name="erasure_only_longer_texts_are_left"
            ),
        ),
    ]
