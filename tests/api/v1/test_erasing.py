"""Requests of people over the API: an application takes them in and follows them."""

import json
from typing import Any

import pytest
from django.utils import timezone

from memadmin.access.actors import actor_of
from memadmin.access.models import ApiToken, Person
from memadmin.access.roles import Role
from memadmin.access.scopes import Scope
from memadmin.audit.models import AuditEntry
from memadmin.erasure.execution import steps
from memadmin.erasure.models import ErasureRequest
from memadmin.jobs.models import Job
from memadmin.store.models import LongTermMemory, WorkingMemory
from tests.erasure.workflow import approved, officer, opened
from tests.factories import a_memory, a_message, a_session, make_container, make_memory, make_session, store
from tests.people import make_person
from tests.tokens import ApiClient, api_of, make_token

pytestmark = pytest.mark.django_db
PATH = "/api/v1/erasure-requests"


def test_a_request_is_taken_in_once_and_followed_and_erases_nothing():
    store(make_container(), a_memory(), a_memory(user_id="Ann"))
    api = api_of(all_access=True)

    first = api.post(PATH, {"user_id": "ann", "vouched": True}, **{"Idempotency-Key": "k1"})
    again = api.post(PATH, {"user_id": "ann", "vouched": True}, **{"Idempotency-Key": "k1"})

    body = json.loads(first.content)
    assert (first.status_code, body["users"], body["look_alikes"], body["verified"]) == (201, 1, 1, True)
    assert json.loads(again.content)["number"] == body["number"]
    assert json.loads(api.get(f"{PATH}/{body['number']}").content)["state"] == "received"
    assert ErasureRequest.objects.count() == 1
    assert LongTermMemory.objects.count() == 2
    assert "ann" not in first.content.decode().lower()


@pytest.mark.parametrize("user_id", ["*", "%", "   ", ""])
def test_F03_a_wildcard_names_nobody(user_id: str):
    make_container()

    assert api_of(all_access=True).post(PATH, {"user_id": user_id}).status_code == 400
    assert not ErasureRequest.objects.exists()


def test_55_a_token_without_the_scope_or_without_all_access_is_refused():
    store(make_container(), a_memory())

    assert api_of(scopes=[Scope.MEMORY_READ], all_access=True).post(PATH, {"user_id": "ann"}).status_code == 403
    assert api_of(all_access=False).post(PATH, {"user_id": "ann"}).status_code == 403


def test_55_a_request_about_other_containers_is_not_there():
    ours, theirs = make_container("ours"), make_container("theirs")
    store(theirs, a_memory())
    number = json.loads(api_of(all_access=True).post(PATH, {"user_id": "ann"}).content)["number"]

    assert api_of("otto", containers=[ours], all_access=True).get(f"{PATH}/{number}").status_code == 404


def a_token_made_by(person: Person, **details: Any) -> ApiClient:
    token, secret = make_token(all_access=True, **details)
    ApiToken.objects.filter(pk=token.pk).update(created_by=actor_of(person))
    return ApiClient(secret)


def test_a_stalled_erasure_goes_on_for_a_maker_who_may_review():
    store(make_container(), a_memory(), now=timezone.now())
    request = opened(now=timezone.now())
    approved(request, now=timezone.now())
    steps.begin_approved(now=timezone.now())
    ErasureRequest.objects.update(state="stalled", error_code="LedgerUnusable")
    Job.objects.filter(kind=steps.EXECUTE).update(state="failed", finished_at=timezone.now())
    address = f"{PATH}/{request.number}/go-on"

    assert a_token_made_by(make_person(Role.AUDITOR, login="ada")).post(address, {}).status_code == 403
    assert a_token_made_by(officer(), scopes=[Scope.ERASURE_INTAKE]).post(address, {}).status_code == 403
    answer = a_token_made_by(officer()).post(address, {})
    again = a_token_made_by(officer()).post(address, {})

    assert (answer.status_code, json.loads(answer.content)["state"]) == (202, "executing")
    assert again.status_code == 409
    assert AuditEntry.objects.filter(action="erasure.goes_on", outcome="refused").exists()


def refused(api, body):
    answer = api.post(PATH, body)
    assert not ErasureRequest.objects.exists()
    return answer.status_code, json.loads(answer.content)["errors"][0]["detail"]


