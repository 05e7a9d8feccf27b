import re

import pytest
from django.urls import reverse

from memadmin.access.roles import Role
from memadmin.audit.models import AuditEntry
from memadmin.store import quarantine, releasing, suppression
from memadmin.store.models import LongTermMemory, Mode, Returned
from memadmin.store.suppression import Terms
from tests.factories import ACTOR, NOON, a_memory, make_container, store, subject_of
from tests.pages.test_returns import officer, text_of
from tests.people import a_browser_of, auditor, support

pytestmark = pytest.mark.django_db
LIST, DECIDE = reverse("pages:returned-list"), reverse("pages:returned-decide")


@pytest.fixture
def container():
    terms = Terms(mode=Mode.QUARANTINE)
    suppression.suppress_users(["ann", "ben"], container=None, terms=terms, request_ref="erasure/7f0c", actor=ACTOR, now=NOON)
    made = make_container()
    store(made, *(a_memory(f"likes tea {each}", user_id="ben" if each == 59 else "ann") for each in range(60)))
    return made


def waiting():
    return list(quarantine.waiting().order_by("pk").values_list("pk", flat=True))


def post(browser, query="", **given):
    return browser.post(DECIDE + query, given, follow=True)


def answer(page):
    """Return what the question's form sends."""
    return dict(re.findall(r'type="hidden" name="((?!csrf)\w+)" value="([^"]*)"', text_of(page)))


def test_ticked_items_are_asked_about_with_numbers_and_then_let_in_for_one_reason(container):
    browser = officer()

    asked = post(browser, word="let_in", item=waiting()[-3:])
    assert len(waiting()) == 60
    assert asked.request["REQUEST_METHOD"] == "GET"
    assert "3 items of 2 users in 1 container" in text_of(asked)
    assert "Let in 3 items" in text_of(asked)
    done = post(browser, **answer(asked), reason="they agreed")

    assert "3 items were let in." in text_of(done)
    assert LongTermMemory.objects.count() == 3
    assert len(waiting()) == 57
    assert AuditEntry.objects.get(action="arrivals.decided").counts == {"items": 3}


def test_nothing_is_done_without_a_reason_or_a_tick(container):
    browser = officer()

    bare = browser.post(DECIDE, {"word": "drop", "items": waiting()[0], "sure": "yes", "reason": " "})
    none = post(browser, word="drop")
    odd = post(browser, word="burn", item=waiting()[:2])

    assert bare.status_code == 422
    assert "Say why these come back or go" in text_of(bare)
    assert ["Nothing is done" in text_of(each) for each in (none, odd)] == [True, True]
    assert len(waiting()) == 60


def test_all_are_meant_where_that_is_said_with_their_number_and_no_others(container):
    browser = officer()
    listed = text_of(browser.get(LIST))
    assert "All 60 that wait here, not only the ticked ones" in listed
    shown = {name: re.search(rf'name="{name}" value="(\d+)"', listed)[1] for name in ("upto", "told")}

    asked = post(browser, word="drop", all="yes", **shown)
    store(container, a_memory("came after the question", user_id="ann"))
    done = post(browser, **answer(asked), reason="nobody wants them")

    assert "All 60 items of 2 users" in text_of(asked)
    assert "60 items were dropped for good." in text_of(done)
    assert "came after the question" in text_of(done)
    assert len(waiting()) == 1


def test_without_all_a_long_list_loses_the_ticked_alone(container):
    browser = officer()
    ticked = re.findall(r'name="item" value="(\d+)"', text_of(browser.get(LIST)))

    asked = post(browser, word="drop", item=ticked)
    post(browser, **answer(asked), reason="nobody wants them")

    assert len(ticked) == 50
    assert len(waiting()) == 10


def test_more_than_was_said_are_asked_about_again(container):
    browser = officer()

    again = post(browser, word="drop", all="yes", upto=max(waiting()), told=3, sure="yes", reason="so be it")

    assert "All 60 items" in text_of(again)
    assert len(waiting()) == 60


