"""Requests over time and in browsers. The numbers are those of the list of attacks and faults."""

import json
import re
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.apps import apps
from django.test import Client
from django.urls import reverse
from reportlab import rl_config

from memadmin.access.actors import actor_of
from memadmin.access.roles import Role
from memadmin.audit.actions import Action
from memadmin.audit.models import AuditEntry
from memadmin.erasure import approving, deadlines, workflow
from memadmin.erasure.certificates.issuing import file_of
from memadmin.erasure.certificates.pdf import pdf_of
from memadmin.erasure.execution import resuming, steps
from memadmin.erasure.intake import today
from memadmin.erasure.models import ErasureRequest, Status
from memadmin.erasure.moves import WrongState
from memadmin.jobs.models import Job
from memadmin.store.models import ItemType, LongTermMemory
from tests.addresses import addresses
from tests.erasure.executing import execute
from tests.erasure.workflow import a_word, approved, officer, opened, submitted
from tests.factories import NOON, a_memory, days, make_container, make_memory, make_session, store
from tests.people import a_browser_of

TYPES = {"memory": ItemType.LONG_TERM, "session": ItemType.SESSION}
MARKUP = '<script>alert("x")</script>'


def words_of(pdf: bytes) -> str:
    """Return what a PDF shows whose pages are not compressed."""
    return "".join(re.sub(rb"\\(.)", rb"\1", part).decode("latin-1") for part in re.findall(rb"\(((?:\\.|[^\\)])*)\) Tj", pdf))


@pytest.mark.django_db
def test_53_a_strangers_request_neither_blocks_nor_absorbs_the_persons_own():
    store(make_container(), a_memory(), now=NOON - days(1))
    strangers = opened(identity=None)
    own = opened()
    strangers.refresh_from_db()
    assert (strangers.duplicate_of, own.duplicate_of) == (own, None)

    approved(own)

    assert own.state == Status.APPROVED
    assert strangers.state == Status.RECEIVED


@pytest.mark.django_db(transaction=True)
def test_58_what_was_executed_erases_nobody_who_comes_later_under_the_same_id():
    container = make_container()
    store(container, a_memory(), now=NOON - days(1))
    request, later, cora = opened(), NOON + days(400), a_browser_of(Role.COMPLIANCE, login="cora2")
    approved(request)
    execute(request)
    assert request.state == Status.COMPLETED
    store(container, a_memory("somebody new"), now=later)  # the block has ended

    for verb in (resuming.go_on, resuming.look_again, resuming.back_to_review, workflow.cancel):
        with pytest.raises(WrongState):
            verb(request, actor=actor_of(officer()), now=later)
    for name in ("approve", "discover", "submit", "go-on"):
        assert cora.post(reverse(f"pages:erasure-{name}", args=[request.uid])).status_code in (403, 409)
    assert steps.begin_approved(now=later) == 0
    assert Job.objects.filter(kind=steps.EXECUTE).count() == 1
    assert LongTermMemory.objects.get().text == "somebody new"


