"""During what an agent recalls: both APIs take its word for it."""

import pytest

from memadmin.store.models import LongTermMemory, RecallEvent
from tests.api.v1.calls import caller_of, said
from tests.factories import a_memory, make_container, store
from tests.tokens import api_of

SEARCH = {"query": {"match": {"memory": "tea"}}}

pytestmark = pytest.mark.django_db


@pytest.fixture
def container(db):
    made = make_container(external_id="c1", owner={"name": "ana"})
    store(made, a_memory("likes tea", owner="ana"))
    return made


def events():
    return list(RecallEvent.objects.order_by("id").values_list("session_ref", "invocation_id"))


def test_a_recall_names_session_and_invocation_and_counts_once_in_it(container):
    api = caller_of("ana")
    question = {"user_id": "ann", "query": "tea", "session_id": "s-1", "invocation_id": "i-1"}

    for asked in (question, question, {**question, "invocation_id": "i-2"}, {"user_id": "ann", "query": "tea"}):
        assert len(said(api.post("/containers/c1/recall", asked))["items"]) == 1

    assert events() == [("s-1", "i-1"), ("s-1", "i-2"), (None, None)]
    assert LongTermMemory.objects.get().hits == 3


def test_a_search_of_the_compatible_api_names_them_in_headers(container):
    api = api_of("ana")
    occasion = {"X-Memory-Session": "s-1", "X-Memory-Invocation": "i-1"}

    for headers in (occasion, occasion, {"X-Memory-Invocation": "x" * 513}, {}):
        assert api.post("/c1/memories/long-term/_search", SEARCH, **headers).status_code == 200

    assert events() == [("s-1", "i-1"), (None, None), (None, None)]


def test_a_name_that_no_session_can_have_is_refused(container):
    answer = caller_of("ana").post("/containers/c1/recall", {"user_id": "ann", "session_id": "x" * 513})

    assert answer.status_code == 400
    assert events() == []
