"""What people do with requests on pages, shared by the tests of those."""

from typing import Any

from django.test import Client
from django.urls import reverse

from memadmin.access.roles import Role
from memadmin.erasure import discovery, grounds
from memadmin.erasure.models import ErasureRequest, Ground, Kind, Manifest
from memadmin.jobs.models import Job
from memadmin.jobs.runner import run_inline
from memadmin.store.models import LongTermMemory
from tests.factories import subject_of
from tests.people import PASSWORD, make_person

DETAILS = {"kind": "erase_subject", "ground": "17_1_b", "profile": "gdpr", "identity": "1"}


def signed_in(login: str, *roles: Role) -> Client:
    """Sign in by the form, so that the password was given just now."""
    make_person(*roles, login=login)
    browser = Client()
    browser.post(reverse("pages:login"), {"login": login, "password": PASSWORD})
    return browser


def taken_in(browser: Client, user_id: str = "ann", **details: str) -> ErasureRequest:
    subject = subject_of(LongTermMemory.objects.first().container, user_id)  # type: ignore[union-attr]
    ground = grounds.usual_for(Kind(details.get("kind", Kind.SUBJECT))) or Ground.OTHER
    body = {**DETAILS, "ground": ground.value, "user_id": user_id, "shown": str(subject.uid), "tick": str(subject.uid), **details}
    assert browser.post(reverse("pages:erasure-open"), body).status_code == 302
    return ErasureRequest.objects.latest("number")


def do(browser: Client, name: str, request: ErasureRequest, **body: Any) -> Any:
    answer = browser.post(reverse(f"pages:erasure-{name}", args=[request.uid]), body)
    request.refresh_from_db()
    return answer


def look(browser: Client, request: ErasureRequest) -> None:
    assert do(browser, "discover", request).status_code == 302
    run_inline(Job.objects.get(target=discovery.job_target(Manifest.objects.latest("pk"))))
    request.refresh_from_db()
