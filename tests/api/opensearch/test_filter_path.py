import pytest

from memadmin.api.opensearch.errors import ApiError
from memadmin.api.opensearch.filtering import parse
from tests.tokens import api_of, reason_of

DOCUMENT = {
    "took": 3,
    "hits": {
        "total": {"value": 2},
        "hits": [{"_id": "a", "_source": {"text": "x", "tags": {}}}, {"_id": "b", "_source": {"list": [1, {"text": 2}]}}],
    },
    "index_a": {"docs": 1},
    "index_b": {"docs": 2, "size": 9},
    "a.b": {"c": 1},
    "none": None,
}


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("", DOCUMENT),
        (" , ,", DOCUMENT),
        ("took", {"took": 3}),
        ("took,none", {"took": 3, "none": None}),
        ("hits.total", {"hits": {"total": {"value": 2}}}),
        ("hits.hits._id", {"hits": {"hits": [{"_id": "a"}, {"_id": "b"}]}}),
        ("hits.hits._source.text", {"hits": {"hits": [{"_source": {"text": "x"}}]}}),
        ("index_*.docs", {"index_a": {"docs": 1}, "index_b": {"docs": 2}}),
        ("*.d*s", {"index_a": {"docs": 1}, "index_b": {"docs": 2}}),
        ("**.value", {"hits": {"total": {"value": 2}}}),
        ("**.text", {"hits": {"hits": [{"_source": {"text": "x"}}, {"_source": {"list": [{"text": 2}]}}]}}),
        ("hits.**.list", {"hits": {"hits": [{"_source": {"list": [1, {"text": 2}]}}]}}),
        ("index_b.**", {"index_b": {"docs": 2, "size": 9}}),
        ("**", DOCUMENT),
        ("nothing.there", {}),
        ("took.deeper", {}),
        ("a\\.b.c", {"a.b": {"c": 1}}),
        ("a.b.c", {}),
        ("-hits,-index_*,-a\\.b", {"took": 3, "none": None}),
        ("index_*,-**.docs", {"index_b": {"size": 9}}),
        ("hits.hits,-hits.hits._source", {"hits": {"hits": [{"_id": "a"}, {"_id": "b"}]}}),
        ("-**", {}),
    ],
)
def test_the_fields_that_are_asked_for_are_left(text, left):
    assert parse(text).of(DOCUMENT) == left


@pytest.mark.parametrize("text", [",".join(["**." + "*a" * 4 + "b"] * 10), "**." * 3_000 + "b", "**.a." * 1_900 + "b", "a." * 4_000 + "b"])
def test_a_filter_that_is_made_to_take_long_does_not(text):
    deep = {"a" * 50: 1}
    for _ in range(150):
        deep = {"a" * 50: deep, "b": [deep]} if len(str(deep)) < 10_000 else {"a" * 50: deep}

    assert set(parse(text).of(deep)) <= {"a" * 50, "b"}


@pytest.mark.parametrize("text", ["**.**.value", "**.**.**.**.value", "hits.**.**.value"])
def test_any_number_of_names_said_twice_says_no_more(text):
    assert parse(text).of(DOCUMENT) == {"hits": {"total": {"value": 2}}}


def test_the_fields_of_many_hits_are_looked_at_once():
    document = {"hits": [{"_source": {"text": "x", "tags": {"a": number}}} for number in range(3)]}

    assert parse("hits._source.tags,-**.text").of(document) == {"hits": [{"_source": {"tags": {"a": number}}} for number in range(3)]}


@pytest.mark.parametrize("text", ["a," * 300, "a" * 20_000, "a*," * 41, "-**.*a.b*.c,x" + ".*" * 39])
def test_a_filter_that_is_too_long_is_refused(text):
    with pytest.raises(ApiError, match="at most"):
        parse(text)


@pytest.mark.django_db
def test_every_answer_is_filtered_and_no_refusal_is():
    api = api_of("ana")

    made = api.post("/_create?filter_path=status", {"name": "one"})
    found = api.post("/_search?filter_path=hits.hits._source.name,-**.none", {"query": {"match_all": {}}})

    assert made.json() == {"status": "created"}
    assert found.json() == {"hits": {"hits": [{"_source": {"name": "one"}}]}}
    assert api.get("/nobody?filter_path=status").json()["error"]["type"] == "status_exception"
    assert reason_of(api.get("/nobody?filter_path=" + "a," * 300))[0] == 400


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("said", "status"),
    [("application/json; charset=UTF-8", 200), ("text/plain", 406), ("application/x-www-form-urlencoded", 406), ("", 406)],
)
def test_a_body_must_be_said_to_be_json(said, status):
    api = api_of("ana")

    answer = api.client.generic(
        "POST", "/_plugins/_ml/memory_containers/_create", b'{"name": "one"}', said, headers={"Authorization": f"Bearer {api.secret}"}
    )

    assert answer.status_code == status
    if status == 406:
        assert answer.json() == {"error": f"Content-Type header [{said}] is not supported", "status": 406}
