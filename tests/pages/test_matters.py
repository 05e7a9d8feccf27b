"""What the overview says needs an eye leads to what it tells of, and nobody is led to where they may not go."""

import re
from datetime import timedelta

import pytest
from django.urls import reverse

from memadmin.access.roles import Role
from memadmin.erasure.models import ErasureRequest
from memadmin.jobs.models import Job, JobState
from memadmin.lifecycle import planning
from memadmin.lifecycle.models import Run, RunState, Trigger
from memadmin.pages import urls
from memadmin.pages.matters import RIGHT_OF, matters_of
from memadmin.store import configuration, pinning, policies
from memadmin.store.models import LongTermMemory
from retention.policy import parse_policy
from tests.erasure.papers import a_request
from tests.factories import ACTOR, NOON, a_memory, a_pin, make_container, store
from tests.people import a_browser_of, make_person
from tests.runs import a_policy, carry_out, governed, preview

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


def test_a_container_whose_last_run_failed_is_named_until_one_succeeds_and_pins_past_a_limit_stay_told():
    container = governed(a_policy(long_term={"retention_days": 9}))
    store(container, a_memory("pinned", days_old=90, pin=a_pin()), a_memory("old", days_old=90))
    preview(container)
    failed = preview(container)
    Run.objects.filter(pk=failed.pk).update(state=RunState.FAILED, planned=0, totals={}, error_code="InvalidPolicy")
    person = make_person(Role.POLICY_EDITOR)

    said = {each.sentence: [way.words for way in each.ways] for each in matters_of(person, now=NOON)}
    carry_out(preview(container))
    later = [each.sentence for each in matters_of(person, now=NOON)]

    alarm = "The last run failed in 1 of the containers. What is past a limit there stays until one succeeds."
    assert said[alarm] == [f"Run {failed.number}"]
    assert any(sentence.startswith("Past a limit and kept by a pin or a hold") and sentence.endswith(": 1.") for sentence in said)
    assert alarm not in later


def test_a_run_that_failed_before_it_named_anything_does_not_say_that_nothing_would_go():
    run = preview(governed(a_policy(long_term={"retention_days": 9})))
    Run.objects.filter(pk=run.pk).update(state=RunState.FAILED, planned=0, totals={}, error_code="InvalidPolicy")

    page = a_browser_of(Role.POLICY_EDITOR).get(reverse("pages:run-detail", args=[run.number])).content.decode()

    assert "It stopped before it had named anything: the policy says something that this program does not know." in page
    assert "nobody can say from here what would go" in page
    assert "nothing would go" not in page.lower()
