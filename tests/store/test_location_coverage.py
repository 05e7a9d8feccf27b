"""Every column that could hold a person's data is known to the erasure, or somebody has said why it cannot.

When this fails: a table or column is new. In the app that owns it, open `locations.py` (the store's own: `own_locations.py`) and either add
the column to a Location, so that an erasure finds and erases what it holds, or waive it with the reason why it can hold nobody's data.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from django.apps import apps
from django.db import connection, models

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
SIDE_TABLES = {"sqlite_sequence", "sqlite_stat1", "sqlite_stat4"}


def test_every_column_is_covered_or_waived():
    assert list(_uncovered(apps.get_models(include_auto_created=True))) == []


@pytest.mark.django_db
def test_every_table_of_the_database_is_known():
    known = {model._meta.db_table for model in apps.get_models(include_auto_created=True)} | SIDE_TABLES | set(locations.WAIVED_TABLES)
    found = set(connection.introspection.table_names())

    assert found - known == set(), WHAT_TO_DO


def test_what_is_described_is_there():
    tables = {
        model._meta.db_table: {field.column for field in model._meta.concrete_fields}
        for model in apps.get_models(include_auto_created=True)
    }
    named = {place.table: {*place.columns, *place.waived, *place.searched} for place in locations.LOCATIONS.values() if place.table}

    assert {table: columns - tables.get(table, set()) for table, columns in named.items() if columns - tables.get(table, set())} == {}


def test_a_new_column_is_noticed_whatever_it_holds():
    class Stranger(models.Model):
        words = models.TextField()
        whole = models.JSONField()
        packed = models.BinaryField()
        file = models.FileField()
        name = models.UUIDField()
        count = models.IntegerField()
        state = models.CharField(choices=[("a", "A")], max_length=1)

        class Meta:
            app_label = "store"
            db_table = "stranger"

    try:
        found = [line.split(":")[0] for line in _uncovered([Stranger])]
    finally:
        del apps.all_models["store"]["stranger"]
        apps.clear_cache()

    assert found == ["stranger.words", "stranger.whole", "stranger.packed", "stranger.file", "stranger.name"]


def test_every_place_says_how_its_things_go():
    unsaid = [name for name, place in locations.LOCATIONS.items() if place.find is None and not place.goes]

    assert unsaid == []


def test_every_waiver_has_a_reason():
    waivers = [why for table in locations.WAIVED_TABLES.values() for why in table.values()]
    waivers += [why for place in locations.LOCATIONS.values() for why in place.waived.values()]

    assert [why for why in waivers if len(why) < 10] == []


def test_two_places_of_one_name_are_refused():
    with pytest.raises(locations.LocationTaken):
        locations.register(locations.LOCATIONS["store.working"])


def _uncovered(found: Any) -> Iterator[str]:
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
        return field.related_model._meta.db_table == "store_subject"
    return not isinstance(field, HOLD_NOTHING) and not field.choices