def test_all_of_one_user_or_container_are_those_of_the_list(container):
    other = make_container("other")
    store(other, a_memory("elsewhere", user_id="ben"))
    browser, upto = officer(), max(waiting())
    ben = subject_of(container, "ben")

    of_user = post(browser, f"?user={ben.uid}", word="drop", all="yes", upto=upto, told=9)
    of_container = post(browser, f"?container={other.uid}", word="drop", all="yes", upto=upto, told=9)
    post(browser, f"?user={ben.uid}", **answer(of_user), reason="hers")

    assert "All 1 item of 1 user in 1 container that waits" in text_of(of_user)
    assert "All 1 item of 1 user in 1 container that waits" in text_of(of_container)
    assert len(waiting()) == 60
    assert not Returned.objects.filter(subject__user_id="ben", container=container).exists()


def test_what_somebody_else_decided_meanwhile_is_told_and_not_undone(container):
    browser, keys = officer(), waiting()[:3]
    asked = post(browser, word="drop", item=keys)
    releasing.release(Returned.objects.get(pk=keys[0]), reason="hers", actor="person/other", now=NOON)

    done = post(browser, **answer(asked), reason="nobody wants them")

    assert "2 items were dropped for good." in text_of(done)
    assert "1 item was decided about or sent anew meanwhile" in text_of(done)
    assert LongTermMemory.objects.get().text == "likes tea 0"


def test_what_may_not_be_let_in_stays_and_is_told_with_its_cause(container):
    browser, keys = officer(), waiting()[-2:]
    suppression.suppress_users(["ben"], container=None, terms=Terms(mode=Mode.BLOCK), request_ref="erasure/8a", actor=ACTOR, now=NOON)

    done = post(browser, word="let_in", items=",".join(map(str, keys)), sure="yes", reason="they agreed")

    assert "1 item was let in." in text_of(done)
    assert "1 item stays set aside: what arrives of their users is refused now." in text_of(done)


def test_one_step_takes_a_bounded_number_and_says_what_is_left(container, monkeypatch):
    monkeypatch.setattr("memadmin.pages.returned_review.MOST_AT_ONCE", 40)
    browser = officer()

    asked = post(browser, word="drop", all="yes", upto=max(waiting()), told=60)
    post(browser, **answer(asked), reason="nobody wants them")

    assert "Drop 40 items" in text_of(asked)
    assert "One step takes 40: 20 more are left" in text_of(asked)
    assert len(waiting()) == 20


def test_a_double_answer_acts_once(container):
    browser = officer()
    asked = post(browser, word="drop", item=waiting()[:3])
    given = {**answer(asked), "reason": "nobody wants them"}

    post(browser, **given)
    second = post(browser, **given)

    assert "Nothing is done" in text_of(second)
    assert AuditEntry.objects.filter(action="arrivals.decided").count() == 1


def test_55_items_of_another_container_are_not_decided_about(container):
    mine, other = make_container("mine"), make_container("other")
    store(other, a_memory("not yours", user_id="ben"))
    hidden = Returned.objects.get(container=other)
    browser = a_browser_of(Role.COMPLIANCE, login="eve", containers=[mine])

    for given in ({"items": hidden.pk}, {"all": "yes", "upto": hidden.pk, "told": 99}):
        assert "Nothing is done" in text_of(post(browser, word="drop", sure="yes", reason="x", **given))
    assert "Nothing is done" in text_of(post(browser, f"?container={other.uid}", word="drop", sure="yes", reason="x", items=hidden.pk))
    assert Returned.objects.filter(pk=hidden.pk).exists()


def test_f88_deciding_about_many_is_closed_to_who_may_not_decide_about_one(container):
    given = {"word": "let_in", "items": waiting()[0], "sure": "yes", "reason": "x"}

    for browser in (auditor(), support(), a_browser_of(Role.POLICY_EDITOR, login="pia")):
        assert browser.post(DECIDE, given).status_code == 403
    watcher = a_browser_of(Role.AUDITOR, login="ida")
    assert 'name="word"' not in text_of(watcher.get(LIST))
    assert officer().get(DECIDE).status_code == 405
    assert len(waiting()) == 60
