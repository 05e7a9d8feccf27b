"""Several requests at the same moment."""

from itertools import count

import pytest

from memadmin.store.check import check
from memadmin.store.models import LongTermMemory, Session, WorkingMemory
from tests.bots import add, create, long_term, working
from tests.jobs.at_once import at_once
from tests.tokens import ApiClient, make_token

pytestmark = pytest.mark.django_db(transaction=True)


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
