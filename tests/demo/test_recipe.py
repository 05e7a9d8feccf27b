from collections import Counter
from dataclasses import fields, replace
from datetime import timedelta
from functools import cache

import pytest

from memadmin.demo.customers import CAST
from memadmin.demo.recipe import CLINIC, LOYALTY, MAIN, BadRecipe, Recipe
from memadmin.demo.worked_example import USER_ID
from memadmin.store.intake import Incoming, IncomingHistory, IncomingMemory, IncomingSession, IncomingWorking
from memadmin.store.models import HistoryAction, ItemType
from retention.records import MemoryFacts
from retention.scoring import Weights, score
from tests.factories import NOON

SMALL = Recipe.of(users=40, memories=1_500, seed=None, as_of=NOON)
USUAL = Recipe.of(users=None, memories=None, seed=None, as_of=NOON)


@cache
def items(recipe=SMALL, name=MAIN):
    return list(recipe.items(name, actor="command/make_demo"))


def memories(recipe=SMALL, name=MAIN):
    return [item for item in items(recipe, name) if isinstance(item, IncomingMemory)]


def users(recipe, name):
    return {item.user_id for item in items(recipe, name)} - {None}


def test_without_numbers_there_are_200_users_with_5000_memories():
    assert (USUAL.users, USUAL.memories, USUAL.seed) == (200, 5_000, 1)


@pytest.mark.parametrize(("given", "made"), [({"users": 40}, (40, 1_000)), ({"memories": 10_000}, (400, 10_000))])
def test_one_number_alone_brings_the_other_with_it(given, made):
    recipe = Recipe.of(**{"users": None, "memories": None, "seed": None, **given}, as_of=NOON)

    assert (recipe.users, recipe.memories) == made


@pytest.mark.parametrize(("number_of_users", "number_of_memories"), [(0, 5), (-1, 5), (5, -1), (5, 10**12)])
def test_numbers_out_of_range_are_refused_by_name(number_of_users, number_of_memories):
    with pytest.raises(BadRecipe, match="users"):
        Recipe.of(users=number_of_users, memories=number_of_memories, seed=1, as_of=NOON)


@pytest.mark.parametrize("size", [(200, 5_000), (40, 1_500), (39, 1_499), (7, 30), (1, 0), (1, 3), (3, 2), (300, 40)])
def test_there_are_exactly_as_many_users_and_memories_as_asked_for(size):
    recipe = Recipe(*size, 1, NOON)

    assert sum(len(users(recipe, name)) for name in (MAIN, CLINIC, LOYALTY)) == size[0]
    assert sum(len(memories(recipe, name)) for name in (MAIN, CLINIC, LOYALTY)) == size[1]


def test_a_seed_makes_the_same_rows_every_time():
    again = SMALL.items(MAIN, actor="command/make_demo")

    assert list(again) == items()


def test_another_day_changes_the_times_and_nothing_else():
    tomorrow = [without_times(item) for item in items(replace(SMALL, as_of=NOON + timedelta(days=1)))]

    assert tomorrow == [without_times(item) for item in items()]


def without_times(item):
    plain = {field.name: getattr(item, field.name) for field in fields(item) if not field.name.endswith("_at")}
    return plain | {"pin": plain["pin"].reason if plain.get("pin") else None}


def test_another_seed_makes_other_people_and_chats():
    other = replace(SMALL, seed=2)

    assert {each.text for each in memories(other)} != {each.text for each in memories()}
    assert users(other, MAIN) != users(SMALL, MAIN)
    assert other.uid(MAIN) != SMALL.uid(MAIN)


def test_no_two_items_of_a_user_have_one_name():
    named = Counter((item.user_id, item.item_type, item.external_id) for item in items(USUAL) if isinstance(item, Incoming))

    assert max(named.values()) == 1


def test_every_user_of_the_cast_is_there_once_in_large_and_small_demos():
    special = {USER_ID, *(customer.user_id for customer in CAST)}

    assert len(special) == len(CAST) + 1
    assert special <= users(SMALL, MAIN)
    assert len({customer.code for customer in CAST}) == len(CAST)


def test_names_of_ordinary_customers_stay_apart_beyond_the_stock_of_names():
    recipe = Recipe(6_000, 0, 1, NOON)

    assert len(users(recipe, MAIN)) == recipe.ordinary(MAIN)[0]


