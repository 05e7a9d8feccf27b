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
from memadmin.store.models import LongTermMemory
from tests.erasure.workflow import approved, officer, opened
from tests.factories import a_memory, make_container, store
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