@pytest.mark.parametrize(
    ("kind", "named"), [("erase_memory", "memory"), ("erase_session", "session"), ("erase_message", "message"), ("erase_topic", "memory")]
)
def test_single_items_are_taken_in_by_uid(kind: str, named: str):
    container = make_container()
    session, memory = make_session(container, messages=1), make_memory(container)
    uids = {"memory": memory.uid, "session": session.uid, "message": WorkingMemory.objects.get().uid}

    answer = api_of(all_access=True).post(PATH, {"kind": kind, "items": [{"type": named, "uid": str(uids[named])}]})

    assert (answer.status_code, json.loads(answer.content)["items"]) == (201, 1)
    assert ErasureRequest.objects.get().items.get().item_uid == uids[named]


def test_a_topic_becomes_the_items_that_have_its_words_now():
    container = make_container(external_id="c1")
    mine = make_memory(container, "is Pregnant since May")
    make_memory(container, "is pregnant", user_id="bob")
    store(container, a_session("s-2"), a_message("I am PREGNANT, é", session_ref="s-2"), a_message("hello", session_ref="s-2"))
    topic = {"words": "pregnant", "container": "c1", "user_id": "ann"}

    answer = api_of(all_access=True).post(PATH, {"kind": "erase_topic", "topic": topic})
    make_memory(container, "pregnant again")

    request = ErasureRequest.objects.get()
    said = WorkingMemory.objects.order_by("pk")[0]
    assert answer.status_code == 201
    assert set(request.items.values_list("item_uid", flat=True)) == {mine.uid, said.uid}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"kind": "erase_memory", "user_id": "ann"}, "names items"),
        ({"kind": "erase_subject", "items": [{"type": "memory", "uid": "00000000-0000-0000-0000-000000000000"}]}, "names user_id"),
        ({"kind": "erase_memory"}, "Give items"),
        ({"kind": "erase_topic"}, "Give items or topic"),
        ({"kind": "storage_limit", "items": []}, "is not one of: erase_subject"),
        ({"kind": "erase_memory", "items": []}, "at least 1"),
        ({"kind": "erase_memory", "items": [{"type": "memory", "uid": "x"}]}, "valid UUID"),
        ({"user_id": "ann", "aliases": ["x"] * 51}, "no more than 50"),
        ({"kind": "erase_topic", "topic": {"words": "tea", "container": "elsewhere"}}, "no such container"),
        ({"kind": "erase_topic", "topic": {"words": "tea", "container": "c1", "user_id": "eve"}}, "no such user"),
        ({"user_id": "ann", "received_on": "yesterday"}, "wrong format"),
    ],
)
def test_what_does_not_fit_is_refused_by_field(body: dict[str, object], words: str):
    make_container(external_id="c1")

    status, detail = refused(api_of(all_access=True), body)

    assert (status, words in detail) == (400, True), detail


def test_F21_an_id_of_something_else_is_no_memory():
    session = make_session(make_container())
    api = api_of(all_access=True)

    named_wrong = refused(api, {"kind": "erase_memory", "items": [{"type": "memory", "uid": str(session.uid)}]})
    wrong_kind = refused(api, {"kind": "erase_memory", "items": [{"type": "session", "uid": str(session.uid)}]})

    assert (named_wrong[0], wrong_kind[0]) == (422, 422)
    assert "There is no long-term memory" in named_wrong[1]


def test_55_items_of_other_containers_do_not_exist_for_a_token():
    ours, theirs = make_container("ours"), make_container("theirs")
    memory = make_memory(theirs)

    status, _ = refused(
        api_of("otto", containers=[ours], all_access=True), {"kind": "erase_memory", "items": [{"type": "memory", "uid": str(memory.uid)}]}
    )

    assert status == 422


def test_a_person_can_be_restricted_on_receipt():
    store(make_container(), a_memory())

    answer = api_of(all_access=True).post(PATH, {"user_id": "ann", "freeze": True})

    assert answer.status_code == 201
    assert LongTermMemory.objects.get().restricted


def test_a_request_about_a_user_whom_nobody_knows_is_followed_by_who_opened_it():
    make_container("theirs")
    own, other = (api_of(all_access=True, containers=[make_container(name)]) for name in ("a", "b"))

    number = json.loads(own.post(PATH, {"user_id": "nobody"}).content)["number"]

    assert [api.get(f"{PATH}/{number}").status_code for api in (own, api_of(all_access=True), other)] == [200, 200, 404]


def test_a_refused_going_on_is_in_the_log_also_with_a_key():
    store(make_container(), a_memory())
    request = opened()

    answer = a_token_made_by(officer()).post(f"{PATH}/{request.number}/go-on", {}, **{"Idempotency-Key": "k1"})

    assert answer.status_code == 409
    assert AuditEntry.objects.filter(action="erasure.goes_on", outcome="refused").count() == 1
