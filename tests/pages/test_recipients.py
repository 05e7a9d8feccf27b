import html
import re

import pytest
from django.urls import reverse

from memadmin.access.roles import Role
from memadmin.erasure import notices, recipients
from memadmin.erasure.models import NoticeState, Recipient, RecipientKind, RecipientNotice
from tests.erasure.papers import a_request
from tests.erasure.test_notices import a_recipient
from tests.factories import NOON, make_container, make_memory
from tests.people import a_browser_of, auditor, support

pytestmark = pytest.mark.django_db
LIST = "/recipients/"


def officer(**details):
    return a_browser_of(Role.COMPLIANCE, login="cora", **details)


def text_of(response):
    return " ".join(html.unescape(response.content.decode()).split())


def form(**changes):
    given = {"name": "Partner", "given": "memories for analysis", "kind": "webhook", "contact": "https://p.example.org/", "reach": "all"}
    return {**given, **changes}


@pytest.fixture
def noticed():
    request = a_request(make_memory(make_container(), "likes tea", user_id="zebrafinch").subject)
    a_recipient(kind=RecipientKind.MANUAL, contact="privacy@partner.example.org")
    notices.make(request, now=NOON)
    return RecipientNotice.objects.get()


def page_of(notice):
    return reverse("pages:notice-list", args=[notice.request.uid])


def act(browser, notice, verb, **given):
    return browser.post(reverse(f"pages:notice-{verb}", args=[notice.request.uid, notice.uid]), given)


@pytest.mark.parametrize("role", [Role.COMPLIANCE, Role.ADMINISTRATOR])
def test_a_recipient_is_registered_and_its_secret_shown_once(role):
    browser = a_browser_of(role, login="cora")

    answer = browser.post(reverse("pages:recipient-create"), form(), follow=True)

    secret = re.search(r"whsec_[\w-]+", text_of(answer))
    made = Recipient.objects.get()
    assert secret
    assert recipients.secret_of(made) == secret[0]
    assert secret[0].encode() not in bytes(made.secret)
    listed = text_of(browser.get(LIST))
    assert "memories for analysis" in listed
    assert secret[0] not in listed


@pytest.mark.parametrize(
    "change",
    [{"contact": "http://x.org"}, {"name": ""}, {"given": " "}, {"kind": "pigeon"}, {"reach": "some"}],
)
def test_a_bad_form_is_shown_again_and_registers_nobody(change):
    answer = officer().post(reverse("pages:recipient-create"), form(**change))

    assert answer.status_code == 422
    assert not Recipient.objects.exists()


def test_who_gets_nothing_any_more_stays_in_the_list():
    made, _ = a_recipient()
    browser = officer()

    browser.post(reverse("pages:recipient-end", args=[made.uid]))

    assert "gets nothing any more" in text_of(browser.get(LIST))


def test_the_request_says_who_will_be_told_and_who_was(noticed):
    other = a_request(make_memory(make_container("other"), "gin", user_id="bob").subject, number=2)
    browser = officer()

    assert "Will be told once" in text_of(browser.get(reverse("pages:notice-list", args=[other.uid])))
    shown = text_of(browser.get(page_of(noticed)))
    assert "privacy@partner.example.org" in shown
    assert "zebrafinch" in shown


def test_the_id_is_shown_only_to_who_tells_and_may_know_it_and_not_after_the_answer(noticed):
    assert "zebrafinch" not in text_of(a_browser_of(Role.ADMINISTRATOR, login="ali").get(page_of(noticed)))
    assert "zebrafinch" not in text_of(auditor().get(page_of(noticed)))
    browser = officer()

    act(browser, noticed, "told")
    act(browser, noticed, "answered")

    noticed.refresh_from_db()
    assert noticed.state == NoticeState.ACKED
    assert "zebrafinch" not in text_of(browser.get(page_of(noticed)))


def test_who_could_not_be_told_is_on_the_overview_until_somebody_decides(noticed):
    RecipientNotice.objects.update(state=NoticeState.FAILED)
    browser = officer()
    assert "Recipients who could not be told of an erasure: 1" in text_of(browser.get("/"))
    assert "could not be told" not in text_of(support().get("/"))

    act(browser, noticed, "decide", state="impossible", text="dissolved")

    assert "could not be told" not in text_of(browser.get("/"))


def test_not_telling_needs_a_text_which_is_shown(noticed):
    browser = officer()
    act(browser, noticed, "decide", state="impossible", text="")
    noticed.refresh_from_db()
    assert noticed.state == NoticeState.PENDING

    act(browser, noticed, "decide", state="impossible", text="<b>dissolved</b>")

    noticed.refresh_from_db()
    assert noticed.state == NoticeState.IMPOSSIBLE
    shown = browser.get(page_of(noticed))
    assert "<b>dissolved</b>" in text_of(shown)
    assert b"<b>dissolved" not in shown.content


def test_who_may_only_look_changes_nothing(noticed):
    reader = auditor()

    assert reader.get(LIST).status_code == 200
    assert [act(reader, noticed, verb).status_code for verb in ("told", "answered", "again", "decide")] == [403] * 4
    assert reader.get(reverse("pages:recipient-new")).status_code == 403
    assert reader.post(reverse("pages:recipient-create"), form()).status_code == 403
    assert support().get(LIST).status_code == 403
    noticed.refresh_from_db()
    assert noticed.state == NoticeState.PENDING


def test_55_recipients_of_other_containers_are_not_there(noticed):
    mine, hidden = make_container("mine"), make_container("hidden")
    a_recipient(mine, name="Near")
    elsewhere, _ = a_recipient(hidden, name="Faraway")
    browser = officer(containers=[mine])

    listed = text_of(browser.get(LIST))

    assert "Near" in listed
    assert "Faraway" not in listed
    assert browser.post(reverse("pages:recipient-end", args=[elsewhere.uid])).status_code == 404
    assert browser.get(page_of(noticed)).status_code == 404
    assert act(browser, noticed, "answered").status_code == 404
