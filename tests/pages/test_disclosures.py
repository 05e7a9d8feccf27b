"""The page of a recipient: counts, a form, and no id of anybody."""

import html

import pytest
from django.urls import reverse
from django.utils import timezone

from memadmin.access.roles import Role
from memadmin.erasure import disclosures, notices
from memadmin.erasure.models import Disclosure, RecipientKind
from tests.erasure.papers import a_request
from tests.erasure.test_notices import a_recipient
from tests.factories import ACTOR, NOON, make_container, make_memory
from tests.people import a_browser_of, auditor, support

pytestmark = pytest.mark.django_db
THEIRS = "crm-zebrafinch-77"


@pytest.fixture
def subject():
    return make_memory(make_container(), "likes tea", user_id="zebrafinch").subject


@pytest.fixture
def recipient(subject):
    return a_recipient(subject.container, kind=RecipientKind.MANUAL, contact="by mail")[0]


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
    everywhere = a_recipient(kind=RecipientKind.MANUAL, contact="by mail")[0]
    hidden = make_memory(make_container("hidden-shop"), "gin", user_id="bob").subject
    now = timezone.now()
    disclosures.record(everywhere, hidden, own_id=THEIRS, at=now, actor=ACTOR, now=now)
    far = a_recipient(hidden.container, kind=RecipientKind.MANUAL, contact="by mail", name="Far")[0]
    browser = officer(containers=[subject.container])

    shown = text_of(browser.get(page(everywhere)))

    assert "hidden-shop" not in shown
    assert "Nothing is noted" in shown
    assert note(browser, everywhere, form(hidden, user_id="bob")).status_code == 422
    assert browser.get(page(far)).status_code == 404
    assert note(browser, far, form(hidden, user_id="bob")).status_code == 404


def test_the_report_of_a_request_says_for_whom_no_own_id_is_known(recipient, subject):
    bob = make_memory(subject.container, "gin", user_id="bob").subject
    carl = make_memory(subject.container, "ale", user_id="carl").subject
    for whose, own_id in ((subject, THEIRS), (bob, None)):
        disclosures.record(recipient, whose, own_id=own_id, at=NOON, actor=ACTOR, now=NOON)
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
    made = a_recipient(kind=RecipientKind.MANUAL, contact="by mail", name="<b>Partner</b>")[0]

    assert b"<b>Partner" not in officer().get(page(made)).content


def test_containers_whose_names_look_alike_are_told_apart(subject):
    twin = make_container(subject.container.name)
    everywhere = a_recipient(kind=RecipientKind.MANUAL, contact="by mail")[0]

    shown = text_of(officer().get(page(everywhere)))

    assert all(f"({str(each.uid)[:8]}…)</option>" in shown for each in (subject.container, twin))
