import json

import pytest

from memadmin.lifecycle.inference.answers import LONGEST_FACT, Decision, Event, read_decisions, read_facts
from memadmin.llm.client import BadAnswer

FACTS = ["likes tea", "lives in Oslo"]


def decisions(*entries: object, memories: int = 2) -> list[Decision]:
    return read_decisions(json.dumps({"decisions": list(entries)}), facts=FACTS, memories=memories)


def test_facts_are_distinct_stripped_and_no_more_than_asked_for():
    assert read_facts('{"facts": [" likes tea ", "likes tea", "", 7, null, "b", "c"]}', most=2) == ["likes tea", "b"]


def test_a_fence_around_the_json_is_taken_off():
    assert read_facts('```json\n{"facts": ["likes tea"]}\n```', most=5) == ["likes tea"]


def test_what_no_database_stores_is_replaced_and_what_is_too_long_is_left_out():
    answer = json.dumps({"facts": ["a\x00b", "x" * (LONGEST_FACT + 1), "\ud800"]})

    assert read_facts(answer, most=5) == ["a\ufffdb", "\ufffd"]


@pytest.mark.parametrize("answer", ["", "likes tea", "[]", "null", '{"facts": "likes tea"}', "{}", "[" * 100_000, '{"facts": ['])
def test_an_answer_of_another_shape_is_refused(answer: str):
    with pytest.raises(BadAnswer):
        read_facts(answer, most=5)


def test_each_fact_gets_the_decision_about_it():
    made = decisions({"fact": 1, "event": "NONE"}, {"fact": 0, "event": "UPDATE", "id": 1, "text": "likes green tea"})

    assert made == [Decision(Event.UPDATE, "likes tea", 1, "likes green tea"), Decision(Event.NONE, "lives in Oslo")]


def test_a_fact_that_was_left_out_is_added():
    assert decisions() == [Decision(Event.ADD, fact) for fact in FACTS]


@pytest.mark.parametrize("memory", [2, -1, None, "x", 1.5, True, "99999999999"])
def test_a_memory_that_was_not_shown_cannot_be_named(memory: object):
    assert decisions({"fact": 0, "event": "DELETE", "id": memory})[0] == Decision(Event.ADD, "likes tea")


def test_no_memory_is_touched_twice():
    made = decisions({"fact": 0, "event": "DELETE", "id": 0}, {"fact": 1, "event": "UPDATE", "id": "0", "text": "x"})

    assert made == [Decision(Event.DELETE, "likes tea", 0, "likes tea"), Decision(Event.ADD, "lives in Oslo")]


def test_an_update_without_a_usable_text_takes_the_fact():
    assert decisions({"fact": 0, "event": "UPDATE", "id": 0, "text": "x" * (LONGEST_FACT + 1)})[0] == Decision(
        Event.UPDATE, "likes tea", 0, "likes tea"
    )


def test_an_unknown_event_adds():
    assert decisions({"fact": 0, "event": "FORGET EVERYTHING", "id": 0})[0] == Decision(Event.ADD, "likes tea")
