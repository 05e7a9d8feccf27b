"""Requests that are nearly due or late: on the overview, in the inbox, in the log once a day, and told to subscribers."""

import json

import pytest
from django.urls import reverse
from django.utils import timezone

from memadmin.access.actors import actor_of
from memadmin.access.roles import Role
from memadmin.audit.models import AuditEntry
from memadmin.erasure import alarms, workflow
from memadmin.jobs import queue
from memadmin.jobs.runner import run_inline
from memadmin.store import suppression
from memadmin.store.models import Mode
from memadmin.store.suppression import Terms
from memadmin.webhooks import telling
from memadmin.webhooks.models import Delivery, Event, Subscription
from tests.erasure.workflow import officer, opened
from tests.factories import ACTOR, NOON, a_memory, days, make_container, store
from tests.people import a_browser_of, support

pytestmark = pytest.mark.django_db


def sounded(now):
    run_inline(queue.enqueue(alarms.ALARM, requested_by="test", now=now), now=now)
    return [(entry.target, entry.reason_code, entry.counts) for entry in AuditEntry.objects.filter(action="erasure.alarm").order_by("seq")]


@pytest.fixture
def container():
    container = make_container()
    store(container, a_memory())
    return container


def test_an_alarm_comes_a_week_before_the_date_and_each_day_after_it(container):
    request = opened()  # received on 1 March, due on 1 April

    assert sounded(NOON + days(23)) == []
    assert sounded(NOON + days(24)) == [(request.target, "due_soon", {"days_left": 7, "days_late": 0})]
    assert sounded(NOON + days(33))[1:] == [(request.target, "late", {"days_left": 0, "days_late": 2})]


@pytest.mark.django_db(transaction=True)
def test_19_an_alarm_sounds_in_a_job_that_is_in_no_other_transaction():
    store(make_container(), a_memory())
    request = opened()

    assert sounded(NOON + days(24)) == [(request.target, "due_soon", {"days_left": 7, "days_late": 0})]


def test_neither_what_has_ended_nor_what_stands_sounds_one(container):
    actor = actor_of(officer())
    ended, standing = opened(), opened(identity=None)
    workflow.cancel(ended, actor=actor, now=NOON)
    workflow.pause(standing, actor=actor, now=NOON)

    assert sounded(NOON + days(60)) == []


def test_the_overview_and_the_inbox_say_what_is_late_and_what_is_near(container):
    now = timezone.now()
    opened(now=now - days(60))
    opened(now=now - days(25))
    opened(now=now)
    lea = a_browser_of(Role.COMPLIANCE, login="lea")

    overview = lea.get(reverse("pages:overview")).content.decode()
    inbox = lea.get(reverse("pages:erasure-list"), {"show": "late"}).content.decode()

    assert "Requests of people past their date: 1." in overview
    assert "Requests of people due within a week: 1." in overview
    assert ("Request 1" in inbox, "Request 2" in inbox, "Request 3" in inbox) == (True, True, False)
    assert inbox.count("<progress") == 2
    assert "past their date" not in support().get(reverse("pages:overview")).content.decode()


def test_subscribers_of_its_containers_are_told_by_number_and_without_a_name(container):
    elsewhere = make_container("elsewhere")
    request = opened()
    told, others = (_subscription([each]) for each in (container, elsewhere))
    sounded(NOON + days(24))

    made = [telling.tell(each, now=NOON + days(24)) for each in (told, others)]

    body = json.loads(Delivery.objects.get().body)
    assert made == [1, 0]
    assert (body["event"], body["container"], body["data"]["request"]) == ("erasure.due", str(container.uid), request.number)
    assert "ann" not in Delivery.objects.get().body


def test_subscribers_of_all_containers_are_told_how_many_came_again_and_others_are_not(container):
    for name, mode in (("canary-1", Mode.QUARANTINE), ("canary-2", Mode.FLAG)):
        suppression.suppress_users([name], container=container, terms=Terms(mode=mode), request_ref="erasure/1", actor=ACTOR, now=NOON)
        store(container, a_memory(user_id=name), now=NOON)
    events = [Event.ERASURE_CAME_AGAIN]
    told, of_one, of_others = (_subscription(None, events), _subscription([container], events), _subscription(None))
    sounded(NOON)

    made = [telling.tell(each, now=NOON) for each in (told, of_one, of_others)]

    bodies = [json.loads(body) for body in Delivery.objects.order_by("id").values_list("body", flat=True)]
    assert made == [2, 0, 0]
    assert {(body["event"], body["container"]) for body in bodies} == {("erasure.came_again", None)}
    assert [body["data"] for body in bodies] == [{"what": what, "users": 1, "items": 1} for what in ("set_aside", "let_in_marked")]
    assert "canary" not in json.dumps(bodies)


def _subscription(containers, events=(Event.ERASURE_DUE,)):
    made = Subscription.objects.create(
        **{"url": "https://hooks.example.org", "secret": "s", "events": list(events), "created_by": ACTOR, "created_at": NOON},
        **{"told_to": 0, "all_containers": containers is None},
    )
    made.containers.set(containers or ())
    return made
