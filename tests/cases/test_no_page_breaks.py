"""Whatever an address or a form says, every page answers it: with the page, a refusal in words, or "there is no such thing"."""

import re
from uuid import UUID

import pytest
from django.urls import get_resolver, reverse

from memadmin.access.roles import Role
from memadmin.erasure import backups
from memadmin.erasure.backups import BackupSpec
from memadmin.erasure.models import BackupKind
from memadmin.lifecycle.feedback import Report, record
from memadmin.pages import urls
from memadmin.store.models import Archived, FeedbackKind, LongTermMemory, Session
from tests.cases.governing import form, under
from tests.factories import ACTOR, NOON, a_change, a_memory, a_message, a_pin, a_session, store, subject_of
from tests.people import HTMX, a_browser_of
from tests.runs import a_policy, carry_out, preview

pytestmark = pytest.mark.django_db
NASTY = [
    *(
        "",
        "-1",
        "99999999999999999999999999",
        "NaN",
        "\0",
        "\u0663\u202e\u200b",
        "{{ 7*7 }}<script>' OR 1=1 --%00",
        "0001-01-01",
        "9999-12-31",
    ),
    *("00000000-0000-0000-0000-000000000000", "x" * 3_000),
]
ASKED = {
    *(
        "q",
        "sort",
        "down",
        "state",
        "strategy",
        "at",
        "after",
        "from",
        "to",
        "reason",
        "user",
        "part",
        "tab",
        "entry",
        "next",
        "actor",
        "action",
    ),
    *(
        "review_on",
        "sure",
        "value",
        "cron",
        "enabled",
        "theme",
        "login",
        "username",
        "password",
        "key",
        "target",
        "kind",
        "number",
        "force",
    ),
    *("words", "noticed_on", "memory_uid", "session_uid", "memory", "item"),
    *("label", "started_at", "expires_on", "key_id", "proof", "day", "name", "contact", "given", "text", "format"),
    *form(),
    *(name for name in form() if not name.endswith("_none")),
    *(name.removesuffix("_none") for name in form()),
}
WORDS = {"key": "preview_keep_days", "kind": "nightly", "days": 7}
SAMPLES = {"uuid": UUID(int=0), "int": 1, "str": "x", "slug": "x"}  # for parts of an address that nothing here is known by


@pytest.fixture(autouse=True)
def _at_noon(time_machine):
    time_machine.move_to(NOON, tick=False)


@pytest.fixture
def everybody(db):
    """Somebody with every right there is."""
    return a_browser_of(*Role, login="eve")


@pytest.fixture
def addresses(db):
    """Every address of the pages, about things that are there."""
    container = under(a_policy(sessions={"retention_days": 30}, relevance={"ttl_days": 10}))
    store(container, a_session(days_old=40), a_memory(days_old=20), a_memory("kept", pin=a_pin()), a_change())
    carry_out(preview(container))
    store(container, a_session("s-2"), a_message(session_ref="s-2"), a_memory("another", days_old=20))
    run = preview(container)
    uids = {"containers": container.uid, "users": subject_of(container).uid, "memories": LongTermMemory.objects.earliest("id").uid}
    uids |= {"sessions": Session.objects.latest("id").uid, "archive": Archived.objects.earliest("id").uid}
    noticed = Report(kind=FeedbackKind.FORGOT, words="forgot it", noticed_at=NOON)
    uids |= {"feedback": record(subject_of(container), noticed, actor=ACTOR, now=NOON).uid}
    spec = BackupSpec(kind=BackupKind.WAL, label="one", started_at=NOON, expires_at=NOON)
    uids |= {"backups": backups.record(spec, actor=ACTOR, now=NOON).uid}
    return [_address(pattern, uids, run.number) for pattern in urls.urlpatterns]


def _address(pattern, uids, number):
    route = str(pattern.pattern)
    given = {"uid": uids.get(route.partition("/")[0], UUID(int=0)), "number": 1 if "policy" in route else number, **WORDS}
    parts = re.findall(r"<(\w+):(\w+)>", route)
    return reverse(f"pages:{pattern.name}", kwargs={name: given.get(name, SAMPLES[converter]) for converter, name in parts})


@pytest.mark.parametrize("value", NASTY, ids=lambda value: ascii(value)[:20])
def test_every_page_answers_any_address(everybody, addresses, value):
    query = dict.fromkeys(ASKED, value)

    answers = {url: everybody.get(url, query, headers=HTMX if place % 2 else {}).status_code for place, url in enumerate(addresses)}

    assert {url: code for url, code in answers.items() if code >= 500} == {}
    assert 200 in answers.values()


@pytest.mark.parametrize("value", NASTY, ids=lambda value: ascii(value)[:20])
def test_every_form_answers_any_values(everybody, addresses, value):
    sent = dict.fromkeys(ASKED, value)

    answers = {url: everybody.post(url, sent).status_code for url in addresses if "logout" not in url}

    assert {url: code for url, code in answers.items() if code >= 500} == {}
    assert set(answers.values()) & {302, 422}


@pytest.mark.parametrize("number", ["0", "99999999999999999999999999999", "9223372036854775808", "2147483648"])
def test_a_number_that_nothing_bears_is_not_found(everybody, addresses, number):
    container = next(url for url in addresses if url.endswith("/policy/"))

    codes = [everybody.get(url).status_code for url in (f"/runs/{number}/", f"/runs/{number}/progress/", f"{container}versions/{number}/")]

    assert set(codes) == {404}


def test_every_page_is_among_them(addresses):
    assert len(addresses) == len(
        [pattern for part in get_resolver().url_patterns if getattr(part, "namespace", "") == "pages" for pattern in part.url_patterns]
    )
