from functools import cache
from uuid import uuid4

import pytest

from memadmin.demo.recipe import MAIN
from memadmin.demo.scenes import Scene
from memadmin.demo.worked_example import write_worked_example
from memadmin.store.intake import IncomingMemory
from memadmin.store.tokens import estimate
from retention.policy import RelevanceRule
from retention.records import MemoryFacts
from retention.scoring import score
from retention.victims import Reason, relevance_victims
from tests.factories import NOON, days

RULE = RelevanceRule()


@cache
def memories(seed=1):
    scene = Scene(uuid4(), MAIN, seed, NOON, "command/make_demo")
    return [item for item in write_worked_example(scene) if isinstance(item, IncomingMemory)]


def facts(told):
    return [
        MemoryFacts(
            key=key,
            created_at=each.created_at,
            last_updated_at=each.last_updated_at,
            last_accessed_at=each.last_accessed_at,
            hits=each.hits,
            importance=each.importance,
            tokens=estimate(each.text) if each.tokens is None else each.tokens,
            pinned=each.pin is not None,
        )
        for key, each in enumerate(told)
    ]


def total(each, now=NOON):
    return score(facts([each])[0], weights=RULE.weights, half_life=RULE.half_life, now=now).total


def the_one(told, words):
    (found,) = [each for each in told if words in each.text]
    return found


def test_there_are_498_memories_of_70_tokens_and_six_new_ones():
    told = memories()
    old = [each for each in facts(told) if each.created_at < NOON - days(1)]

    assert (len(told), len(old)) == (504, 498)
    assert sum(each.tokens for each in old) == pytest.approx(34_900, abs=600)


@pytest.mark.parametrize("seed", range(1, 9))
@pytest.mark.parametrize("days_later", [0, 30])
def test_the_default_rule_evicts_exactly_four_old_notes(seed, days_later):
    told = memories(seed)

    victims = relevance_victims(facts(told), RULE, now=NOON + days(days_later))

    assert {victim.reason for victim in victims} == {Reason.MAX_RECORDS}
    assert sorted(told[victim.key].text.split(" (")[0] for victim in victims) == [
        "Asked once how long the Mill Lane branch is open on Saturday",
        "Asked whether the Mill Lane branch sells postage stamps.",
        "Mentioned that the bus was late again.",
        "Said that the new colour of the shop front is pretty.",
    ]


def test_the_opening_hours_note_scores_about_0_07():
    note = the_one(memories(), "how long the Mill Lane branch is open")

    assert (note.hits, note.importance) == (1, 0.1)
    assert total(note) == pytest.approx(0.07, abs=0.005)


def test_the_four_new_pleasantries_score_about_0_24_and_stay():
    pleasantries = [each for each in memories() if each.created_at > NOON - days(1) and each.importance == 0.1]

    assert [round(total(each), 2) for each in pleasantries] == [0.24] * 4


def test_the_new_address_and_the_complaint_are_worth_0_8_and_0_5():
    today = [each.importance for each in memories() if each.created_at > NOON - days(1)]

    assert sorted(today) == [0.1, 0.1, 0.1, 0.1, 0.5, 0.8]


def test_the_new_address_takes_the_place_of_the_old_ones():
    addresses = [each for each in memories() if each.fact_key == "delivery.address"]

    assert [each.text[:40] for each in addresses if each.superseded_by is None] == ["Delivery address: 7 Orchard Close, Ashfo"]
    assert len(addresses) > 1


def test_the_allergy_is_pinned_and_long_past_its_limit():
    allergy = the_one(memories(), "penicillin")

    assert allergy.pin
    assert allergy.created_at < NOON - days(365)
