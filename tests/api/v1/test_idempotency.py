import inspect
import threading
import uuid

import pytest
import time_machine
from django.db import connection

from memadmin.api.models import KeyedCall
from memadmin.api.v1 import urls
from memadmin.store.models import HistoryEntry, LongTermMemory, Pin
from tests.api.v1.calls import caller_of, problem, said
from tests.factories import a_pin, make_container, make_memory
from tests.runs import a_policy, governed

ONE = "/containers/c1"
BODY = {"user_id": "ann", "text": "likes tea"}


@pytest.fixture
def api(db):
    return caller_of("ana")


@pytest.fixture
def container(db):
    return make_container(external_id="c1", owner={"name": "ana"})


def test_a_write_that_is_sent_again_is_done_once_and_answered_the_same(api, container):
    first = api.post(f"{ONE}/memories", BODY, Idempotency_Key="k1")
    second = api.post(f"{ONE}/memories", BODY, Idempotency_Key="k1")

    assert said(first, 201)["uid"] == said(second, 201)["uid"]
    assert "Idempotency-Replayed" not in first.headers
    assert second.headers["Idempotency-Replayed"] == "true"
    assert LongTermMemory.objects.count() == 1
    assert "tea" not in str(KeyedCall.objects.values())


def test_a_key_is_for_one_request_of_one_token(api, container):
    api.post(f"{ONE}/memories", BODY, Idempotency_Key="k1")

    other_body = api.post(f"{ONE}/memories", {**BODY, "text": "likes milk"}, Idempotency_Key="k1")
    other_token = caller_of("ana").post(f"{ONE}/memories", BODY, Idempotency_Key="k1")

    assert problem(other_body)[:2] == (422, "idempotency_key_reused")
    assert other_token.status_code == 201
    assert LongTermMemory.objects.count() == 2


def test_a_refused_write_may_be_sent_again_under_its_key(api, container):
    memory = make_memory(container, owner="ana")
    path = f"{ONE}/memories/{memory.uid}"

    assert api.call("PATCH", path, {"revision": 9, "text": "x"}, Idempotency_Key="k1").status_code == 409
    assert KeyedCall.objects.count() == 0
    assert api.call("PATCH", path, {"revision": 1, "text": "x"}, Idempotency_Key="k1").status_code == 200
    assert api.call("PATCH", path, {"revision": 1, "text": "x"}, Idempotency_Key="k1").status_code == 200


def test_pins_and_runs_take_keys_too(container):
    governed(a_policy(relevance={"max_records": 1}), "second", external_id="c2")
    root = caller_of("root", all_access=True)
    memory = make_memory(container)

    pins = [root.call("PUT", f"{ONE}/memories/{memory.uid}/pin", {"reason": "x"}, Idempotency_Key="p") for _ in range(2)]
    runs = [said(root.post("/containers/c2/runs", {}, Idempotency_Key="r"), 201)["number"] for _ in range(2)]

    assert [answer.status_code for answer in pins] == [200, 200]
    assert Pin.objects.count() == 1
    assert runs[0] == runs[1]


def test_a_key_is_forgotten_after_a_day(api, container):
    with time_machine.travel("2026-03-01T12:00:00Z", tick=False):
        api.post(f"{ONE}/memories", BODY, Idempotency_Key="k1")
    with time_machine.travel("2026-03-02T12:00:01Z", tick=False):
        answer = api.post(f"{ONE}/memories", BODY, Idempotency_Key="k1")

    assert "Idempotency-Replayed" not in answer.headers
    assert LongTermMemory.objects.count() == 2


def test_a_key_that_is_none_is_refused(api, container):
    assert problem(api.post(f"{ONE}/memories", BODY, Idempotency_Key="k" * 201))[::2] == (400, "Idempotency-Key")


@pytest.mark.django_db(transaction=True)
def test_two_at_once_under_one_key_store_one_memory():
    make_container(external_id="c1", owner={"name": "ana"})
    api = caller_of("ana")
    answers = []

    def send():
        answers.append(api.post(f"{ONE}/memories", BODY, Idempotency_Key="k1"))
        connection.close()

    senders = [threading.Thread(target=send) for _ in range(4)]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()

    assert [answer.status_code for answer in answers] == [201] * 4
    assert LongTermMemory.objects.count() == 1


@pytest.mark.django_db
def test_a_deletion_and_an_unpinning_with_a_key_are_answered_the_same_again():
    container = make_container(external_id="c1", owner={"name": "ana"})
    memory = make_memory(container, owner="ana", pin=a_pin())
    api, one = caller_of("ana"), f"/containers/c1/memories/{memory.uid}"

    unpinned = [api.call("DELETE", f"{one}/pin", Idempotency_Key="u").status_code for _ in range(2)]
    deleted = [api.call("DELETE", one, Idempotency_Key="d").status_code for _ in range(2)]

    assert (unpinned, deleted) == ([200, 200], [204, 204])
    assert api.call("DELETE", one).status_code == 404


@pytest.mark.django_db
def test_what_has_gone_since_is_not_there_when_its_write_is_sent_again(api, container):
    root = caller_of("root", all_access=True)
    seen = {"memory_uid": str(uuid.uuid4()), "action": "ADD", "after": {"memory": "x"}}
    hook = {"url": "https://hooks.example.org/x", "events": ["run.finished"]}
    said(api.post(f"{ONE}/history", seen, Idempotency_Key="h"), 201)
    subscription = said(root.post("/webhooks", hook, Idempotency_Key="w"), 201)
    HistoryEntry.objects.all()._raw_delete(connection.alias)
    root.call("DELETE", f"/webhooks/{subscription['uid']}")

    again = [api.post(f"{ONE}/history", seen, Idempotency_Key="h"), root.post("/webhooks", hook, Idempotency_Key="w")]

    assert [problem(answer)[:2] for answer in again] == [(404, "not_found")] * 2


def test_every_write_that_is_said_to_take_a_key_does():
    described = [
        (pattern, method)
        for pattern in urls.urlpatterns
        for method in {"POST", "PUT", "PATCH", "DELETE"} & pattern.callback.scopes.keys()
        if pattern.callback.cls.answers_once and pattern.callback.cls.schema
    ]

    deaf = [
        str(each.pattern)
        for each, method in described
        if "answer_once(" not in inspect.getsource(getattr(each.callback.cls, method.lower()))
    ]

    assert (len(described) > 15, deaf) == (True, [])
