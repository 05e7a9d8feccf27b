import html
from datetime import date, timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from memadmin.access.roles import Role
from memadmin.audit.models import AuditEntry
from memadmin.store.models import Hold, LongTermMemory, Session, Subject
from tests.cases.governing import under
from tests.factories import NOON, a_memory, make_container, make_memory, make_session, store, subject_of
from tests.holds import hold, restrict
from tests.people import HTMX, a_browser_of, auditor, support

pytestmark = pytest.mark.django_db


def officer(**details):
    return a_browser_of(Role.COMPLIANCE, login="cora", **details)


def text_of(response):
    return " ".join(html.unescape(response.content.decode()).split())


def form(**changes):
    tomorrow = timezone.now().date() + timedelta(days=1)
    return {"kind": "hold", "authority": "court_order", "reason": "case 12", "review_on": tomorrow.isoformat(), **changes}


def place(browser, scope, target, **changes):
    return browser.post(reverse("pages:hold-place", args=[scope, target.uid]), form(**changes))


@pytest.mark.parametrize(("bind", "said"), [(hold, "held"), (restrict, "restricted")])
def test_who_is_over_a_cap_and_bound_is_not_told_that_a_run_takes_the_memories(bind, said):
    container = under(max_records=1)
    store(container, a_memory("one"), a_memory("two"))
    bind(subject_of(container))

    page = text_of(officer().get(reverse("pages:user-memories", args=[subject_of(container).uid])))

    assert "Over the cap by 1 memory" in page
    assert f"{said.capitalize()}: no run evicts any of them meanwhile." in page
    assert page.count(f"</svg> {said}</span>") == 2


def test_a_hold_is_placed_on_the_page_of_a_user_listed_and_shown_there_with_its_reason():
    browser, container = officer(), make_container()
    make_memory(container)
    subject = subject_of(container)

    page = browser.get(reverse("pages:hold-new", args=["subjects", subject.uid]))
    assert "Hold or restrict a user" in text_of(page)
    assert place(browser, "subjects", subject).status_code == 302

    assert LongTermMemory.objects.get().held
    listed = text_of(browser.get(reverse("pages:hold-list")))
    assert "case 12" in listed
    assert "ann" in listed
    shown = text_of(browser.get(reverse("pages:user-memories", args=[subject.uid])))
    assert "Held: nothing destroys it. An order of a court or an authority" in shown


@pytest.mark.parametrize("scope", ["containers", "sessions", "long-term"])
def test_everything_that_can_be_held_has_its_form(scope):
    browser, container = officer(), make_container()
    target = {"containers": container, "sessions": make_session(container), "long-term": make_memory(container)}[scope]

    shown = browser.get(reverse("pages:hold-new", args=[scope, target.uid]))
    assert shown.status_code == 200
    assert container.name in text_of(shown)
    assert ('<bdi class="user-id">ann</bdi>' in shown.content.decode()) is (scope != "containers")
    assert place(browser, scope, target).status_code == 302
    target.refresh_from_db()
    assert target.held


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"reason": " "}, "This field is required."),
        ({"reason": "\u2800"}, "Say why this must be kept"),
        ({"authority": ""}, "This field is required."),
        ({"authority": "because"}, "because is not one of the available choices"),
        ({"review_on": "2020-01-01"}, "That day has passed."),
        ({"review_on": "soon"}, "Enter a valid date."),
        ({"kind": "<b>"}, "<b> is not one of the available choices"),
    ],
    ids=str,
)
def test_a_bad_form_is_shown_again_and_holds_nothing(change, words):
    browser, container = officer(), make_container()
    session = make_session(container)

    answer = place(browser, "sessions", session, **change)

    assert answer.status_code == 422
    assert words in text_of(answer)
    assert not Hold.objects.exists()


def test_a_second_hold_on_the_same_word_is_refused_with_words():
    browser, session = officer(), make_session(make_container())
    place(browser, "sessions", session)

    answer = place(browser, "sessions", session)

    assert answer.status_code == 422
    assert "held on the same word already" in text_of(answer)


def test_a_restriction_is_lifted_only_after_the_notice_was_noted():
    browser, session = officer(), make_session(make_container())
    placed = restrict(session)
    release = reverse("pages:hold-release", args=[placed.uid])

    assert "Tell the person first" in text_of(browser.post(release, {"reason": "checked"}, follow=True))
    browser.post(reverse("pages:hold-notice", args=[placed.uid]), {"day": "2026-02-27"})
    assert "Released." in text_of(browser.post(release, {"reason": "checked"}, follow=True))
    assert not Session.objects.get().restricted


