import pytest

from memadmin.api.opensearch.querying.bodies import parse_search
from memadmin.api.opensearch.querying.parsing import DEEPEST, MOST_CLAUSES, MOST_TERMS, MOST_WORDS, parse_query
from memadmin.api.opensearch.querying.queries import (
    Bool,
    Exists,
    Like,
    Match,
    MatchAll,
    QueryRefused,
    Range,
    SortKey,
    SourceFilter,
    Terms,
    Wild,
)

ALL = {"match_all": {}}


def nested(levels):
    query = ALL
    for _ in range(levels):
        query = {"bool": {"must": [query]}}
    return query


@pytest.mark.parametrize(
    ("body", "query"),
    [
        ({"match_all": {"boost": 2}}, MatchAll(boost=2.0)),
        ({"term": {"owner_id": "ana"}}, Terms(field="owner_id", values=("ana",))),
        ({"term": {"message_id": {"value": 3, "boost": 1.0}}}, Terms(field="message_id", values=(3,))),
        ({"terms": {"_id": ["a", "b"], "boost": 1.0}}, Terms(field="_id", values=("a", "b"))),
        ({"match": {"memory": "green tea"}}, Match(field="memory", value="green tea")),
        ({"match": {"memory": {"query": "tea", "operator": "AND"}}}, Match(field="memory", value="tea", at_least="100%")),
        ({"exists": {"field": "summary"}}, Exists(field="summary")),
        ({"range": {"created_time": {"gte": 1, "lt": "2"}}}, Range(field="created_time", gte=1, lt="2")),
        (
            {"range": {"x": {"from": 1, "to": None, "include_lower": False, "include_upper": True, "boost": 1.0}}},
            Range(field="x", gt=1),
        ),
        ({"wildcard": {"a": "b**\\*?"}}, Like(field="a", glob=("b", Wild.ANY, "*", Wild.ONE))),
        ({"prefix": {"a": {"value": "b*", "case_insensitive": True}}}, Like(field="a", glob=("b*", Wild.ANY), any_case=True)),
        (
            {"bool": {"must": {"match_all": {}}, "should": [], "adjust_pure_negative": True, "boost": 1.0}},
            Bool(must=(MatchAll(),)),
        ),
        ({"nested": {"path": "owner", "query": {"term": {"owner.name": "ana"}}}}, Terms(field="owner.name", values=("ana",))),
    ],
    ids=str,
)
def test_a_query_is_read_in_all_its_writings(body, query):
    assert parse_query(body) == query


@pytest.mark.parametrize(
    ("body", "kind", "reason"),
    [
        ({"fuzzy": {"a": "b"}}, "parsing_exception", "unknown query [fuzzy]"),
        ({"bool": {"must": [{"knn": {}}]}}, "parsing_exception", "unknown query [knn]"),
        ([], "parsing_exception", "[_na] query malformed, must start with start_object"),
        ({}, "illegal_argument_exception", "query malformed, empty clause found"),
        ({"match_all": {}, "term": {}}, "parsing_exception", "[match_all] malformed query, expected [END_OBJECT] but found [FIELD_NAME]"),
        ({"term": "x"}, "parsing_exception", "[term] query malformed, no start_object after query name"),
        ({"term": {"a": 1, "b": 2}}, "parsing_exception", "[term] query doesn't support multiple fields, found [a] and [b]"),
        ({"term": {"a": None}}, "illegal_argument_exception", "[term] value cannot be null"),
        ({"term": {"a": [1]}}, "parsing_exception", "[term] query does not support arrays or objects as a value"),
        ({"terms": {"a": "b"}}, "parsing_exception", "[terms] query requires an array of values"),
        ({"match": {"a": {"query": "x", "slop": 1}}}, "parsing_exception", "[match] query does not support [slop]"),
        ({"range": {"a": 1}}, "parsing_exception", "[range] query does not support [a]"),
        ({"bool": {"musst": []}}, "parsing_exception", "[bool] query does not support [musst]"),
        (nested(DEEPEST + 1), "too_many_nested_clauses", f"The query is nested more than {DEEPEST} levels deep"),
        ({"bool": {"should": [ALL] * MOST_CLAUSES}}, "too_many_clauses", f"maxClauseCount is set to {MOST_CLAUSES}"),
        ({"terms": {"a": ["x"] * (MOST_TERMS + 1)}}, "too_many_clauses", f"A query looks for at most {MOST_TERMS} values altogether"),
        (
            {"match": {"memory": " ".join(map(str, range(MOST_WORDS + 1)))}},
            "too_many_clauses",
            f"A query looks for at most {MOST_WORDS} words altogether",
        ),
    ],
    ids=lambda value: str(value)[:60],
)
def test_what_is_not_of_the_language_is_refused_by_name(body, kind, reason):
    with pytest.raises(QueryRefused) as refusal:
        parse_query(body)

    assert (refusal.value.kind, str(refusal.value)) == (kind, reason)


