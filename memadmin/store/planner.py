"""What PostgreSQL's planner believes of a table: made anew by who has just filled it, since autovacuum comes by once a minute."""

from __future__ import annotations

from django.db import connection, models


def look_anew(*filled: type[models.Model]) -> None:
    """Have PostgreSQL take its statistics of tables again; SQLite plans by its indexes alone.

    Without them it believes that a key which came a moment ago has a row or two, and goes through hundreds of thousands for each question.
    """
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        for model in filled:
            cursor.execute(f"ANALYZE {connection.ops.quote_name(model._meta.db_table)}")
