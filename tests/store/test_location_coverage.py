"""Every place that could hold a person's data is known to the erasure, or somebody has said why it cannot.

That of columns is `test_every_column_is_known_to_the_erasure` in `test_architecture.py`. When one fails, a table or column is new.
In the app that owns it, open `locations.py` (the store's own: `own_locations.py`) and either add the column to a Location, so that an
erasure finds and erases what it holds, or waive it with the reason why it can hold nobody's data.
"""

import pytest
from django.apps import apps
from django.db import connection, models

from memadmin.store import locations
from memadmin.store.coverage import WHAT_TO_DO, gaps, uncovered, unknown_tables


@pytest.mark.django_db
def test_every_table_of_the_database_is_known():
    assert unknown_tables() == [], WHAT_TO_DO


@pytest.mark.django_db
def test_a_table_that_somebody_made_by_hand_is_noticed():
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE by_hand (words text)")

    assert gaps() == ["by_hand"]


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
        found = [line.split(":")[0] for line in uncovered([Stranger])]
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
