"""The same faults by the agents' door: what is sent over the compatible API is found there, and stands on the pages."""

import json

import pytest

from memadmin.lifecycle.models import Run
from memadmin.store.models import Container, LongTermMemory
from tests.cases.seen import pages_about
from tests.cases.test_fault_people import EMOJI_ONLY, LONG
from tests.factories import NOON, a_memory, make_container, store, subject_of
from tests.runs import switch_on
from tests.tokens import api_of

pytestmark = pytest.mark.django_db
ODD = [
    "a/b",
    "..",
    "100%",
    "a?b#c",
    "%2e%2e",
    "a:b",
    '"q"',
    "new",
    "_search",
    "\u202egnp",
    EMOJI_ONLY,
    LONG,
    "<script>alert(1)</script>",
    "{{ 1234567*9 }}",
]


@pytest.fixture(autouse=True)
def _at_noon(time_machine):
    time_machine.move_to(NOON, tick=False)


@pytest.fixture
def api(db):
    return api_of("ana")


@pytest.fixture
def container(db):
    return make_container(external_id="c1", owner={"name": "ana"})


def found(api, query, **asked):
    return json.loads(api.post("/c1/memories/long-term/_search", {"query": query, **asked}).content)["hits"]


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: ascii(odd)[:16])
def test_f97_f47_any_user_session_and_text_comes_in_is_found_and_is_drawn(api, container, reader, odd):
    api.post("/c1/memories/sessions", {"session_id": odd, "namespace": {"user_id": odd}, "summary": odd})
    memory = {"memory": odd, "namespace": {"user_id": odd, "session_id": odd}, "tags": {odd: odd}, "metadata": {"note": odd}}

    answer = api.post("/c1/memories/long-term", memory)

    assert answer.status_code == 200, answer.content
    (hit,) = found(api, {"term": {"namespace.user_id": odd}})["hits"]
    pages = list(pages_about(reader, subject_of(container, odd)))
    assert hit["_source"]["memory"] == odd
    assert not [view for view, page in pages if page.status != 200 or page.foreign() or "11111103" in page.words]


def test_f33_the_last_rows_of_a_long_list_are_read_and_the_total_is_true(api, container):
    store(container, *(a_memory(f"fact {number}", external_id=f"m-{number}", owner="ana") for number in range(140)))

    last = found(api, {"match_all": {}}, **{"from": 100, "size": 40})

    assert last["total"]["value"] == 140
    assert len({hit["_id"] for hit in last["hits"]} | {hit["_id"] for hit in found(api, {"match_all": {}}, size=100)["hits"]}) == 140


@pytest.mark.parametrize(
    "asked", [{"size": 10_001}, {"size": -1}, {"size": "many"}, {"from": 10_000, "size": 1}, {"limit": 5}, {"from": -1}]
)
def test_f32_a_number_that_cannot_be_honoured_is_refused(api, container, asked):
    assert api.post("/c1/memories/long-term/_search", {"query": {"match_all": {}}, **asked}).status_code == 400


def test_f43_a_text_over_the_longest_is_refused_with_both_numbers(api, container):
    answer = api.post("/c1/memories/long-term", {"memory": "x" * 4_194_305, "namespace": {"user_id": "ann"}})

    assert answer.status_code in {400, 413}
    assert not LongTermMemory.objects.exists()
    assert b"4194304" in answer.content or b"4,194,304" in answer.content


def test_f44_c06_metadata_and_a_tag_with_a_comma_come_back_as_they_were_sent(api, container):
    sent = {"metadata": {"ticket": "T-9"}, "tags": {"who": "Smith, John"}}
    api.post("/c1/memories", {"payload_type": "data", "structured_data": {"a": 1}, "namespace": {"user_id": "ann"}, **sent})

    answer = api.post("/c1/memories/working/_search", {"query": {"term": {"tags.who": "Smith, John"}}})

    (hit,) = json.loads(answer.content)["hits"]["hits"]
    assert {name: hit["_source"][name] for name in sent} == sent


@pytest.mark.parametrize("flag", [True, "true", 1, False, "false", 0, None])
def test_f57_a_dry_run_evicts_nothing_whatever_a_flag_says(api, container, flag):
    switch_on()
    Container.objects.filter(pk=container.pk).update(policy_state="set")
    store(container, a_memory(days_old=900, owner="ana"))

    api.post("/c1/_retention/_dry_run", {"dry_run": flag, "execute": flag, "commit": flag})

    assert LongTermMemory.objects.count() == 1
    assert not Run.objects.filter(state__in=["queued", "running", "finished"]).exists()
