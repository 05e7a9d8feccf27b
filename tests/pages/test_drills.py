"""The pages of drills: who may start one, following it, and its report."""

import pytest
from django.test import Client
from django.urls import reverse

from memadmin.access.roles import Role
from memadmin.erasure.drills import running
from memadmin.erasure.models import Drill, DrillState
from memadmin.jobs.models import Job
from memadmin.store import configuration
from tests.factories import ACTOR, NOON
from tests.people import HTMX, a_browser_of

pytestmark = pytest.mark.django_db
START = "/erasure/drills/start/"


@pytest.fixture
def cora() -> Client:
    return a_browser_of(Role.COMPLIANCE, login="cora")


def a_drill(**values: object) -> Drill:
    drill = Drill.objects.create(requested_by=ACTOR, started_at=NOON, **values)
    drill.places.create(location="store.long_term", planted=1, found=1, erased=0, left=1)
    return drill


@pytest.mark.parametrize(("role", "code"), [(Role.COMPLIANCE, 302), (Role.ADMINISTRATOR, 302), (Role.AUDITOR, 403), (Role.SUPPORT, 403)])
def test_compliance_and_administrators_start_drills(role: Role, code: int):
    answer = a_browser_of(role, login=role.value).post(START)

    assert answer.status_code == code
    assert Job.objects.filter(kind=running.DRILL).count() == Drill.objects.count() == (code == 302)


def test_a_drill_is_started_by_a_post_alone_and_one_at_a_time(cora: Client):
    assert cora.get(START).status_code == 405
    assert cora.post(START).status_code == 302

    again = cora.post(START)

    assert again.status_code == 409
    assert "under way" in again.content.decode()
    assert Drill.objects.count() == 1


def test_while_all_erasures_are_stopped_no_drill_begins(cora: Client):
    configuration.change("erasure_paused", True, actor=ACTOR, now=NOON)

    answer = cora.post(START)

    assert answer.status_code == 409
    assert not Drill.objects.exists()


def test_a_drill_under_way_is_followed_and_its_part_is_for_htmx(cora: Client):
    address = reverse("pages:erasure-drill", args=[a_drill().uid])

    page, part = cora.get(address).content.decode(), cora.get(address, headers=HTMX).content.decode()

    assert "Step 1 of 6" in page
    assert 'hx-trigger="every 2s"' in part
    assert "<html" not in part


def test_a_failed_drill_names_what_was_not_as_it_should_be(cora: Client):
    codes = ["not_erased.store.long_term", "neighbour_changed", "traces_left"]
    drill = a_drill(state=DrillState.FAILED, ended_at=NOON, failures=codes, neighbour_same=False, traces_before=9, traces_after=2)

    page = cora.get(reverse("pages:erasure-drill", args=[drill.uid])).content.decode()

    assert "Long-term memories: planted, and not erased" in page
    for shown in ("has changed", "2 times after", "still there", "failed"):
        assert shown in page
    assert "hx-trigger" not in page


def test_auditors_read_the_history_of_drills(cora: Client):
    drill = a_drill(state=DrillState.PASSED, ended_at=NOON, tidied=True)
    ada = a_browser_of(Role.AUDITOR, login="ada")

    page = ada.get(reverse("pages:erasure-drills")).content.decode()

    assert str(drill.uid) in page
    assert "passed" in page
    assert "Start a drill" not in page