@pytest.mark.django_db(transaction=True)
def test_59_markup_in_an_id_a_container_and_a_letter_is_text_on_pages_and_stands_in_no_certificate(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(rl_config, "pageCompression", 0)  # or its words could not be read here
    container = make_container(MARKUP)
    store(container, a_memory(user_id=f"ann{MARKUP}"), now=NOON - days(1))
    request = opened(f"ann{MARKUP}", note=f"please {MARKUP}")
    browser = a_browser_of(Role.COMPLIANCE, login="cora2")

    def shown() -> str:
        addresses = [reverse(f"pages:erasure-{name}", args=[request.uid]) for name in ("detail", "items", "approval")]
        return "".join(browser.get(address).content.decode() for address in (*addresses, reverse("pages:erasure-list")))

    submitted(request)
    page = shown()
    approving.approve(request, a_word(request), actor=actor_of(officer("carl")), now=NOON)
    execute(request)
    after = shown()

    certificate = request.certificates.get()
    assert MARKUP not in page + after
    assert page.count("&lt;script&gt;") > 5  # id, container and note, here and there
    assert "alert(" not in file_of(certificate).decode()
    document = json.loads(certificate.document)
    said = words_of(pdf_of(document, digest=certificate.digest, key_id=certificate.key_id))
    assert ("Certificate of erasure" in said, "alert" in said) == (True, False)


@pytest.mark.django_db(transaction=True)
def test_59_what_looks_like_markup_in_a_certificate_is_words_of_its_pdf(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(rl_config, "pageCompression", 0)
    store(make_container(), a_memory(), now=NOON - days(1))
    request = opened()
    approved(request)
    execute(request)
    document = json.loads(request.certificates.get().document)

    said = words_of(pdf_of({**document, "title": MARKUP, "limits": ["<b>one & two"]}, digest="0" * 64, key_id="k"))

    assert (MARKUP in said, "<b>one & two" in said) == (True, True)


@pytest.mark.parametrize(
    ("received", "due", "rolled"),
    [
        (date(2026, 1, 31), date(2026, 2, 28), date(2026, 3, 2)),  # no 31 February; a Saturday
        (date(2026, 1, 30), date(2026, 2, 28), date(2026, 3, 2)),  # 30 days would be one day late
        (date(2028, 2, 29), date(2028, 3, 29), date(2028, 3, 29)),
        (date(2026, 5, 31), date(2026, 6, 30), date(2026, 6, 30)),
        (date(2026, 12, 31), date(2027, 1, 31), date(2027, 2, 1)),  # the end of a year; a Sunday
        (date(2026, 11, 25), date(2026, 12, 25), date(2026, 12, 28)),  # a holiday before a weekend
    ],
)
def test_61_days_that_months_do_not_have_weekends_and_holidays(received: date, due: date, rolled: date):
    found = deadlines.due(received, profile="gdpr", holidays={date(2026, 12, 25)})

    assert (found.conservative, found.rolled) == (due, rolled)


@pytest.mark.django_db
def test_61_the_holidays_of_the_settings_move_the_last_day_in_law_and_not_what_alarms_count_to(settings):
    store(make_container(), a_memory())
    settings.LEGAL_HOLIDAYS = {date(2026, 4, 1)}

    request = opened()  # on 1 March

    assert (request.due_on, request.rolled_on) == (date(2026, 4, 1), date(2026, 4, 2))


@pytest.mark.parametrize(
    ("at", "day"),
    [
        (datetime(2026, 3, 28, 23, 30, tzinfo=UTC), date(2026, 3, 29)),  # the clock is set forward that night
        (datetime(2026, 10, 24, 22, 30, tzinfo=UTC), date(2026, 10, 25)),  # and back
        (datetime(2026, 12, 31, 22, 59, tzinfo=UTC), date(2026, 12, 31)),
        (datetime(2026, 12, 31, 23, 0, tzinfo=UTC), date(2027, 1, 1)),
    ],
)
def test_61_the_day_of_receipt_is_that_of_the_legal_time_zone(settings, at: datetime, day: date):
    settings.LEGAL_TIME_ZONE = ZoneInfo("Europe/Amsterdam")

    assert today(at) == day


@pytest.mark.django_db
def test_63_a_clock_a_year_ahead_ends_approvals_for_good_and_the_log_keeps_its_order():
    store(make_container(), a_memory(), now=NOON - days(1))
    request = opened()
    approved(request)
    due = request.due_on
    assert approving.void_expired(now=NOON + days(365)) == 1

    with pytest.raises(WrongState):
        approving.claim(request, actor="job/erasure", now=NOON - timedelta(hours=1))

    request.refresh_from_db()
    assert (request.state, request.due_on) == (Status.AWAITING_APPROVAL, due)
    assert [(each.voided_at, each.void_code) for each in request.approvals.all()] == [(NOON + timedelta(days=365), "expired")]
    times = list(AuditEntry.objects.filter(stream="governance").order_by("seq").values_list("action", flat=True))
    assert times[-2:] == ["erasure.approval_voided", "erasure.claimed"]


@pytest.mark.django_db
@pytest.mark.parametrize("kind", ["memory", "session"])
def test_65_deleting_by_hand_is_no_erasure_and_says_so(kind: str):
    item = make_memory(make_container()) if kind == "memory" else make_session(make_container())
    browser = a_browser_of(Role.SUPPORT, Role.COMPLIANCE, login="sue")

    asked = browser.get(reverse(f"pages:{kind}-deletion", args=[item.uid])).content.decode()
    browser.post(reverse(f"pages:{kind}-delete", args=[item.uid]), {"sure": "yes"})

    assert "Deleting is not erasing" in asked
    assert f"{reverse('pages:erasure-new')}?item={ItemType(TYPES[kind])}/{item.uid}" in asked
    assert "no erasure" in Action(AuditEntry.objects.get(action__startswith="item").action).label
    assert not type(item).objects.exists()
    assert not AuditEntry.objects.filter(action__startswith="erasure.").exists()
    assert not ErasureRequest.objects.exists()


@pytest.mark.django_db
def test_65_there_is_no_admin_and_no_page_that_deletes_more_than_one(client: Client):
    deleting = {path: name for path, name, _ in addresses() if "delet" in path and not path.startswith(("/_", "/api/"))}

    assert deleting
    assert [path for path in deleting if "<uuid:uid>" not in path] == []
    assert not apps.is_installed("django.contrib.admin")
    assert client.get("/admin/").status_code == 404
