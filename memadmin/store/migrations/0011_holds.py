"""Holds, and their copies on the rows. The columns are added by hand: SQLite would rebuild each table and lose its covering indexes."""

import uuid

import django.db.models.deletion
from django.db import migrations, models

FLAGS = {
    "store_container": ("held", "restricted"),
    "store_subject": ("held", "restricted", "has_holds"),
    "store_session": ("restricted",),
    "store_workingmemory": ("held", "restricted"),
    "store_longtermmemory": ("restricted",),
    "store_historyentry": ("held", "restricted"),
    "store_archived": ("held", "restricted"),
}


def add_columns(apps, schema_editor):
    kind = "boolean NOT NULL DEFAULT false" if schema_editor.connection.vendor == "postgresql" else "bool NOT NULL DEFAULT 0"
    for table, names in FLAGS.items():
        for name in names:
            schema_editor.execute(f"ALTER TABLE {table} ADD COLUMN {name} {kind}")
    if schema_editor.connection.vendor == "postgresql":
        for table in ("store_session", "store_longtermmemory"):
            schema_editor.execute(f"ALTER TABLE {table} ALTER COLUMN held SET DEFAULT false")


def drop_columns(apps, schema_editor):
    for table, names in FLAGS.items():
        for name in names:
            schema_editor.execute(f"ALTER TABLE {table} DROP COLUMN {name}")


