"""The reason of a pin is text about a person: what may stand in it, and who reads it where."""

import html
from datetime import timedelta

import pytest
from django.urls import reverse

from memadmin.access.roles import Role
from memadmin.store import pinning
from memadmin.store.models import Pin
from tests.factories import ACTOR, NOON, make_container, make_memory, make_session
from tests.people import a_browser_of, auditor, editor, support

pytestmark = pytest.mark.django_db
INVISIBLE = ["\u200b", "\u2060\u00ad", "\u3164", "\u2800", "\u00a0\u3000", "\u202e", "\u115f\u1160", "\u0301", "\ufe0f"]


@pytest.fixture(autouse=True)
def _at_noon(time_machine):
    time_machine.move_to(NOON, tick=False)


def url(view, *args):
    return reverse(f"pages:{view}", args=args)


def text_of(response):
    return html.unescape(response.content.decode())


@pytest.mark.parametrize("reason", INVISIBLE)
def test_a_reason_that_nobody_can_see_is_refused(reason):
    memory = make_memory(make_container())

    response = support().post(url("memory-pin", memory.uid), {"reason": reason})

    assert response.status_code == 422
    assert "Say why this is to be kept" in text_of(response)
    assert not Pin.objects.exists()
    with pytest.raises(pinning.NoReason):
        pinning.pin(memory, reason=reason, actor=ACTOR, now=NOON)


@pytest.mark.parametrize("reason", ["лекарство", "薬", "💊", "!", "e\u0301", "دواء"])
def test_a_reason_in_any_script_is_one(reason):
    memory = make_memory(make_container())

    support().post(url("memory-pin", memory.uid), {"reason": reason})

    assert Pin.objects.get().reason == reason


@pytest.mark.parametrize("view", ["memory-pin", "session-pin"])
def test_a_day_of_review_that_has_passed_is_refused_with_what_to_do(view):
    container = make_container()
    item = make_memory(container) if view == "memory-pin" else make_session(container)
    client = support()

    late = client.post(url(view, item.uid), {"reason": "allergy", "review_on": (NOON - timedelta(days=1)).date().isoformat()})
    assert not Pin.objects.exists()
    client.post(url(view, item.uid), {"reason": "allergy", "review_on": NOON.date().isoformat()})

    assert late.status_code == 422
    assert "28 Feb 2026 has passed. Choose today or a later day, or leave it empty." in text_of(late)
    assert Pin.objects.get().review_on == NOON.date()


def test_the_audit_page_shows_reasons_to_those_who_may_read_texts_and_to_nobody_else():
    container = make_container()
    memory, session = make_memory(container), make_session(container)
    for item in (memory, session):
        pinning.pin(item, reason="the canary is allergic", actor=ACTOR, now=NOON)
        pinning.unpin(item, actor=ACTOR, now=NOON)
    officer = a_browser_of(Role.COMPLIANCE, login="cora")

    open_page, closed_page = text_of(officer.get(url("audit-list"))), text_of(auditor().get(url("audit-list")))

    assert open_page.count("the canary is allergic") == 4
    assert "canary" not in closed_page
    assert closed_page.count("a reason was given, which is closed to you") == 4


def test_the_audit_page_keeps_reasons_of_containers_closed_that_a_person_may_not_see():
    memory, elsewhere = make_memory(make_container()), make_memory(make_container("other"))
    pinning.pin(memory, reason="seen here", actor=ACTOR, now=NOON)
    pinning.pin(elsewhere, reason="the canary", actor=ACTOR, now=NOON)
    officer = a_browser_of(Role.COMPLIANCE, login="cora", containers=[memory.container])

    page = text_of(officer.get(url("audit-list")))

    assert "seen here" in page
    assert "canary" not in page


def test_a_policy_editor_sees_that_something_is_pinned_and_not_why():
    container = make_container()
    memory, session = make_memory(container), make_session(container)
    for item in (memory, session):
        pinning.pin(item, reason="the canary is allergic", actor=ACTOR, now=NOON)

    for page in (url("memory-detail", memory.uid), url("session-detail", session.uid)):
        shown = text_of(editor().get(page)) if page.startswith("/memories") else text_of(a_browser_of(Role.POLICY_EDITOR).get(page))
        assert "with a reason that is closed to you" in shown
        assert "canary" not in shown
