"""The page of a recipient: counts, a form, and no id of anybody."""

import html

import pytest
from django.urls import reverse
from django.utils import timezone

from memadmin.access.roles import Role
from memadmin.erasure import disclosures, notices
from memadmin.erasure.models import Disclosure, Kind
from memadmin.store.models import LongTermMemory
from tests.erasure.giving import THEIRS, given, somebody, told_by_mail
from tests.erasure.papers import a_request
from tests.erasure.workflow import discovered, opened, opened_for
from tests.factories import NOON, make_container
from tests.people import a_browser_of, auditor, support

pytestmark = pytest.mark.django_db


@pytest.fixture
def subject():
    return somebody("zebrafinch")


@pytest.fixture
def recipient(subject):
    return told_by_mail(subject.container)


def officer(**details):
    return a_browser_of(Role.COMPLIANCE, login="cora", **details)


def text_of(response):
    return " ".join(html.unescape(response.content.decode()).split())


def form(subject, **changes):
    return {"container": str(subject.container.uid), "user_id": "zebrafinch", "own_id": THEIRS, "given_on": "", **changes}


def note(browser, recipient, data):
    return browser.post(reverse("pages:recipient-disclose", args=[recipient.uid]), data)


def page(recipient):
    return reverse("pages:recipient-detail", args=[recipient.uid])


def test_one_is_noted_and_the_page_counts_it_and_shows_no_id(recipient, subject):
    browser = officer()

    answer = note(browser, recipient, form(subject, given_on="2026-01-05"))

    assert answer.status_code == 302
    assert THEIRS not in answer.url
    made = Disclosure.objects.get()
    assert disclosures.own_ids(recipient, [subject.pk]) == {subject.pk: [THEIRS]}
    assert made.first_at.date().isoformat() == "2026-01-05"
    for reader in (browser, auditor(), a_browser_of(Role.ADMINISTRATOR, login="ali")):
        shown = reader.get(page(recipient))
        assert 'data-label="People" class="number">1<' in shown.content.decode()
        assert THEIRS not in text_of(shown)
        assert "zebrafinch" not in text_of(shown)
    assert page(recipient) in browser.get("/recipients/").content.decode()


@pytest.mark.parametrize(
    "change", [{"user_id": "nobody"}, {"container": "x"}, {"own_id": "x" * 513}, {"given_on": "9000-01-01"}, {"user_id": ""}]
)
def test_a_bad_form_is_shown_again_and_notes_nothing(recipient, subject, change):
    answer = note(officer(), recipient, form(subject, **change))

    assert answer.status_code == 422
    assert "field-error" in answer.content.decode()
    assert not Disclosure.objects.exists()


def test_who_may_not_name_people_notes_nothing(recipient, subject):
    helper = support()
    for browser in (auditor(), helper, a_browser_of(Role.ADMINISTRATOR, login="ali")):
        assert note(browser, recipient, form(subject)).status_code == 403
    assert helper.get(page(recipient)).status_code == 403
    assert "Note it" not in text_of(a_browser_of(Role.AUDITOR, login="una").get(page(recipient)))
    assert not Disclosure.objects.exists()


def test_55_other_containers_are_neither_counted_nor_offered(subject):
    everywhere = told_by_mail()
    hidden = somebody("bob", make_container("hidden-shop"))
    now = timezone.now()
    given(everywhere, hidden, at=now, now=now)
    far = told_by_mail(hidden.container, name="Far")
    browser = officer(containers=[subject.container])

    shown = text_of(browser.get(page(everywhere)))

    assert "hidden-shop" not in shown
    assert "Nothing is noted" in shown
    assert note(browser, everywhere, form(hidden, user_id="bob")).status_code == 422
    assert browser.get(page(far)).status_code == 404
    assert note(browser, far, form(hidden, user_id="bob")).status_code == 404


def test_the_report_of_a_request_says_for_whom_no_own_id_is_known(recipient, subject):
    bob = somebody("bob", subject.container)
    carl = somebody("carl", subject.container)
    for whose, own_id in ((subject, THEIRS), (bob, None)):
        given(recipient, whose, own_id)
    request = a_request(subject, bob, carl, number=7)
    browser = officer()

    shown = browser.get(reverse("pages:notice-list", args=[request.uid]))

    cells = {
        name: f'data-label="{name}" class="number">{count}<'
        for name, count in (("People noted", 2), ("No own id known", 1), ("Not noted", 1))
    }
    assert [name for name, cell in cells.items() if cell not in shown.content.decode()] == []
    assert "Recipients of request 7" in text_of(shown)
    assert THEIRS not in text_of(shown)

    notices.make(request, now=NOON)

    told = text_of(browser.get(reverse("pages:notice-list", args=[request.uid])))
    assert "named by their own ids: 1, by ours, no own id known: 2" in told
    assert f"their own id <bdi><code>{THEIRS}</code>" in told
    assert THEIRS not in text_of(auditor().get(reverse("pages:notice-list", args=[request.uid])))


def test_a_name_with_markup_is_shown_as_text(subject):
    made = told_by_mail(name="<b>Partner</b>")

    assert b"<b>Partner" not in officer().get(page(made)).content


def test_containers_whose_names_look_alike_are_told_apart(subject):
    twin = make_container(subject.container.name)
    everywhere = told_by_mail()

    shown = text_of(officer().get(page(everywhere)))

    assert all(f"({str(each.uid)[:8]}…)</option>" in shown for each in (subject.container, twin))


def test_the_page_of_a_request_says_that_they_have_copies_until_they_are_told(recipient, subject):
    browser, request = officer(), a_request(subject, number=7)
    address = reverse("pages:notice-list", args=[request.uid])
    assert "Who has copies, and will be told" in text_of(browser.get(address))

    notices.make(request, now=NOON)

    assert "Who had copies, and what they were told" in text_of(browser.get(address))


def test_of_an_access_nobody_is_told(recipient, subject):
    request = a_request(subject, kind=Kind.ACCESS, number=7)

    page = text_of(officer().get(reverse("pages:notice-list", args=[request.uid])))

    assert "Who has copies" in page
    assert "will be told" not in page.lower()


def test_a_notice_about_an_item_shows_whose_it_is_to_who_tells_them(recipient, subject):
    browser = officer()
    given(recipient, subject)
    request = opened_for(LongTermMemory.objects.get())
    notices.make(request, now=NOON)

    page = text_of(browser.get(reverse("pages:notice-list", args=[request.uid])))

    assert f"</code></bdi> of <bdi><code>{THEIRS}</code></bdi>" in page


def test_what_recipients_have_is_counted_in_the_manifest_and_says_when_it_goes(recipient, subject):
    given(recipient, subject)
    given(recipient, somebody("zebrafinch2", subject.container))
    request = opened("zebrafinch", others=[])
    discovered(request)
    browser = a_browser_of(Role.COMPLIANCE, login="carl")

    page = text_of(browser.get(reverse("pages:erasure-detail", args=[request.uid])))
    items = text_of(browser.get(reverse("pages:erasure-items", args=[request.uid]), {"place": "erasure.disclosures"}))

    for shown in (page, items):
        assert "Which recipients were given data of whom" in shown
        assert "In the last step of an erasure, when the notices to these recipients have been made" in shown
        assert THEIRS not in shown
