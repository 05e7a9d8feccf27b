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


def look_at_wrongly_empty(*asked: type[models.Model]) -> None:
    """Have PostgreSQL take its statistics again of those tables that it found empty when it came by, and that have rows by now.

    It would go through the whole of them for each row that is named. Where its statistics are of any other time this asks and does nothing.
    """
    if connection.vendor != "postgresql":
        return
    names = {model._meta.db_table: model for model in asked}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_class WHERE oid = ANY(%s::regclass[]) AND reltuples = 0 AND pg_relation_size(oid) > 0",
            [[connection.ops.quote_name(name) for name in names]],
        )
        wrong = [names[name] for (name,) in cursor.fetchall()]
    look_anew(*wrong)
