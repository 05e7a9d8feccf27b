"""Whatever a search says, it is answered or refused with a reason; nothing breaks and nothing is changed."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memadmin.store.models import WorkingMemory
from tests.factories import a_change, a_memory, a_message, a_session, make_container, store
from tests.tokens import api_of

pytestmark = pytest.mark.django_db
TYPES = ["sessions", "working", "long-term", "history"]
NASTY = ["", "\x00", "\ud800", "a" * 600, "*" * 9, "%", "\\", "'\"", "日本", "now", "NaN", "9" * 400, "-1", "true", "2026-02-30", "_score"]
NUMBERS = st.sampled_from([0, -1, 1.5, 1e308, 10**18, 10**30, -(2**63), True])
SCALARS = st.none() | NUMBERS | st.sampled_from(NASTY)
FIELDS = [
    "_id",
    "owner_id",
    "created_time",
    "message_id",
    "pinned",
    "memory",
    "messages.content",
    "namespace.user_id",
    "metadata.a..b",
    "tags",
]
FIELDS += ["namespace_size", "memory_id", "summary", ".", "a" * 600, "a.b.c.d.e.f.g.h.i", "", 'structured_data.q"\\']
CLAUSES = ["term", "terms", "match", "exists", "range", "wildcard", "prefix", "ids", "nested", "match_all", "bool", "fuzzy", "script"]
OPTIONS = [
    "value",
    "query",
    "gte",
    "lt",
    "from",
    "boost",
    "operator",
    "case_insensitive",
    "field",
    "values",
    "minimum_should_match",
    "path",
]
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*OPTIONS, *FIELDS, *CLAUSES]), inner, max_size=3),
    max_leaves=6,
)
VALUES = SCALARS | st.lists(SCALARS, max_size=3) | st.dictionaries(st.sampled_from(OPTIONS), SCALARS, max_size=3)
LEAVES = st.builds(
    lambda kind, field, value: {kind: {field: value}}, st.sampled_from(CLAUSES), st.sampled_from(FIELDS), VALUES
) | st.builds(lambda field: {"exists": {"field": field}}, st.sampled_from(FIELDS))
QUERIES = st.recursive(
    LEAVES,
    lambda inner: st.fixed_dictionaries(
        {"bool": st.dictionaries(st.sampled_from(["must", "should", "must_not"]), st.lists(inner, max_size=3))}
    ),
)
SORTS = (
    st.none()
    | st.sampled_from(FIELDS)
    | st.lists(st.dictionaries(st.sampled_from([*FIELDS, "_score", "_doc"]), VALUES, max_size=2), max_size=3)
)
BODIES = (
    st.fixed_dictionaries({"query": QUERIES}, optional={"sort": SORTS, "search_after": st.lists(SCALARS, max_size=2)})
    | st.fixed_dictionaries({"query": QUERIES | ANYTHING}, optional={"size": SCALARS, "from": SCALARS, "_source": ANYTHING})
    | st.dictionaries(
        st.sampled_from(["query", "sort", "size", "track_total_hits", "_source", "search_after", "aggs"]), ANYTHING, max_size=4
    )
)


@pytest.fixture
def filled(db):
    container = make_container(external_id="c1", owner={"name": "ana"})
    items = [a_session(owner="ana"), a_message(owner="ana"), a_memory(owner="ana"), a_change(owner="ana")]
    store(container, *items)
    return api_of("ana"), api_of("root", all_access=True)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(name=st.sampled_from([*TYPES, "containers"]), body=BODIES)
def test_every_search_is_answered_or_refused_with_a_reason(filled, name, body):
    path = "/_search" if name == "containers" else f"/c1/memories/{name}/_search"

    answer = filled[0].post(path, body)

    found = json.loads(answer.content)
    assert (answer.status_code, "hits" in found) == (200, True) or (answer.status_code == 400 and found["error"]["reason"])


def test_a_refused_deletion_deletes_nothing(filled):
    for query in ({"term": {"message_id": "x"}}, {"script": {}}, {"range": {"created_time": {"lt": "tomorrow"}}}):
        assert filled[1].post("/c1/memories/working/_delete_by_query", {"query": query}).status_code == 400

    assert WorkingMemory.objects.count() == 1