def test_a_release_needs_a_reason_and_a_day_must_be_one():
    browser, placed = officer(), hold(make_session(make_container()))

    assert "Say why this need not be kept" in text_of(browser.post(reverse("pages:hold-release", args=[placed.uid]), follow=True))
    assert "Give a day" in text_of(browser.post(reverse("pages:hold-review", args=[placed.uid]), {"day": "x"}, follow=True))
    browser.post(reverse("pages:hold-review", args=[placed.uid]), {"day": "2027-01-31"})
    placed.refresh_from_db()
    assert (placed.released_at, placed.review_on) == (None, date(2027, 1, 31))


def test_the_list_is_narrowed_by_what_stands_and_the_part_is_a_part():
    browser, container = officer(), make_container()
    hold(make_session(container))
    released = hold(make_memory(container))
    browser.post(reverse("pages:hold-release", args=[released.uid]), {"reason": "closed"})

    standing = text_of(browser.get(reverse("pages:hold-list")))
    gone = browser.get(reverse("pages:hold-list") + "?state=released", headers=HTMX)

    assert "Session" in standing
    assert "Long-term memory" not in standing
    assert "closed" in text_of(gone)
    assert gone.content.lstrip().startswith(b'<div id="table"')


def test_f88_only_compliance_places_holds_auditors_see_them_and_support_sees_the_mark():
    container = make_container()
    session = make_session(container)
    urls = [reverse("pages:hold-place", args=["sessions", session.uid])]
    placed = hold(session)
    urls += [reverse(f"pages:hold-{name}", args=[placed.uid]) for name in ("release", "notice", "review")]

    for browser in (auditor(), support(), a_browser_of(Role.ADMINISTRATOR, login="ali"), a_browser_of(Role.POLICY_EDITOR, login="pia")):
        assert {browser.post(url, form()).status_code for url in urls} == {403}
    assert "case 12" not in text_of(a_browser_of(Role.AUDITOR, login="ada2").get(reverse("pages:hold-list")))
    assert "Held: nothing destroys it" in text_of(
        a_browser_of(Role.SUPPORT, login="sue").get(reverse("pages:session-detail", args=[session.uid]))
    )
    placed.refresh_from_db()
    assert placed.released_at is None


def test_54_holds_change_by_post_alone():
    browser, placed = officer(), hold(make_session(make_container()))

    assert {browser.get(reverse(f"pages:hold-{name}", args=[placed.uid])).status_code for name in ("release", "notice", "review")} == {405}


def test_55_what_lies_in_a_container_that_one_does_not_see_cannot_be_held_or_released():
    mine, other = make_container("mine"), make_container("other")
    session = make_session(other)
    placed = hold(session)
    browser = officer(containers=[mine])

    assert place(browser, "sessions", session).status_code == 404
    assert browser.post(reverse("pages:hold-release", args=[placed.uid]), {"reason": "x"}).status_code == 404
    assert "other" not in text_of(browser.get(reverse("pages:hold-list")))
    assert browser.get(reverse("pages:hold-new", args=["everything", session.uid])).status_code == 404


def test_59_a_reason_with_markup_is_shown_as_text():
    browser, session = officer(), make_session(make_container())

    place(browser, "sessions", session, reason="<script>alert(1)</script>")

    page = browser.get(reverse("pages:hold-list")).content.decode()
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_87_holding_and_releasing_leave_entries_with_their_person():
    browser, session = officer(), make_session(make_container(), created_at=NOON)
    place(browser, "sessions", session)
    browser.post(reverse("pages:hold-release", args=[Hold.objects.get().uid]), {"reason": "closed"})

    entries = AuditEntry.objects.filter(action__startswith="hold.")
    assert {entry.action for entry in entries} == {"hold.placed", "hold.released"}
    assert all(entry.actor.startswith("person/") for entry in entries)


def test_holds_in_containers_whose_names_look_alike_are_told_apart():
    here, there, alone = make_container("shop"), make_container("shop"), make_container("clinic")
    for container in (here, alone):
        make_memory(container)
        hold(subject_of(container))

    listed = text_of(officer().get(reverse("pages:hold-list")))

    assert f"<bdi>shop ({str(here.uid)[:8]}…)</bdi>" in listed
    assert "<bdi>clinic</bdi>" in listed
    assert str(there.uid)[:8] not in listed


def test_holds_of_more_than_a_page_turn():
    container = make_container()
    store(container, *(a_memory(user_id=f"ann-{number}") for number in range(51)))
    for subject in Subject.objects.of_container(container):
        hold(subject)

    first = officer().get(reverse("pages:hold-list"))
    second = a_browser_of(Role.COMPLIANCE, login="eve").get(first.context["paging"].next)

    assert (first.context["paging"].last, second.context["paging"].first, second.context["paging"].last) == (50, 51, 51)
