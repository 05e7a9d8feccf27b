"""Exports for people over the API: made and followed, without their link."""

import json
from datetime import datetime

import pytest
from django.utils import timezone

from memadmin.access.scopes import Scope
from memadmin.api.models import KeyedCall
from memadmin.audit.actions import Action
from memadmin.audit.models import AuditEntry, Outcome
from memadmin.erasure.access_exports import handing
from memadmin.erasure.models import AccessExport, ErasureRequest, Kind
from memadmin.jobs.models import Job
from memadmin.jobs.runner import run_inline
from tests.erasure.workflow import discovered, opened
from tests.factories import ACTOR, a_memory, make_container, store
from tests.tokens import api_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def now() -> datetime:
    """Programs ask at the real time, and a search may be a week old."""
    return timezone.now()


def path_of(request: ErasureRequest) -> str:
    return f"/api/v1/erasure-requests/{request.number}/access-export"


def in_review(now: datetime) -> ErasureRequest:
    store(make_container(), a_memory("canary likes tea"))
    request = opened(kind=Kind.ACCESS, now=now)
    discovered(request, now=now)
    return request


def test_a_program_makes_an_export_and_follows_it_and_never_sees_its_code(now: datetime):
    request, api = in_review(now), api_of(all_access=True)
    assert api.get(path_of(request)).status_code == 404

    begun = api.post(path_of(request), {})
    run_inline(Job.objects.get(target=str(AccessExport.objects.get())))
    _, code = handing.hand_out(request, actor=ACTOR, now=now)
    followed = api.get(path_of(request))

    assert (begun.status_code, json.loads(begun.content)["state"]) == (202, "building")
    body = json.loads(followed.content)
    assert (body["state"], body["included"]["store.long_term"]) == ("handed_out", 1)
    assert code not in followed.content.decode()
    assert "canary" not in followed.content.decode()


def test_what_is_missing_is_said(now: datetime):
    store(make_container(), a_memory())
    request = opened(kind=Kind.ACCESS, now=now)

    answer = api_of(all_access=True).post(path_of(request), {})

    assert answer.status_code == 422
    assert json.loads(answer.content)["errors"][0]["code"] == "not_exportable"


def test_a_program_needs_the_scope_and_all_access(now: datetime):
    request = in_review(now)

    assert api_of(scopes=[Scope.ERASURE_INTAKE], all_access=True).post(path_of(request), {}).status_code == 403
    assert api_of(scopes=[Scope.ERASURE_EXPORT]).post(path_of(request), {}).status_code == 403
    assert not AccessExport.objects.exists()


def test_with_a_key_it_is_made_once(now: datetime):
    request, api = in_review(now), api_of(all_access=True)

    answers = [api.post(path_of(request), {}, **{"Idempotency-Key": "k1"}) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [202, 202]
    assert answers[0].content == answers[1].content
    assert AccessExport.objects.count() == 1


@pytest.mark.parametrize("headers", [{}, {"Idempotency-Key": "k1"}])
def test_a_refusal_is_in_the_log_with_a_key_and_without(now: datetime, headers: dict[str, str]):
    store(make_container(), a_memory())
    request = opened(kind=Kind.ACCESS, now=now)

    answer = api_of(all_access=True).post(path_of(request), {}, **headers)

    assert answer.status_code == 422
    assert AuditEntry.objects.get(action=Action.ACCESS_EXPORT_STARTED).outcome == Outcome.REFUSED
    assert not KeyedCall.objects.exists()


def test_fields_that_nobody_knows_are_refused(now: datetime):
    assert api_of(all_access=True).post(path_of(in_review(now)), {"link": True}).status_code == 400