def test_the_deepest_and_the_longest_query_still_pass():
    parse_query(nested(DEEPEST))
    parse_query({"bool": {"should": [ALL] * (MOST_CLAUSES - 1)}})


@pytest.mark.parametrize(
    ("minimum", "clauses", "needed"),
    [(None, 3, 1), (2, 3, 2), (-1, 3, 2), ("75%", 4, 3), ("-25%", 4, 3), ("75%", 3, 2), (0, 3, 0), (9, 3, 9), (-9, 3, 0)],
)
def test_minimum_should_match_takes_numbers_and_shares(minimum, clauses, needed):
    body = {"bool": {"should": [ALL] * clauses, **({} if minimum is None else {"minimum_should_match": minimum})}}

    query = parse_query(body)

    assert query.should_needed == needed


def test_should_is_optional_beside_a_must_or_a_filter():
    assert parse_query({"bool": {"filter": [ALL], "should": [ALL]}}).should_needed == 0
    assert parse_query({"bool": {"must_not": [ALL], "should": [ALL]}}).should_needed == 1


@pytest.mark.parametrize(
    ("sort", "keys"),
    [
        ("created_time", (SortKey("created_time"),)),
        ("created_time:desc", (SortKey("created_time", descending=True),)),
        ({"created_time": "desc"}, (SortKey("created_time", descending=True),)),
        ([{"created_time": {"order": "DESC", "missing": "_first"}}, "_id"], (SortKey("created_time", True, True), SortKey("_id"))),
        (["_score"], (SortKey("_score", descending=True),)),
        ([{"nobody": {"unmapped_type": "long"}}], (SortKey("nobody", optional=True),)),
    ],
    ids=str,
)
def test_an_order_is_read_in_all_its_writings(sort, keys):
    assert parse_search({"sort": sort}).sort == keys


@pytest.mark.parametrize(
    ("given", "source"),
    [
        (True, SourceFilter()),
        (False, SourceFilter(wanted=False)),
        ("memory", SourceFilter(includes=("memory",))),
        (["a", "b.*"], SourceFilter(includes=("a", "b.*"))),
        ({"includes": ["a"], "excludes": "b"}, SourceFilter(includes=("a",), excludes=("b",))),
    ],
    ids=str,
)
def test_the_wanted_parts_are_read_in_all_their_writings(given, source):
    assert parse_search({"_source": given}).source == source


@pytest.mark.parametrize(
    "body",
    [
        {"size": 10_001},
        {"from": 9_991, "size": 10},
        {"size": -1},
        {"from": 1.5},
        {"size": True},
        {"sort": [3]},
        {"sort": {"a": {"order": "up"}}},
        {"search_after": [1]},
        {"sort": "a", "search_after": [1, 2]},
        {"sort": "a", "search_after": [1], "from": 1},
        {"sort": "a", "search_after": [{}]},
        {"aggs": {"a": {"terms": {"field": "owner_id"}}}},
        {"_source": 3},
        {"track_total_hits": -1},
    ],
    ids=str,
)
def test_a_search_beyond_the_limits_or_the_language_is_refused(body):
    with pytest.raises(QueryRefused):
        parse_search(body)


def test_options_that_clients_write_out_change_nothing():
    assert parse_search({"query": ALL, "version": True, "seq_no_primary_term": True, "timeout": "5s"}) == parse_search({})
