"""After a complete erasure the person is told: the page says it, has a letter, and it is noted when that was done."""

import io
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from memadmin.access.roles import Role
from memadmin.access.scopes import Scope
from memadmin.audit.models import AuditEntry
from memadmin.erasure import telling
from memadmin.erasure.certificates.contents import Executed
from memadmin.erasure.certificates.issuing import issue
from memadmin.erasure.models import Channel, Drill, ErasureRequest, Kind, Level, Profile
from memadmin.erasure.verification import looking
from memadmin.store.locations import Act
from tests.erasure.on_pages import do
from tests.erasure.papers import a_manifest, a_request
from tests.factories import NOON, a_memory, make_container, store, subject_of
from tests.people import PASSWORD, a_browser_of
from tests.tokens import api_of

pytestmark = pytest.mark.django_db
DAY = NOON.date()


@pytest.fixture(autouse=True)
def at_noon(time_machine: Any, settings: Any, tmp_path: Any) -> None:
    time_machine.move_to(NOON, tick=False)
    settings.AUDIT_KEYS = str(tmp_path / "keys")


@pytest.fixture
def erased() -> ErasureRequest:
    """A complete erasure of somebody of whom one thing is withheld."""
    shop = make_container()
    store(shop, a_memory(user_id="rosa.delgado"))
    request = a_request(subject_of(shop, "rosa.delgado"))
    a_manifest(request, [("store.subjects", subject_of(shop, "rosa.delgado"))], acts={"store.subjects": Act.WITHHOLD})
    request.manifests.get().items.update(reason_code="art_17_3_b", review_on=DAY + timedelta(days=90))
    look = looking.begin(request.manifests.get(), now=NOON)
    look.outcome, look.ended_at = "clean", NOON
    look.save()
    done = Executed(started_at=NOON, places=[], recipients={"acked": 2, "impossible": 1}, completed_at=NOON)
    issue(request, Level.PARTLY, done, actor="job/erasure", now=NOON)
    ErasureRequest.objects.update(state="completed", completed_at=NOON, outcome_code="partly")
    request.refresh_from_db()
    return request


@pytest.fixture
def cora() -> Client:
    return a_browser_of(Role.COMPLIANCE, login="cora")


def page_of(browser: Client, request: ErasureRequest) -> str:
    return browser.get(reverse("pages:erasure-detail", args=[request.uid])).content.decode()


def test_the_page_says_what_comes_next_and_has_a_letter_of_what_was_done_and_what_stays(cora: Client, erased: ErasureRequest):
    page = page_of(cora, erased)

    assert "What comes next: tell the person" in page
    assert f"by {erased.due_on:%-d %b %Y}" in page
    letter = telling.letter_of(erased)
    assert letter.splitlines()[0] == "Your request of 1 March 2026, number 1"
    assert "- 1 item: a legal duty to keep it (17(3)(b)); we look at it again on 30 May 2026" in letter
    assert "lodge a complaint" in letter
    assert "2 recipients. You may ask" in letter
    assert "1 recipient could not be told" in letter
    assert "rosa" not in letter
    assert letter.splitlines()[2] in page


def test_it_is_noted_when_the_person_was_told_and_by_whom(cora: Client, erased: ErasureRequest):
    answer = do(cora, "told", erased, told_on=DAY.isoformat())

    page = page_of(cora, erased)
    assert answer.status_code == 302
    assert erased.told_on == DAY
    assert "was told on 1 Mar 2026 that it is done, noted by cora" in page
    assert "What comes next: tell the person" not in page
    entry = AuditEntry.objects.get(action="erasure.person_told")
    assert (entry.outcome, entry.actor) == ("ok", erased.told_by)
    assert do(cora, "told", erased, told_on=DAY.isoformat()).status_code == 409


@pytest.mark.parametrize("day", ["", "soon", "2026-02-27", "2026-03-02"])
def test_a_day_that_cannot_be_right_is_refused(cora: Client, erased: ErasureRequest, day: str):
    assert do(cora, "told", erased, told_on=day).status_code == 422
    assert erased.told_on is None


def test_the_inbox_and_the_overview_name_it_until_it_is_done_and_say_when_it_is_late(
    cora: Client, erased: ErasureRequest, time_machine: Any
):
    def seen() -> tuple[bool, bool, bool]:
        inbox = cora.get(reverse("pages:erasure-list"), {"show": "untold"}).content.decode()
        overview = cora.get("/").content.decode()
        return (
            reverse("pages:erasure-detail", args=[erased.uid]) in inbox,
            "?show=untold" in overview,
            "has passed" in page_of(cora, erased),
        )

    assert seen() == (True, True, False)
    time_machine.move_to(NOON + timedelta(days=40), tick=False)
    cora = a_browser_of(Role.COMPLIANCE, login="cleo")
    assert seen() == (True, True, True)
    telling.note_told(erased, told_on=DAY + timedelta(days=39), actor="person/c", now=NOON + timedelta(days=40))
    assert seen() == (False, False, False)


@pytest.mark.parametrize(
    "values", [{"kind": Kind.STORAGE_LIMIT}, {"kind": Kind.ACCESS}, {"state": "executing", "completed_at": None}, {"channel": "ledger"}]
)
def test_where_nobody_has_asked_or_it_is_not_done_nobody_is_told(cora: Client, erased: ErasureRequest, values: dict[str, Any]):
    ErasureRequest.objects.update(**values)

    assert "tell the person" not in page_of(cora, erased)
    assert do(cora, "told", erased, told_on=DAY.isoformat()).status_code == 409


