import re

import pytest
from django.urls import reverse

from memadmin.access.roles import Role
from memadmin.lifecycle.feedback import Report, match, record
from memadmin.lifecycle.suspects import suspects_of
from memadmin.store import archive
from memadmin.store.models import Archived, Feedback, FeedbackKind, LongTermMemory
from tests.factories import ACTOR, NOON, a_memory, days, make_container, make_memory, store, subject_of
from tests.people import HTMX, a_browser_of, auditor, editor, support
from tests.runs import a_policy, carry_out, governed, preview

pytestmark = pytest.mark.django_db


@pytest.fixture
def container(db, time_machine):
    time_machine.move_to(NOON, tick=False)
    made = governed(a_policy(long_term={"retention_days": 30}))
    store(made, a_memory("canary allergic to penicillin", days_old=40), a_memory("canary likes tea", days_old=41))
    carry_out(preview(made))
    time_machine.move_to(NOON + days(1), tick=False)
    return made


def url(view, uid):
    return reverse(f"pages:{view}", args=[uid])


def sent(browser, container, **said):
    given = {"kind": "forgot", "words": "forgot the penicillin", "noticed_on": "2026-03-02", **said}
    return browser.post(url("feedback-record", subject_of(container).uid), given)


def words_of(answer):
    return re.sub(r"\s+", " ", answer.content.decode())


def a_report(container, words="forgot the penicillin"):
    return record(
        subject_of(container), Report(kind=FeedbackKind.FORGOT, words=words, noticed_at=NOON + days(1)), actor=ACTOR, now=NOON + days(1)
    )


def test_support_records_a_report_and_sees_the_likeliest_eviction_first(container):
    browser = support()

    answer = sent(browser, container)

    made = Feedback.objects.get()
    assert answer.url == url("feedback-detail", made.uid)
    page = words_of(browser.get(answer.url))
    assert page.index("canary allergic to penicillin") < page.index("canary likes tea")
    assert "1 of 3 words" in page
    assert "in the archive" in page


def test_a_person_says_which_eviction_it_was_and_the_page_names_run_policy_and_the_way_back(container):
    browser, made = support(), a_report(container)
    item = Archived.objects.order_by("id").first().uid

    answer = browser.post(url("feedback-match", made.uid), {"item": item}, follow=True)

    page = words_of(answer)
    made.refresh_from_db()
    assert (made.state, made.matched_uid) == ("matched", item)
    assert "It counts for the forgot-something rate under policy version 1." in page
    assert "older than the retention rule keeps" in page
    assert "by somebody with the right to restore" in page
    assert f'action="{url("archived-restore", item)}"' in words_of(editor().get(url("feedback-detail", made.uid)))


def test_after_the_restore_the_report_says_that_it_is_back(container):
    made = a_report(container)
    match(made, suspects_of(made).found[0].uid, actor=ACTOR, now=NOON)
    browser = editor()

    browser.post(url("archived-restore", made.matched_uid), {"sure": "yes"})

    assert LongTermMemory.objects.filter(uid=made.matched_uid).exists()
    assert "It is in the store again." in words_of(browser.get(url("feedback-detail", made.uid)))


def test_a_report_is_set_aside_and_taken_up_again(container):
    browser, made = support(), a_report(container)

    set_aside = words_of(browser.post(url("feedback-set-aside", made.uid), follow=True))
    twice = words_of(browser.post(url("feedback-set-aside", made.uid), follow=True))
    again = words_of(browser.post(url("feedback-reopen", made.uid), follow=True))

    assert "not due to an eviction" in set_aside
    assert "Somebody has decided on this report meanwhile." in twice
    assert "Evicted before it was noticed" in again


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"words": ""}, "Say what the agent forgot"),
        ({"words": "\u200b"}, "Say what the agent forgot"),
        ({"words": "x" * 4_001}, "at most 4000 characters"),
        ({"kind": "hated"}, "Select a valid choice"),
        ({"noticed_on": "2026-13-01"}, "Enter a valid date"),
        ({"noticed_on": "2026-03-09"}, "lies in the future"),
        ({"memory_uid": "nonsense"}, "Enter a valid UUID"),
        ({"memory_uid": "00000000-0000-0000-0000-000000000001"}, "had no memory of this id"),
        ({"session_uid": "00000000-0000-0000-0000-000000000001"}, "had no session of this id"),
    ],
    ids=str,
)
def test_what_cannot_be_recorded_comes_back_with_the_form_as_typed(container, said, words):
    answer = sent(support(), container, **said)

    assert answer.status_code == 422
    assert words in words_of(answer)
    assert "forgot the penicillin" in words_of(answer) or "words" in said
    assert Feedback.objects.count() == 0


