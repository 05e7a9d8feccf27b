"""What the overview says needs an eye leads to what it tells of, and nobody is led to where they may not go."""

import re
from datetime import timedelta

import pytest
from django.urls import reverse

from memadmin.access.roles import Role
from memadmin.erasure.models import ErasureRequest
from memadmin.jobs.models import Job, JobState
from memadmin.lifecycle import planning
from memadmin.lifecycle.models import Trigger
from memadmin.pages import urls
from memadmin.pages.matters import RIGHT_OF, matters_of
from memadmin.store import configuration, pinning, policies
from memadmin.store.models import LongTermMemory
from retention.policy import parse_policy
from tests.erasure.papers import a_request
from tests.factories import ACTOR, NOON, a_memory, make_container, store
from tests.people import a_browser_of, make_person

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _at_noon(time_machine):
    time_machine.move_to(NOON, tick=False)


@pytest.fixture
def everything_wrong():
    """Nearly everything that an overview can say: no policy, a pin past a limit, a job that failed, late requests, all off."""
    container = make_container()
    store(container, a_memory("old", days_old=400))
    policy = parse_policy({"retention": {"long-term": {"retention_days": 90, "max_count": None}}})
    configuration.change("retention_enabled", True, actor=ACTOR, now=NOON)
    policies.publish(container, policy, actor=ACTOR, now=NOON, base=None)
    pinning.pin(LongTermMemory.objects.get(), reason="why", actor=ACTOR, now=NOON)
    planning.plan(container, policy, now=NOON, trigger=Trigger.PREVIEW, actor=ACTOR)
    make_container("without")
    for key, value in (("retention_enabled", False), ("multi_tenancy_enabled", True), ("erasure_paused", True)):
        configuration.change(key, value, actor=ACTOR, now=NOON)
    Job.objects.create(
        kind="runs.run", target="runs/1", state=JobState.FAILED, error_code="OSError", created_at=NOON, finished_at=NOON, requested_by=ACTOR
    )
    a_request()
    ErasureRequest.objects.update(due_on=(NOON - timedelta(days=3)).date())


def links_in(page: str) -> list[tuple[str, list[str]]]:
    notices = re.findall(r'<p class="notice[^"]*">(.*?)</p>', page, re.S)
    return [(re.sub(r"<[^>]*>", "", notice).strip(), re.findall(r'<a [^>]*href="([^"]*)"', notice)) for notice in notices]


def test_each_alarm_leads_to_what_it_tells_of(everything_wrong):
    browser = a_browser_of(*Role, login="all")

    said = links_in(browser.get("/").content.decode())

    assert len(said) >= 9
    assert [sentence for sentence, links in said if not links] == []
    for address in {link for _, links in said for link in links}:
        page = browser.get(address)
        assert page.status_code == 200, address
        _, _, place = address.partition("#")
        assert not place or f'id="{place}"' in page.content.decode(), address


@pytest.mark.parametrize("role", Role)
def test_nobody_is_led_to_a_page_that_refuses_them(everything_wrong, role):
    browser = a_browser_of(role, login="one")

    said = links_in(browser.get("/").content.decode())

    assert said
    for address in {link for _, links in said for link in links}:
        assert browser.get(address).status_code == 200, address


def test_a_failed_job_is_named_where_its_alarm_leads(everything_wrong):
    browser = a_browser_of(Role.ADMINISTRATOR, login="ali")

    page = browser.get(reverse("pages:setting-list")).content.decode()

    assert "Jobs that failed in the last 7 days" in page
    assert "runs.run" in page
    assert "OSError" in page


def test_a_late_request_leads_to_the_late_ones_alone(everything_wrong):
    matters = matters_of(make_person(Role.COMPLIANCE), now=NOON)

    late = next(each for each in matters if "past their date" in each.sentence)

    assert [way.address for way in late.ways] == [reverse("pages:erasure-list") + "?show=late"]


def test_the_right_asked_for_a_link_is_the_one_of_its_page():
    wanted = {pattern.name: pattern.callback.required_right for pattern in urls.urlpatterns}

    assert {page: wanted[page] for page in RIGHT_OF} == RIGHT_OF
