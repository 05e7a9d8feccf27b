"""The order of hits, paging, parts of documents, and what a search costs."""

import json
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memadmin.api.opensearch.querying.conditions import condition_of
from memadmin.api.opensearch.querying.mapping import Mapped
from memadmin.api.opensearch.querying.parsing import parse_query
from memadmin.api.opensearch.reach import MODELS, item_type_of
from tests.factories import NOON, a_change, a_memory, a_message, a_session, make_container, make_memory, store
from tests.tokens import api_of, reason_of

pytestmark = pytest.mark.django_db
ALL = {"query": {"match_all": {}}}


@pytest.fixture
def api(db):
    return api_of("ana")


@pytest.fixture
def container(db):
    return make_container(external_id="c1", owner={"name": "ana"})


def hits_of(answer):
    assert answer.status_code == 200, answer.content
    return json.loads(answer.content)["hits"]


def test_hits_of_a_match_are_ordered_by_the_number_of_words_found(api, container):
    for text in ("green things", "Green tea!", "nothing", "a green cup of TEA with milk"):
        make_memory(container, text, owner="ana")

    hits = hits_of(api.post("/c1/memories/long-term/_search", {"query": {"match": {"memory": "tea green milk"}}}))

    assert [(hit["_source"]["memory"], hit["_score"]) for hit in hits["hits"]] == [
        ("a green cup of TEA with milk", 3.0),
        ("Green tea!", 2.0),
        ("green things", 1.0),
    ]
    assert hits["max_score"] == 3.0


def test_a_sorted_search_is_paged_by_search_after_without_loss_within_one_millisecond(api, container):
    for number in range(7):
        created = None if number == 6 else NOON + timedelta(microseconds=250 * number)
        store(container, a_message(owner="ana", session_ref=None, external_id=f"m{number}", created_at=created))
    body = {**ALL, "size": 2, "sort": [{"created_time": "desc"}, {"_id": "asc"}]}

    seen, after = [], None
    while page := hits_of(api.get("/c1/memories/working/_search", {**body, **({"search_after": after} if after else {})}))["hits"]:
        seen += [hit["_id"] for hit in page]
        after = page[-1]["sort"]

    assert seen == ["m4", "m5", "m0", "m1", "m2", "m3", "m6"]
    assert after == [-(2**63), "m6"]


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("message_id", ["m2", "m0", "m1"]),
        ({"message_id": "desc"}, ["m0", "m2", "m1"]),
        ({"message_id": {"order": "asc", "missing": "_first"}}, ["m1", "m2", "m0"]),
        ([{"checkpoint_id": "asc"}], ["m1", "m0", "m2"]),
        ([{"namespace.session_id": "desc"}, {"_id": "desc"}], ["m2", "m1", "m0"]),
        ([{"nobody": {"unmapped_type": "long"}}, {"_id": "desc"}], ["m2", "m1", "m0"]),
        (["_score", "_doc"], ["m0", "m1", "m2"]),
        ([{"infer": "desc"}, {"_id": "desc"}], ["m1", "m2", "m0"]),
    ],
    ids=str,
)
def test_hits_come_in_each_order_with_missing_values_last(api, container, sort, order):
    store(
        container,
        a_message(owner="ana", external_id="m0", message_id=5, checkpoint_id="b"),
        a_message(owner="ana", external_id="m1", checkpoint_id="B", infer=True),
        a_message(owner="ana", external_id="m2", message_id=-1),
    )

    found = [hit["_id"] for hit in hits_of(api.get("/c1/memories/working/_search", {**ALL, "sort": sort}))["hits"]]
    one_by_one, after = [], None
    while page := hits_of(
        api.get("/c1/memories/working/_search", {**ALL, "sort": sort, "size": 1, **({"search_after": after} if after else {})})
    )["hits"]:
        one_by_one.append(page[0]["_id"])
        after = page[0]["sort"]

    assert found == one_by_one == order


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"query": {"fuzzy": {}}}, "parsing_exception"),
        ({"sort": "nobody"}, "query_shard_exception"),
        ({"sort": "messages.content"}, "illegal_argument_exception"),
        ({"query": {"term": {"message_id": "three"}}}, "query_shard_exception"),
        ({"query": {"range": {"created_time": {"gte": "yesterday"}}}}, "parse_exception"),
        ({"query": {"term": {"infer": "yes"}}}, "query_shard_exception"),
        ({"query": {"wildcard": {"message_id": "1*"}}}, "query_shard_exception"),
        ({"sort": "message_id", "search_after": ["x"]}, "illegal_argument_exception"),
    ],
    ids=str,
)
def test_what_cannot_be_asked_is_refused_with_a_reason(api, container, body, kind):
    status, found, reason = reason_of(api.get("/c1/memories/working/_search", body))

    assert (status, found) == (400, kind)
    assert reason


