import html

import pytest
from django.urls import reverse

from memadmin.access.roles import Role
from memadmin.erasure.models import FoundAgain
from tests.erasure.test_rechecking import erased, look
from tests.factories import make_container, make_memory
from tests.people import a_browser_of, auditor, support

pytestmark = pytest.mark.django_db
PAGE = "/erasure/found-again/"


def text_of(response):
    return " ".join(html.unescape(response.content.decode()).split())


@pytest.fixture
def alarm():
    erased(make_memory(make_container(), "likes tea", user_id="ann").subject)
    look()
    return FoundAgain.objects.get()


def test_an_alarm_is_on_the_overview_until_somebody_explains_it(alarm):
    browser = a_browser_of(Role.COMPLIANCE, login="cora")
    assert "Something that was erased was found again: 1" in text_of(browser.get("/"))
    assert "store_subject.user_id" in text_of(browser.get(PAGE))

    settle = reverse("pages:recheck-settle", args=[alarm.uid])
    assert browser.get(settle).status_code == 405
    browser.post(settle, {"reason": " "})
    assert "found again: 1" in text_of(browser.get("/"))
    browser.post(settle, {"reason": "<b>restored</b> by hand"})

    assert "found again" not in text_of(browser.get("/")).lower()
    shown = browser.get(PAGE)
    assert "restored</b> by hand" in text_of(shown)
    assert b"<b>restored" not in shown.content


def test_others_do_not_see_or_settle_it(alarm):
    assert "found again" not in text_of(support().get("/"))
    assert a_browser_of(Role.SUPPORT, login="sue").get(PAGE).status_code == 403
    reader = auditor()
    assert reader.get(PAGE).status_code == 200
    assert reader.post(reverse("pages:recheck-settle", args=[alarm.uid]), {"reason": "x"}).status_code == 403
    alarm.refresh_from_db()
    assert alarm.settled_at is None


def test_without_findings_the_page_says_so():
    assert "Nothing was found again" in text_of(auditor().get(PAGE))


def test_the_night_work_of_erasures_is_among_the_schedules_by_name():
    shown = text_of(a_browser_of(Role.ADMINISTRATOR, login="ali").get("/settings/"))

    for name in ("Closing of erasures", "Looking for erased users", "Looking for erased ids and texts"):
        assert name in shown