def test_every_source_of_a_memory_is_a_session_or_message_of_the_same_user():
    everything = items()
    known = {(item.user_id, item.uid) for item in everything if isinstance(item, IncomingSession | IncomingWorking)}

    named = {(memory.user_id, source.uid): source.item_type for memory in memories() for source in memory.sources}

    assert set(named) <= known
    assert set(named.values()) == {ItemType.SESSION, ItemType.WORKING}


def test_a_memory_is_told_after_its_message_and_changed_and_read_after_that():
    told = {item.uid: item.created_at for item in items() if isinstance(item, IncomingSession | IncomingWorking)}

    for memory in memories():
        if memory.created_at is None or memory.time_note:
            continue
        assert all(told[source.uid] < memory.created_at for source in memory.sources)
        assert memory.created_at <= (memory.last_updated_at or NOON) <= NOON
        assert memory.last_accessed_at is None or memory.last_accessed_at > memory.created_at


def test_of_a_changing_fact_only_the_latest_version_is_not_superseded():
    facts = [each for each in memories(USUAL) if each.fact_key == "delivery.address"]
    by_uid = {each.uid: each for each in facts}

    newest = Counter(each.user_id for each in facts if each.superseded_by is None)
    assert set(newest.values()) == {1}
    assert all(by_uid[old.superseded_by].fact_version == old.fact_version + 1 for old in facts if old.superseded_by)
    assert any(each.superseded_by for each in facts)


def test_scores_are_spread_over_the_whole_range():
    bands = Counter(int(total_of(memory) * 10) for memory in memories(USUAL))

    assert all(bands[band] > 40 for band in range(10)), sorted(bands.items())


def total_of(memory):
    facts = MemoryFacts(
        key=1,
        created_at=memory.created_at,
        last_accessed_at=memory.last_accessed_at,
        hits=memory.hits,
        importance=memory.importance,
    )
    return score(facts, weights=Weights(), half_life=timedelta(days=30), now=NOON).total


def test_there_is_an_example_of_everything_that_pages_have_to_show():
    everything = memories()
    sessions = [item for item in items() if isinstance(item, IncomingSession)]
    working = [item for item in items() if isinstance(item, IncomingWorking)]
    history = Counter(item.action for item in items() if isinstance(item, IncomingHistory))
    year_ago = NOON - timedelta(days=365)

    assert any(each.created_at is None for each in everything)
    assert any(each.last_accessed_at and each.last_accessed_at > NOON for each in everything)
    assert any(each.hits == 0 and each.last_accessed_at is None for each in everything)
    assert any(each.created_at and each.created_at < year_ago and each.pin is None for each in everything)
    assert any(each.created_at and each.created_at < year_ago and each.pin for each in everything)
    assert any(len(each.text) > 160_000 for each in everything)
    assert any(each.user_id is None for each in everything)
    assert any(each.pin for each in sessions)
    assert any(each.session_ref is None for each in working)
    assert any(each.session_ref is None and each.user_id is None for each in working)
    assert set(history) == {*HistoryAction, None}
    assert {each.strategy_type for each in everything} == {"SEMANTIC", "USER_PREFERENCE", "SUMMARY"}


def test_every_allergy_is_pinned_with_a_reason():
    allergies = [each for each in memories() if each.tags.get("kind") == "allergy"]

    assert allergies
    assert all(each.pin and "harm" in each.pin.reason for each in allergies)


def test_chats_are_told_in_six_languages():
    told = {item.metadata["language"] for item in items() if isinstance(item, IncomingSession)}

    assert told == {"en", "nl", "es", "zh", "ar", "he"}


def test_a_large_demo_has_all_memories_but_only_a_part_of_the_messages(monkeypatch):
    monkeypatch.setattr("memadmin.demo.recipe.WHOLE_UP_TO", 100)
    large = Recipe(39, 3_000, 1, NOON)

    told = Counter(item.item_type for item in large.items(MAIN, actor="command/make_demo") if isinstance(item, Incoming))

    assert told[ItemType.LONG_TERM] == 3_000 - sum(len(memories(large, name)) for name in (CLINIC, LOYALTY))
    assert 0.2 < told[ItemType.HISTORY] / told[ItemType.LONG_TERM] < 0.4
    assert 150 < told[ItemType.SESSION] < 350
