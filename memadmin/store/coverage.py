"""Which tables and columns could hold a person's data without the erasure knowing. There must be none; a page shows it, a test holds it."""

from collections.abc import Iterable, Iterator
from typing import Any

from django.apps import apps
from django.db import connection, models

from memadmin.store import locations

WHAT_TO_DO = "describe it in a Location of its app's locations.py, or waive it there with a reason (docs/erasure.md, “A new table”)"
SIDE_TABLES = {"sqlite_sequence", "sqlite_stat1", "sqlite_stat4"}
HOLD_NOTHING = (
    models.AutoField,
    models.BooleanField,
    models.DateField,
    models.DurationField,
    models.FloatField,
    models.DecimalField,
    models.IntegerField,
    models.TimeField,
)


def gaps() -> list[str]:
    """Return what the erasure does not know: tables of this very database, and columns of the installed apps."""
    return [*unknown_tables(), *(line.partition(":")[0] for line in uncovered(apps.get_models(include_auto_created=True)))]


def unknown_tables() -> list[str]:
    """Return the tables of the database that belong to no app and that nobody has waived."""
    known = {model._meta.db_table for model in apps.get_models(include_auto_created=True)} | SIDE_TABLES | set(locations.WAIVED_TABLES)
    return sorted(set(connection.introspection.table_names()) - known)


def uncovered(found: Iterable[Any]) -> Iterator[str]:
    """Yield `table.column` and what to do about it, for every column of the models that is neither described nor waived."""
    for model in found:
        table = model._meta.db_table
        places = [place for place in locations.LOCATIONS.values() if place.table == table]
        covered = {column for place in places for column in (*place.columns, *place.waived)} | set(locations.WAIVED_TABLES.get(table, {}))
        for field in model._meta.concrete_fields:
            if not model._meta.proxy and "*" not in covered and field.column not in covered and _could_hold_a_person(field):
                yield f"{table}.{field.column}: {WHAT_TO_DO}"


def _could_hold_a_person(field: Any) -> bool:
    """Numbers, times and switches say nothing without a text beside them; a column of fixed words is checked by its choices."""
    if isinstance(field, models.ForeignKey):
        return bool(field.related_model._meta.db_table == "store_subject")
    return not isinstance(field, HOLD_NOTHING) and not field.choices
