"""What came again after an erasure and was let in, or waits set aside: told on the inbox, the overview and in the daily alarm."""

import html

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from memadmin.access.roles import Role
from memadmin.erasure import came_again
from memadmin.store import suppression
from memadmin.store.models import Mode, Suppression
from memadmin.store.suppression import Terms
from tests.erasure.test_alarms import sounded
from tests.factories import ACTOR, NOON, a_memory, days, make_container, store, subject_of
from tests.people import a_browser_of, support

pytestmark = pytest.mark.django_db
INBOX, MARKED = reverse("pages:erasure-list"), reverse("pages:marked-list")
FLAG = Terms(mode=Mode.FLAG)


@pytest.fixture
def container():
    """Ann comes under an erased id; Ben says what was erased, and something else."""
    container = make_container()
    suppression.suppress_users(["ann"], container=None, terms=FLAG, request_ref="erasure/7f0c", actor=ACTOR, now=NOON)
    suppression.suppress_texts(["likes rum"], container=container, terms=FLAG, request_ref="erasure/7f0c", actor=ACTOR, now=NOON)
    store(container, a_memory("new here"), a_memory("and again"), a_memory("likes rum", user_id="ben"), a_memory("tea", user_id="ben"))
    store(container, a_memory("of nobody's concern", user_id="cem"))
    return container


def text_of(response):
    return " ".join(html.unescape(response.content.decode()).split())


def page(url, login="cora", **details):
    return text_of(a_browser_of(Role.COMPLIANCE, login=login, **details).get(url))


def test_officers_read_on_the_inbox_and_the_overview_who_came_again_and_was_let_in(container):
    assert "2 users with 3 items came again after an erasure and were let in and marked" in page(INBOX)
    assert "Users who came again after an erasure, were let in and marked: 2." in page("/", login="una")
    assert "let in and marked" not in text_of(support().get("/"))


def test_the_list_leads_to_each_of_them_and_says_why(container):
    listed = page(MARKED)

    ann, ben, cem = (reverse("pages:user-memories", args=[subject_of(container, name).uid]) for name in ("ann", "ben", "cem"))
    assert (ann in listed, ben in listed, cem in listed) == (True, True, False)
    assert "Somebody of this id was erased" in listed
    assert "1 item says what was erased once" in listed


def test_who_does_not_see_the_container_hears_nothing_of_it(container):
    given = {"containers": [make_container("other")]}

    assert "came again" not in page(INBOX, **given)
    assert subject_of(container).user_id not in page(MARKED, login="eve", **given).partition("<main")[2]
    assert support().get(MARKED).status_code == 403


def test_what_waits_set_aside_is_told_on_the_inbox_too(container):
    suppression.suppress_users(["dan"], container=None, terms=Terms(mode=Mode.QUARANTINE), request_ref="erasure/8a", actor=ACTOR, now=NOON)
    store(container, a_memory(user_id="dan"))

    assert "1 item of erased people came again and is set aside" in page(INBOX)


def test_lifting_the_suppression_ends_it(container):
    for each in Suppression.objects.all():
        suppression.lift(each, reason="another person", actor=ACTOR, now=NOON)

    assert "came again" not in page(INBOX)
    assert "Nothing is let in and marked" in page(MARKED, login="una")


def test_the_daily_alarm_names_what_waits_and_who_came_since_yesterday(container):
    suppression.suppress_users(["dan"], container=None, terms=Terms(mode=Mode.QUARANTINE), request_ref="erasure/8a", actor=ACTOR, now=NOON)
    store(container, a_memory(user_id="dan"), a_memory("likes tea too", user_id="dan"))
    now = subject_of(container).stored_at

    first, again = sounded(now), sounded(now + days(2))

    waits = ("arrivals/set_aside", "set_aside", {"users": 1, "items": 2})
    assert first[0] == waits
    assert first[1][:2] == ("arrivals/let_in_marked", "let_in_marked")
    assert again[2:] == [waits]


def test_who_came_again_is_counted_in_two_queries(container):
    with CaptureQueriesContext(connection) as made:
        assert came_again.marked(None).users == 2
    assert len(made) == 2