class Migration(migrations.Migration):

    dependencies = [
        ("store", "0010_feedback"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunPython(add_columns, drop_columns)],
            state_operations=[
                migrations.AddField(
                    model_name='archived',
                    name='held',
                    field=models.BooleanField(db_default=False, default=False),
                ),
                migrations.AddField(
                    model_name='archived',
                    name='restricted',
                    field=models.BooleanField(db_default=False, default=False),
                ),
                migrations.AddField(
                    model_name='container',
                    name='held',
                    field=models.BooleanField(db_default=False, default=False),
                ),
                migrations.AddField(
                    model_name='container',
                    name='restricted',
                    field=models.BooleanField(db_default=False, default=False),
                ),
                migrations.AddField(
                    model_name='historyentry',
                    name='held',
                    field=models.BooleanField(db_default=False, default=False),
                ),
                migrations.AddField(
                    model_name='historyentry',
                    name='restricted',
                    field=models.BooleanField(db_default=False, default=False),
                ),
                migrations.AddField(
                    model_name='longtermmemory',
                    name='restricted',
                    field=models.BooleanField(db_default=False, default=False),
                ),
                migrations.AddField(
                    model_name='session',
                    name='restricted',
                    field=models.BooleanField(db_default=False, default=False),
                ),
                migrations.AddField(
                    model_name='subject',
                    name='held',
                    field=models.BooleanField(db_default=False, default=False),
                ),
                migrations.AddField(
                    model_name='subject',
                    name='restricted',
                    field=models.BooleanField(db_default=False, default=False),
                ),
                migrations.AddField(
                    model_name='subject',
                    name='has_holds',
                    field=models.BooleanField(db_default=False, default=False),
                ),
                migrations.AddField(
                    model_name='workingmemory',
                    name='held',
                    field=models.BooleanField(db_default=False, default=False),
                ),
                migrations.AddField(
                    model_name='workingmemory',
                    name='restricted',
                    field=models.BooleanField(db_default=False, default=False),
                ),
                migrations.AlterField(
                    model_name='longtermmemory',
                    name='held',
                    field=models.BooleanField(db_default=False, default=False),
                ),
                migrations.AlterField(
                    model_name='session',
                    name='held',
                    field=models.BooleanField(db_default=False, default=False),
                ),
            ],
        ),
        migrations.RemoveIndex(
            model_name='historyentry',
            name='history_by_creation',
        ),
        migrations.AddIndex(
            model_name='historyentry',
            index=models.Index(condition=models.Q(('held', False), ('pinned', False)), fields=['container', 'created_at', 'id'], name='history_by_exposure'),
        ),
        migrations.CreateModel(
            name='Hold',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('kind', models.CharField(choices=[('hold', 'must not be destroyed'), ('restriction', 'kept, but not used')], max_length=16)),
                ('scope', models.CharField(choices=[('containers', 'a container and everybody in it'), ('subjects', 'a user and everything about them'), ('sessions', 'a session and its messages'), ('long-term', 'a long-term memory and its history')], max_length=16)),
                ('target_uid', models.UUIDField()),
                ('authority', models.CharField(choices=[('legal_claim', 'establishment, exercise or defence of legal claims'), ('legal_obligation', 'a legal duty to keep it'), ('court_order', 'an order of a court or an authority'), ('investigation', 'an investigation that is under way'), ('accuracy_contested', 'the person says that it is wrong, and this is being checked'), ('unlawful_but_kept', 'the person asked for restriction in place of erasure'), ('objection_pending', 'the person objected, and this is being weighed'), ('request_pending', 'an erasure request is being looked at')], max_length=32)),
                ('reason', models.TextField()),
                ('placed_by', models.CharField(max_length=100)),
                ('placed_at', models.DateTimeField()),
                ('review_on', models.DateField()),
                ('notice_sent_on', models.DateField(null=True)),
                ('notice_by', models.CharField(blank=True, max_length=100)),
                ('released_by', models.CharField(blank=True, max_length=100)),
                ('released_at', models.DateTimeField(null=True)),
                ('release_reason', models.TextField(blank=True)),
            ],
        ),
        migrations.AddField(
            model_name='hold',
            name='container',
            field=models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='store.container'),
        ),
        migrations.AddField(
            model_name='hold',
            name='subject',
            field=models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='store.subject'),
        ),
        migrations.AddIndex(
            model_name='hold',
            index=models.Index(condition=models.Q(('released_at__isnull', True)), fields=['target_uid'], name='hold_by_target'),
        ),
        migrations.AddIndex(
            model_name='hold',
            index=models.Index(condition=models.Q(('released_at__isnull', True)), fields=['container', 'scope'], name='hold_by_container'),
        ),
        migrations.AddIndex(
            model_name='hold',
            index=models.Index(condition=models.Q(('released_at__isnull', True)), fields=['review_on'], name='hold_by_review'),
        ),
        migrations.AddConstraint(
            model_name='hold',
            constraint=models.UniqueConstraint(condition=models.Q(('released_at__isnull', True)), fields=('target_uid', 'kind', 'authority'), name='hold_stands_once'),
        ),
        migrations.AddConstraint(
            model_name='hold',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['hold', 'restriction'])), name='hold_kind_known'),
        ),
        migrations.AddConstraint(
            model_name='hold',
            constraint=models.CheckConstraint(condition=models.Q(('scope__in', ['containers', 'subjects', 'sessions', 'long-term'])), name='hold_scope_known'),
        ),
        migrations.AddConstraint(
            model_name='hold',
            constraint=models.CheckConstraint(condition=models.Q(('authority__in', ['legal_claim', 'legal_obligation', 'court_order', 'investigation', 'accuracy_contested', 'unlawful_but_kept', 'objection_pending', 'request_pending'])), name='hold_authority_known'),
        ),
        migrations.AddConstraint(
            model_name='hold',
            constraint=models.CheckConstraint(condition=models.Q(('reason', ''), _negated=True), name='hold_has_reason'),
        ),
        migrations.AddConstraint(
            model_name='hold',
            constraint=models.CheckConstraint(condition=models.Q(('released_at__isnull', True), models.Q(models.Q(('released_by', ''), _negated=True), models.Q(('release_reason', ''), _negated=True)), _connector='OR'), name='hold_released_with_reason'),
        ),
        migrations.AddConstraint(
            model_name='hold',
            constraint=models.CheckConstraint(condition=models.Q(('released_at__isnull', True), models.Q(('kind', 'restriction'), _negated=True), ('notice_sent_on__isnull', False), _connector='OR'), name='hold_restriction_lifted_after_notice'),
        ),
    ]
