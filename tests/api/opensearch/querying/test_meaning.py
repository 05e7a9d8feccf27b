"""The databases answer what the plain meaning of a query says, on random rows."""

from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memadmin.api.opensearch import documents
from memadmin.api.opensearch.querying.bodies import parse_search
from memadmin.api.opensearch.querying.conditions import condition_of
from memadmin.api.opensearch.querying.mapping import Mapped
from memadmin.api.opensearch.querying.parsing import parse_query
from memadmin.api.opensearch.querying.searching import find
from memadmin.api.opensearch.reach import MODELS
from memadmin.store.models import Container, ItemType, WorkingMemory
from tests.api.opensearch.querying import evaluator
from tests.factories import NOON, a_change, a_memory, a_message, a_pin, a_session, make_container, store

pytestmark = pytest.mark.django_db
WORDS = ["tea", "Tea", "TEA", "green-tea", "straße", "STRASSE", "ÉTÉ", "été", "日本茶", "x_1", "don't", "٣", "k", "\u212a", "😀", "a%b", ""]
KEYWORDS = ["a", "A", "ab", "a%", "a_b", "5", "5.5", "true", "false", "日", "é", "", "a.b", "\\", "z'\"", "\U0001f600", "\ue000"]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join)
KEYS = st.sampled_from(["a", "b", "a.b", "a b", 'q"', "é"])
SCALARS = st.sampled_from([*KEYWORDS, 5, 5.5, 0, -1, True, False, None, 10**15, 1e15, 1e-7, -0.0])
OBJECTS = st.dictionaries(
    KEYS,
    st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=2), max_leaves=4),
    max_size=3,
)
TIMES = st.none() | st.sampled_from([0, 1, 999, 1_000, 1_001, 2_000, 86_400_000_000]).map(
    lambda micro: NOON + timedelta(microseconds=micro)
)
USERS = st.sampled_from(["ann", "Ann", "bob", "", None])
IDS = st.none() | st.sampled_from(["m1", "m2", "M1", "日", "00000000-0000-0000-0000-000000000000"])
BASE = {"user_id": USERS, "created_at": TIMES, "owner": st.sampled_from(["ana", "ben", None])}
ROWS = {
    ItemType.SESSION: st.builds(dict, **BASE, summary=st.none() | TEXTS, metadata=OBJECTS, agents=OBJECTS, pinned=st.booleans()),
    ItemType.WORKING: st.builds(
        dict,
        **BASE,
        session_ref=st.sampled_from([None, "s1", "S1", "s%"]),
        message_id=st.none() | st.integers(-3, 3),
        metadata=OBJECTS,
        tags=OBJECTS,
        structured_data=st.none() | OBJECTS,
        infer=st.booleans(),
        external_id=IDS,
        messages=st.lists(
            st.builds(
                lambda texts, plain: {
                    "role": "user",
                    "content": [{"type": "text", "text": one} for one in texts] if not plain else " ".join(texts),
                },
                st.lists(TEXTS, max_size=2),
                st.booleans(),
            ),
            max_size=2,
        ),
    ),
    ItemType.LONG_TERM: st.builds(
        dict,
        **BASE,
        text=TEXTS,
        tags=OBJECTS,
        strategy_type=st.sampled_from([None, "SEMANTIC", "SUMMARY"]),
        external_id=IDS,
        pinned=st.booleans(),
    ),
    ItemType.HISTORY: st.builds(
        dict, **BASE, tags=OBJECTS, memory_ref=IDS, action=st.sampled_from(["ADD", "UPDATE"]), error=st.none() | TEXTS
    ),
}
FIELDS = {
    ItemType.SESSION: ["summary", "metadata", "metadata.a", "metadata.a.b", "agents.b", "pinned", "namespace.user_id"],
    ItemType.WORKING: [
        "messages.content",
        "message_id",
        "metadata.a",
        "metadata.a.b",
        "metadata",
        "tags.é",
        'tags.q"',
        "structured_data.a",
        "structured_data.a.b.a",
        "infer",
        "session_id",
        "namespace.session_id",
        "namespace.user_id",
        "namespace_size",
        "payload_type",
    ],
    ItemType.LONG_TERM: [
        "memory",
        "tags.a",
        "tags.a.b",
        "strategy_type",
        "pinned",
        "namespace.user_id",
        "namespace_size",
        "memory_container_id",
    ],
    ItemType.HISTORY: ["memory_id", "action", "error", "tags.a b", "namespace.user_id"],
}
COMMON = ["owner_id", "created_time", "_id", "nobody_knows"]
MOMENTS = st.sampled_from([0, 1_772_366_400_000, 1_772_366_400_001, "1772366400002", "2026-03-01T12:00:00.001Z", 10**17, -(10**17)])


