"""What PostgreSQL's planner has kept of the columns: real values, which stay after their rows have gone, until the next ANALYZE."""

from __future__ import annotations

from collections.abc import Collection

from django.db import connection

from memadmin.erasure.verification.needles import stands_in
from memadmin.erasure.verification.plain import reading
from memadmin.erasure.verification.probes import Probes
from memadmin.erasure.verification.schema import tables

TABLE = "pg_stats"


def found_in_statistics(probes: Probes, *, besides: Collection[str] = ()) -> dict[str, int]:
    """Return in how many columns' statistics an identifier stands, by table, but for those of some tables. Empty on SQLite, whose
    statistics hold no values."""
    if connection.vendor != "postgresql" or not probes.needles:
        return {}
    said = "concat_ws(' ', most_common_vals::text, histogram_bounds::text, most_common_elems::text)"
    test = " OR ".join([f"strpos({said}, %s) > 0"] * len(probes.needles))
    found: dict[str, int] = {}
    plainly = {table.name: reading(table) for table in tables()} if probes.plain_words else {}
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT tablename, attname, {said} FROM pg_stats WHERE {test}", probes.needles)
        for table, column, values in cursor.fetchall():
            needles = probes.needles if column in plainly.get(table, ()) else probes.telling_needles
            if table not in besides and any(stands_in(needle, values) for needle in needles):
                found[table] = found.get(table, 0) + 1
    return found
