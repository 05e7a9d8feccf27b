"""Which columns could hold a person's data without the erasure knowing."""

from collections.abc import Iterable, Iterator
from typing import Any

from django.db import models

from memadmin.store import locations

WHAT_TO_DO = "describe it in a Location of its app's locations.py, or waive it there with a reason (docs/erasure.md, “A new table”)"
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
        return bool(field.related_model._meta.db_table == "store_subject")  # type: ignore[union-attr]
    return not isinstance(field, HOLD_NOTHING) and not field.choices