def value_for(field: str) -> st.SearchStrategy:
    if field in evaluator.TEXTS:
        return st.sampled_from([*WORDS, "tea straße", "日", "茶 k"])
    if field in evaluator.TIMES:
        return MOMENTS
    if field in evaluator.NUMBERS:
        return st.sampled_from([0, 1, 2, -1, "1", 1.5, 1.0, 2**70, -(2**70)])
    if field in evaluator.FLAGS:
        return st.sampled_from([True, False, "true", "false"])
    known = {"_id": ["m1", "M1", "日", "nobody"], "owner_id": ["ana", "ben"], "namespace.user_id": ["ann", "Ann", "bob", ""]}
    known |= {"session_id": ["s1", "S1"], "namespace.session_id": ["s1", "s%"], "action": ["ADD"], "strategy_type": ["SEMANTIC"]}
    return st.sampled_from([*known.get(field, []), *KEYWORDS, 5, 5.5, 5.0, True, 10**15, 1e15])


@st.composite
def leaves(draw, item_type):
    field = draw(st.sampled_from([*FIELDS[item_type], *COMMON]))
    values = value_for(field)
    comparable = field not in evaluator.TEXTS and field not in evaluator.FLAGS
    spoken = field not in evaluator.TIMES | evaluator.NUMBERS | evaluator.FLAGS
    kinds = ["term", "terms", "match", "exists", *(["range"] if comparable else []), *(["wildcard", "prefix"] if spoken else [])]
    kind = draw(st.sampled_from(kinds))
    if kind == "exists":
        return {"exists": {"field": field}}
    if kind == "terms":
        return {"terms": {field: draw(st.lists(values, max_size=3))}}
    if kind == "range":
        return {"range": {field: draw(st.dictionaries(st.sampled_from(["gte", "gt", "lte", "lt"]), values, min_size=1, max_size=2))}}
    if kind in ("wildcard", "prefix"):
        star = draw(st.sampled_from(["*", "?", "a*", "*b", "*e*", "t?a", "\\*", "s%", "A*", "m?", "S*", "日*"]))
        return {kind: {field: {"value": star if kind == "wildcard" else draw(values.map(str)), "case_insensitive": draw(st.booleans())}}}
    if kind == "match":
        rule = draw(st.sampled_from([{}, {"operator": "and"}, {"minimum_should_match": 2}, {"minimum_should_match": "-1"}]))
        return {"match": {field: {"query": draw(values), "boost": draw(st.sampled_from([1, 2.0])), **rule}}}
    return {"term": {field: draw(values)}}


def queries(item_type):
    groups = ["must", "filter", "should", "must_not"]

    def grouped(inner):
        minimum = st.sampled_from([None, 0, 1, 2, "50%", -1])
        return st.builds(
            lambda parts, least: {"bool": {**parts, **({} if least is None else {"minimum_should_match": least})}},
            st.dictionaries(st.sampled_from(groups), st.lists(inner, max_size=3), max_size=4),
            minimum,
        )

    return st.recursive(st.just({"match_all": {}}) | leaves(item_type), grouped, max_leaves=6)


def fill(container: Container, item_type: ItemType, rows: list[dict]) -> None:
    made = []
    for number, row in enumerate(rows):
        pinned = row.pop("pinned", False)
        pin = {"pin": a_pin()} if pinned else {}
        if item_type == ItemType.SESSION:
            made.append(a_session(**{"external_id": f"m{number}", **row}, **pin))
        elif item_type == ItemType.WORKING:
            made.append(a_message(None, **row))
        elif item_type == ItemType.LONG_TERM:
            made.append(a_memory(**row, **pin))
        else:
            made.append(a_change("", **row))
    store(container, *made)


def wired(row) -> dict:
    """A row as its document, with its id, and under the user of the row whatever its namespace says."""
    source = documents.source_of(row)
    namespace = {**source.get("namespace", {}), "user_id": row.subject.user_id}
    return {**source, "_id": documents.wire_id(row), "namespace": namespace}


@pytest.mark.parametrize("item_type", list(ItemType))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_a_search_finds_and_scores_what_the_plain_meaning_of_its_query_does(item_type, data):
    container = make_container()
    fill(container, item_type, data.draw(st.lists(ROWS[item_type], max_size=5)))
    rows = MODELS[item_type]._default_manager.filter(container=container).select_related("container", "subject")
    asked = data.draw(st.lists(queries(item_type), min_size=1, max_size=6))
    documents_by_key = {row.pk: wired(row) for row in rows}

    for body in asked:
        query = parse_query(body)
        found = find(rows, parse_search({"query": body, "size": 100, "track_total_hits": True}), Mapped(item_type, container).field)

        expected = {key: evaluator.score(query, document) for key, document in documents_by_key.items() if evaluator.holds(query, document)}
        assert {hit.row.pk: hit.score for hit in found.hits} == expected, body
        assert found.total == len(expected)


def test_messages_of_empty_texts_have_no_content(db):
    container = make_container()
    store(container, a_message(""), a_message("tea"), a_message("", messages=[{"role": "user", "content": ""}] * 2))
    fields = Mapped(ItemType.WORKING, container).field

    found = WorkingMemory.objects.filter(condition_of(parse_query({"exists": {"field": "messages.content"}}), fields))

    assert [row.messages[0]["content"] for row in found] == ["tea"]
