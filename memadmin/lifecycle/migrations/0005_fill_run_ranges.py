"""Give the runs that have begun the ranges of their victims: they are past the first ones, up to their cursor."""

from django.db import migrations

FILL = """
INSERT INTO lifecycle_runrange (run_id, first, last, cursor, item_kind)
SELECT k.run_id, k.first, k.last, CASE WHEN r.cursor < k.first THEN k.first - 1 WHEN r.cursor > k.last THEN k.last ELSE r.cursor END, k.item_kind
FROM (SELECT run_id, item_kind, MIN(seq) AS first, MAX(seq) AS last FROM lifecycle_runvictim GROUP BY run_id, item_kind) k
JOIN lifecycle_run r ON r.number = k.run_id
WHERE r.started_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM lifecycle_runrange x WHERE x.run_id = r.number)
"""


class Migration(migrations.Migration):
    dependencies = [("lifecycle", "0004_run_ranges")]
    operations = [migrations.RunSQL(FILL, migrations.RunSQL.noop)]
