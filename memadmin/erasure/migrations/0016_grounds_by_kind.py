from django.db import migrations, models

GROUNDS = {
    "15": "to know what is stored about them",
    "16_inaccurate": "what is stored is inaccurate",
    "16_incomplete": "what is stored is incomplete",
    "17_1_a": "no longer needed for its purpose",
    "17_1_b": "consent withdrawn",
    "17_1_c": "objection to the processing",
    "17_1_d": "processed unlawfully",
    "17_1_e": "a legal duty to erase",
    "17_1_f": "collected from a child",
    "18_1_a": "accuracy contested, while it is being checked",
    "18_1_b": "processed unlawfully, and to be restricted in place of erased",
    "18_1_c": "no longer needed here, but needed by the person for legal claims",
    "18_1_d": "objection to the processing, while it is being weighed",
    "5_1_e": "kept longer than the container allows",
    "other": "another right of the person",
}


class Migration(migrations.Migration):
    dependencies = [("erasure", "0015_what_is_not_deleted")]

    operations = [
        migrations.AlterField(
            model_name="erasurerequest", name="ground", field=models.CharField(choices=list(GROUNDS.items()), max_length=16)
        ),
        migrations.RemoveConstraint(model_name="erasurerequest", name="erasure_ground_known"),
        migrations.AddConstraint(
            model_name="erasurerequest",
            constraint=models.CheckConstraint(condition=models.Q(ground__in=list(GROUNDS)), name="erasure_ground_known"),
        ),
    ]
