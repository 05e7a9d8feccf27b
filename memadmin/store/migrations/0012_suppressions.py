"""What was erased and must not come back, and what came back nevertheless."""

import uuid

import django.db.models.deletion
from django.db import migrations, models

def add_columns(apps, schema_editor):
    schema_editor.execute("ALTER TABLE store_subject ADD COLUMN epoch bigint NOT NULL DEFAULT 1")
    schema_editor.execute("ALTER TABLE store_subject ADD COLUMN suppressed varchar(16) NOT NULL DEFAULT ''")


def drop_columns(apps, schema_editor):
    for name in ("epoch", "suppressed"):
        schema_editor.execute(f"ALTER TABLE store_subject DROP COLUMN {name}")


class Migration(migrations.Migration):

    dependencies = [
        ("store", "0011_holds"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunPython(add_columns, drop_columns)],
            state_operations=[
                migrations.AddField(
                    model_name='subject',
                    name='epoch',
                    field=models.BigIntegerField(db_default=1, default=1),
                ),
                migrations.AddField(
                    model_name='subject',
                    name='suppressed',
                    field=models.CharField(blank=True, db_default='', default='', max_length=16),
                ),
            ],
        ),
        migrations.CreateModel(
            name='Returned',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField()),
                ('item_type', models.CharField(choices=[('sessions', 'session'), ('working', 'working memory'), ('long-term', 'long-term memory'), ('history', 'history entry')], max_length=16)),
                ('outcome', models.CharField(choices=[('quarantined', 'set aside'), ('flagged', 'let in and marked')], max_length=16)),
                ('suppression_uid', models.UUIDField()),
                ('payload', models.BinaryField(null=True)),
                ('arrived_by', models.CharField(max_length=100)),
                ('arrived_at', models.DateTimeField()),
                ('expires_at', models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='Suppression',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('kind', models.CharField(choices=[('subject', 'a user id'), ('text', 'the text of an item')], max_length=16)),
                ('digest', models.CharField(max_length=64)),
                ('key_id', models.CharField(max_length=32)),
                ('mode', models.CharField(choices=[('fence', 'refused while the erasure runs, by the database too'), ('block', 'refused'), ('quarantine', 'set aside for a person to release or drop'), ('flag', 'let in, and people are told'), ('lifted', 'let in like anything else')], max_length=16)),
                ('request_ref', models.CharField(max_length=100)),
                ('since', models.DateTimeField()),
                ('block_until', models.DateTimeField(null=True)),
                ('keep_until', models.DateTimeField(null=True)),
                ('lifted_by', models.CharField(blank=True, max_length=100)),
                ('lifted_at', models.DateTimeField(null=True)),
                ('lift_reason', models.TextField(blank=True)),
            ],
        ),
        migrations.AddField(
            model_name='returned',
            name='container',
            field=models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='store.container'),
        ),
        migrations.AddField(
            model_name='returned',
            name='subject',
            field=models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='store.subject'),
        ),
        migrations.AddField(
            model_name='suppression',
            name='container',
            field=models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='store.container'),
        ),
        migrations.AddIndex(
            model_name='returned',
            index=models.Index(fields=['subject', 'arrived_at', 'id'], name='returned_by_subject'),
        ),
        migrations.AddIndex(
            model_name='returned',
            index=models.Index(fields=['container', 'outcome', 'arrived_at', 'id'], name='returned_by_container'),
        ),
        migrations.AddIndex(
            model_name='returned',
            index=models.Index(fields=['expires_at'], name='returned_by_expiry'),
        ),
        migrations.AddConstraint(
            model_name='returned',
            constraint=models.UniqueConstraint(fields=('uid', 'subject'), name='returned_uid_once'),
        ),
        migrations.AddConstraint(
            model_name='returned',
            constraint=models.CheckConstraint(condition=models.Q(('outcome__in', ['quarantined', 'flagged'])), name='returned_outcome_known'),
        ),
        migrations.AddConstraint(
            model_name='returned',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('outcome', 'quarantined'), _negated=True), ('payload__isnull', False), _connector='OR'), name='returned_has_content'),
        ),
        migrations.AddIndex(
            model_name='suppression',
            index=models.Index(condition=models.Q(('mode', 'lifted'), _negated=True), fields=['kind', 'digest'], name='suppression_by_digest'),
        ),
        migrations.AddIndex(
            model_name='suppression',
            index=models.Index(fields=['request_ref'], name='suppression_by_request'),
        ),
        migrations.AddConstraint(
            model_name='suppression',
            constraint=models.UniqueConstraint(condition=models.Q(('mode', 'lifted'), _negated=True), fields=('digest', 'container'), name='suppression_stands_once'),
        ),
        migrations.AddConstraint(
            model_name='suppression',
            constraint=models.UniqueConstraint(condition=models.Q(models.Q(('mode', 'lifted'), _negated=True), ('container__isnull', True)), fields=('digest',), name='suppression_everywhere_once'),
        ),
        migrations.AddConstraint(
            model_name='suppression',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['subject', 'text'])), name='suppression_kind_known'),
        ),
        migrations.AddConstraint(
            model_name='suppression',
            constraint=models.CheckConstraint(condition=models.Q(('mode__in', ['fence', 'block', 'quarantine', 'flag', 'lifted'])), name='suppression_mode_known'),
        ),
        migrations.AddConstraint(
            model_name='suppression',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('mode', 'lifted'), _negated=True), models.Q(models.Q(('lifted_by', ''), _negated=True), models.Q(('lift_reason', ''), _negated=True), ('lifted_at__isnull', False)), _connector='OR'), name='suppression_lifted_with_reason'),
        ),
    ]