def test_a_past_day_counts_to_its_end(container):
    sent(support(), container, noticed_on="2026-03-01")

    made = Feedback.objects.get()
    assert made.noticed_at.isoformat() == "2026-03-01T23:59:59.999999+00:00"
    assert len(suspects_of(made).found) == 2


def test_the_page_of_a_memory_leads_to_a_report_on_it(container):
    memory, browser = make_memory(container, "canary wrong"), support()

    panel = words_of(browser.get(url("memory-detail", memory.uid)))
    address = f"{url('user-feedback', memory.subject.uid)}?memory={memory.uid}"
    form = words_of(browser.get(address))

    assert address in panel
    assert f'value="{memory.uid}"' in form
    assert sent(browser, container, kind="wrong", memory_uid=str(memory.uid)).status_code == 302
    assert Feedback.objects.get().memory_uid == memory.uid


def test_words_are_closed_to_those_who_may_not_read_and_nobody_else_records(container):
    made = a_report(container)
    for browser in (editor(), auditor()):
        pages = [
            words_of(browser.get(url(*where))) for where in (("feedback-detail", made.uid), ("user-feedback", subject_of(container).uid))
        ]

        assert not any("penicillin" in page for page in pages)
        assert sent(browser, container).status_code == 403
        for view in ("feedback-match", "feedback-set-aside", "feedback-reopen"):
            assert browser.post(url(view, made.uid)).status_code == 403


def test_reports_of_other_containers_do_not_exist(container):
    made = a_report(container)
    stranger = a_browser_of(Role.SUPPORT, containers=[make_container("other")], login="eve")

    assert stranger.get(url("feedback-detail", made.uid)).status_code == 404
    assert stranger.post(url("feedback-match", made.uid)).status_code == 404
    assert stranger.get(url("user-feedback", subject_of(container).uid)).status_code == 404
    assert "No reports yet" in words_of(stranger.get(reverse("pages:feedback-list")))


def test_the_list_shows_open_ones_by_its_address_and_htmx_gets_the_table(container):
    a_report(container)
    browser = support()

    shown = words_of(browser.get(reverse("pages:feedback-list"), {"state": "open"}, headers=HTMX))
    none = words_of(browser.get(reverse("pages:feedback-list"), {"state": "matched"}))

    assert shown.strip().startswith('<div id="table"')
    assert "forgot the penicillin" in shown
    assert "No report of this kind" in none


def test_only_post_decides_and_an_item_that_is_none_is_refused(container):
    made, browser = a_report(container), support()

    for view in ("feedback-match", "feedback-set-aside", "feedback-reopen"):
        assert browser.get(url(view, made.uid)).status_code == 405
    answers = [words_of(browser.post(url("feedback-match", made.uid), {"item": item}, follow=True)) for item in ("", "x", str(made.uid))]

    assert "Choose one of the evictions." in answers[0]
    assert "was not evicted before the answer was noticed" in answers[2]
    made.refresh_from_db()
    assert made.state == "open"


def test_markup_in_words_is_text(container):
    made = a_report(container, "<script>alert(1)</script> {{ 7*7 }}")

    page = words_of(support().get(url("feedback-detail", made.uid)))

    assert "<script>alert" not in page
    assert "{{ 7*7 }}" in page


def test_what_came_back_is_no_suspect_and_the_page_does_not_say_that_nothing_was_evicted(container):
    made = a_report(container)
    archive.restore([copy.pk for copy in Archived.objects.all()], now=NOON)

    page = words_of(support().get(url("feedback-detail", made.uid)))

    assert "Nothing that was evicted before is missing" in page
    assert "What has come back since is no suspect." in page