def test_of_a_drill_nobody_is_told(cora: Client, erased: ErasureRequest):
    drill = Drill.objects.create(requested_by="person/c", started_at=NOON)
    assert telling.is_to_be_told(erased)

    ErasureRequest.objects.update(drill=drill, channel=Channel.DRILL)

    assert not telling.is_to_be_told(erased)
    assert not telling.to_be_told(ErasureRequest.objects.all()).exists()


def test_how_long_it_took_counts_from_the_receipt_of_the_request(erased: ErasureRequest):
    ErasureRequest.objects.update(received_at=NOON - timedelta(days=20), completed_at=NOON - timedelta(days=2))

    telling.note_told(erased, told_on=DAY - timedelta(days=1), actor="person/c", now=NOON)

    assert AuditEntry.objects.get(action="erasure.person_told").counts == {"days_after_receipt": 19}


def test_a_letter_by_californian_law_says_nothing_of_supervisory_authorities(erased: ErasureRequest):
    erased.profile = Profile.CCPA

    letter = telling.letter_of(erased)

    assert "a legal duty to keep it" in letter
    assert "lodge a complaint" not in letter


def test_a_letter_says_what_the_last_certificate_does(erased: ErasureRequest):
    last = issue(
        erased, Level.PARTLY, Executed(started_at=NOON, places=[], recipients={}, completed_at=NOON), actor="job/erasure", now=NOON
    )

    letter = telling.letter_of(erased)

    assert f"serial number {last.serial}" in letter
    assert "recipient" not in letter


def test_who_only_looks_reads_that_it_is_to_be_done_and_notes_nothing(erased: ErasureRequest):
    ada = a_browser_of(Role.AUDITOR, login="ada")

    assert "tell the person" in page_of(ada, erased)
    assert reverse("pages:erasure-told", args=[erased.uid]) not in page_of(ada, erased)
    assert do(ada, "told", erased, told_on=DAY.isoformat()).status_code == 403


def told_by(erased: ErasureRequest, day: str, **token: Any) -> Any:
    return api_of(**{"all_access": True, **token}).post(f"/api/v1/erasure-requests/{erased.number}/told", {"told_on": day})


def test_a_program_notes_it_over_the_api_once(erased: ErasureRequest):
    noted = told_by(erased, DAY.isoformat())
    again = told_by(erased, DAY.isoformat(), owner="eve")

    erased.refresh_from_db()
    entry = AuditEntry.objects.get(action="erasure.person_told", outcome="ok")
    assert (noted.status_code, noted.json()["told_on"], again.status_code) == (200, DAY.isoformat(), 409)
    assert (erased.told_on, entry.actor) == (DAY, erased.told_by)
    assert entry.actor.startswith("token/")


@pytest.mark.parametrize(("day", "status"), [("2026-02-27", 422), ("2026-03-02", 422), ("soon", 400)])
def test_over_the_api_a_day_that_cannot_be_right_is_refused(erased: ErasureRequest, day: str, status: int):
    assert told_by(erased, day).status_code == status
    erased.refresh_from_db()
    assert erased.told_on is None


def test_55_a_token_without_the_scope_or_all_access_notes_nothing(erased: ErasureRequest):
    assert told_by(erased, DAY.isoformat(), scopes=[Scope.MEMORY_READ]).status_code == 403
    assert told_by(erased, DAY.isoformat(), all_access=False, owner="eve").status_code == 403


def in_shell(*arguments: str, monkeypatch: pytest.MonkeyPatch, login: str = "cora") -> str:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{PASSWORD}\n"))
    out = io.StringIO()
    call_command("erasure", "told", *arguments, "--as", login, "--password-stdin", stdout=out)
    return out.getvalue()


def test_a_shell_prints_the_letter_and_notes_the_day(cora: Client, erased: ErasureRequest, monkeypatch: pytest.MonkeyPatch):
    letter = in_shell("1", "--letter", monkeypatch=monkeypatch)
    assert telling.letter_of(erased) in letter
    erased.refresh_from_db()
    assert erased.told_on is None

    assert "told on 2026-03-01" in in_shell("1", "--on", "2026-03-01", monkeypatch=monkeypatch)

    erased.refresh_from_db()
    assert erased.told_on == DAY
    with pytest.raises(CommandError, match="nobody has to be told"):
        in_shell("1", "--on", "2026-03-01", monkeypatch=monkeypatch)


def test_a_shell_refuses_a_wrong_day_and_who_may_not(cora: Client, erased: ErasureRequest, monkeypatch: pytest.MonkeyPatch):
    a_browser_of(Role.AUDITOR, login="ada")

    with pytest.raises(CommandError, match="not ahead of today"):
        in_shell("1", "--on", "2026-03-02", monkeypatch=monkeypatch)
    with pytest.raises(CommandError, match="a day is written as"):
        in_shell("1", "--on", "soon", monkeypatch=monkeypatch)
    with pytest.raises(CommandError, match="You need the right"):
        in_shell("1", "--on", "2026-03-01", monkeypatch=monkeypatch, login="ada")
