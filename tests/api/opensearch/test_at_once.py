"""Several requests at the same moment."""

from itertools import count

import pytest

from memadmin.jobs.models import Job
from memadmin.store.check import check
from memadmin.store.models import LongTermMemory, Session, WorkingMemory
from tests.bots import add, create, long_term, session, working
from tests.jobs.at_once import at_once
from tests.runs import switch_on
from tests.tokens import ApiClient, make_token

pytestmark = pytest.mark.django_db(transaction=True)
THINKING = {"index_prefix": "shared", "llm_id": "m", "strategies": [{"type": "SEMANTIC", "namespace": ["user_id"]}]}


@pytest.fixture
def secret() -> str:
    return make_token("ana", all_access=True)[1]


def test_one_of_several_opens_a_session(secret):
    cid = create(ApiClient(secret))

    told = at_once(lambda: ApiClient(secret).post(f"/{cid}/memories/sessions", {"session_id": "s1"}).json()["status"], times=6)

    assert sorted(told) == ["created"] + ["exists"] * 5
    assert Session.objects.count() == 1


@pytest.mark.parametrize("namespace", [{"session_id": "s1"}, {"session_id": "s1", "user_id": "bob"}])
def test_first_payloads_make_one_session_and_every_message_counts(secret, namespace):
    cid = create(ApiClient(secret))

    at_once(lambda: add(ApiClient(secret), cid, namespace=namespace), times=6)

    assert (Session.objects.count(), WorkingMemory.objects.filter(session=Session.objects.get()).count()) == (1, 6)
    assert list(check()) == []


def test_a_session_of_nobody_goes_to_one_user_with_all_its_messages(secret):
    cid, names = create(ApiClient(secret)), count()
    ApiClient(secret).post(f"/{cid}/memories/sessions", {"session_id": "s1"})

    at_once(lambda: add(ApiClient(secret), cid, namespace={"session_id": "s1", **({"user_id": "bob"} if next(names) % 2 else {})}), times=6)

    assert Session.objects.get().subject.user_id == "bob"
    assert set(WorkingMemory.objects.values_list("subject__user_id", flat=True)) == {"bob"}
    assert list(check()) == []


def test_changes_and_deletions_of_one_memory_leave_the_counters_right(secret):
    cid, turns = create(ApiClient(secret)), count()
    paths = [long_term(ApiClient(secret), cid), working(ApiClient(secret), cid)]

    def change() -> int:
        turn, api = next(turns), ApiClient(secret)
        path = paths[turn % 2]
        if turn >= 6:
            return api.delete(path).status_code
        return api.put(path, {"memory": f"likes tea {turn}" * (turn + 1), "messages": [{"role": "u", "content": []}] * turn}).status_code

    assert set(at_once(change, times=8)) <= {200, 404}

    assert not LongTermMemory.objects.exists()
    assert list(check()) == []


@pytest.mark.parametrize("kind", [long_term, working, session])
def test_of_several_deletions_of_one_memory_one_deletes_and_the_others_find_nothing(secret, kind):
    path = kind(ApiClient(secret), create(ApiClient(secret)))

    told = at_once(lambda: ApiClient(secret).delete(path).status_code, times=6)

    assert sorted(told) == [200] + [404] * 5


def test_of_several_containers_with_one_id_one_is_made(secret):
    body = {"name": "bot", "memory_container_id": "bot-1"}

    told = at_once(lambda: ApiClient(secret).post("/_create", body).status_code, times=6)

    assert sorted(told) == [200] + [409] * 5


def test_of_several_containers_that_would_share_an_index_those_with_another_model_are_refused(secret):
    numbers = count(2)

    def make() -> int:
        model = {"embedding_model_id": f"e{next(numbers)}", "embedding_model_type": "SPARSE_ENCODING"}
        return ApiClient(secret).post("/_create", {"name": "bot", "configuration": {**THINKING, **model}}).status_code

    assert sorted(at_once(make, times=6)) == [200] + [400] * 5


def test_of_several_changes_to_models_that_contradict_each_other_one_is_made(secret):
    numbers, places = count(2), count()
    made = [create(ApiClient(secret), index_prefix="shared") for _ in range(4)]

    def change() -> int:
        model = {"embedding_model_id": f"e{next(numbers)}", "embedding_model_type": "SPARSE_ENCODING"}
        return ApiClient(secret).put(f"/{made[next(places)]}", {"configuration": {**THINKING, **model}}).status_code

    assert sorted(at_once(change, times=4)) == [200] + [400] * 3


def test_i17_of_several_who_start_the_job_one_does_and_the_others_are_told_that_it_runs(secret):
    switch_on()

    told = at_once(lambda: ApiClient(secret).post("/_retention/_execute"), times=6)

    assert {answer.status_code for answer in told} == {200}
    answers = sorted((body["status"], body["triggered"], body["acknowledged"]) for body in (answer.json() for answer in told))
    assert answers == [("already_running", False, False)] * 5 + [("triggered", True, True)]
    assert Job.objects.filter(kind="nightly").count() == 1