def test_only_the_wanted_parts_of_a_document_are_sent(api, container):
    make_memory(container, "likes tea", owner="ana", tags={"a": "1", "b": "2"})

    listed = hits_of(api.get("/c1/memories/long-term/_search", {"_source": ["memory", "tags.a"]}))["hits"][0]
    bare = hits_of(api.get("/c1/memories/long-term/_search", {"_source": False}))["hits"][0]

    assert listed["_source"] == {"memory": "likes tea", "tags": {"a": "1"}}
    assert "_source" not in bare


def test_a_long_search_and_a_long_deletion_fit_every_database(api, container):
    store(container, a_message(owner="ana", external_id="m7"))
    ids = [f"m{number}" for number in range(4_000)]
    should = [{"term": {"metadata.a": str(number)}} for number in range(800)] + [{"range": {"created_time": {"gte": 5}}}]

    by_id = hits_of(
        api.get("/c1/memories/working/_search", {"query": {"bool": {"must": [{"terms": {"_id": ids}}, {"ids": {"values": ids}}]}}})
    )
    scored = hits_of(api.get("/c1/memories/working/_search", {"query": {"bool": {"should": should, "minimum_should_match": 1}}}))

    assert [len(found["hits"]) for found in (by_id, scored)] == [1, 1]


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("working", {"term": {"namespace.user_id": "ann"}}),
        ("working", {"term": {"namespace.session_id": "s-1"}}),
        ("working", {"terms": {"session_id": ["s-1", "s-2"]}}),
        ("working", {"ids": {"values": ["m1"]}}),
        ("sessions", {"term": {"_id": "s-1"}}),
        ("sessions", {"term": {"namespace.user_id": "ann"}}),
        ("history", {"terms": {"namespace.user_id": ["ann", "bob"]}}),
        ("long-term", {"term": {"_id": "m1"}}),
        ("long-term", {"term": {"namespace.user_id": "ann"}}),
        ("history", {"term": {"memory_id": "m1"}}),
    ],
    ids=str,
)
def test_looking_for_an_id_reads_an_index_and_not_the_table(container, name, query):
    store(container, a_session(), a_message(external_id="m1"), a_memory(external_id="m1"), a_change(memory_ref="m1"))
    item_type = item_type_of(name)
    table = MODELS[item_type]._meta.db_table
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off")

    with CaptureQueriesContext(connection) as beforehand:
        condition = condition_of(parse_query(query), Mapped(item_type, container).field)
    matching = MODELS[item_type]._default_manager.filter(condition, container=container).order_by()
    plans = [matching.explain(), *map(plan_of, [query["sql"] for query in beforehand])]

    assert all(f"Seq Scan on {table}" not in plan and f"SCAN {table}" not in plan for plan in plans), plans
    assert not any("(container_id=?)" in plan for plan in plans), plans  # an index, but a walk through the whole container


def plan_of(sql):
    with connection.cursor() as cursor:
        cursor.execute(("EXPLAIN " if connection.vendor == "postgresql" else "EXPLAIN QUERY PLAN ") + sql.replace("%", "%%"))
        return str(cursor.fetchall())
