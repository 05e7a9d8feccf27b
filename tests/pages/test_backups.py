import html
import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from memadmin.access.roles import Role
from memadmin.erasure import backups
from memadmin.erasure.models import BackupRecord, InventoryCheck
from tests.erasure.papers import a_request
from tests.erasure.test_backups import a_backup
from tests.factories import ACTOR, NOON, days, make_container, make_memory
from tests.people import a_browser_of, auditor, support

pytestmark = pytest.mark.django_db
LIST = "/backups/"


def officer():
    return a_browser_of(Role.COMPLIANCE, login="cora")


def text_of(response):
    return " ".join(html.unescape(response.content.decode()).split())


def form(**changes):
    given = {"kind": "pg_dump", "label": "s3://b/one", "started_at": "2026-03-01T03:00:00", "expires_on": "2026-06-01", "key_id": ""}
    return {**given, **changes}


@pytest.mark.parametrize("role", [Role.COMPLIANCE, Role.ADMINISTRATOR])
def test_a_backup_is_recorded_and_listed(role):
    browser = a_browser_of(role, login="cora")

    answer = browser.post(reverse("pages:backup-record"), form())

    row = BackupRecord.objects.get()
    assert answer.status_code == 302
    assert (row.started_at.isoformat(), row.expires_at.date().isoformat()) == ("2026-03-01T03:00:00+00:00", "2026-06-01")
    assert "s3://b/one" in text_of(browser.get(LIST))


@pytest.mark.parametrize("change", [{"label": " "}, {"started_at": "soon"}, {"expires_on": "2026-01-01"}, {"kind": "tape"}])
def test_what_cannot_be_is_said_and_not_recorded(change):
    answer = officer().post(reverse("pages:backup-record"), form(**change))

    assert answer.status_code == 422
    assert not BackupRecord.objects.exists()


def test_the_page_says_what_is_past_its_day_and_not_confirmed():
    a_backup(lasts=1)
    browser = officer()

    assert "1 backup past its day" in text_of(browser.get(LIST))
    assert "nobody has confirmed to be destroyed: 1" in text_of(browser.get("/"))
    row = BackupRecord.objects.get()
    browser.post(reverse("pages:backup-destroyed", args=[row.uid]), {"proof": "ticket 7"})

    assert "past its day" not in text_of(browser.get(LIST))
    assert "ticket 7" in text_of(browser.get(f"{LIST}?state=ended"))


def test_the_day_is_changed_and_a_day_that_is_none_is_refused():
    row, browser = a_backup(), officer()

    browser.post(reverse("pages:backup-reschedule", args=[row.uid]), {"day": "2026-12-24"})
    browser.post(reverse("pages:backup-reschedule", args=[row.uid]), {"day": "soon"})

    row.refresh_from_db()
    assert row.expires_at.date().isoformat() == "2026-12-24"


def test_somebody_says_that_the_inventory_is_whole():
    browser = officer()
    assert "no erasure is closed" in text_of(browser.get(LIST))

    browser.post(reverse("pages:backup-check"))

    assert InventoryCheck.objects.count() == 1
    assert "Last said to be whole" in text_of(browser.get(LIST))


def test_who_may_only_look_changes_nothing():
    row = a_backup()
    reader = auditor()

    assert reader.get(LIST).status_code == 200
    assert "Record a backup" not in text_of(reader.get(LIST))
    for name, args in (("record", []), ("check", []), ("destroyed", [row.uid]), ("reschedule", [row.uid])):
        assert reader.post(reverse(f"pages:backup-{name}", args=args), form(proof="x", day="2026-12-24")).status_code == 403
        assert reader.get(reverse(f"pages:backup-{name}", args=args)).status_code == 405
    assert support().get(LIST).status_code == 403
    assert backups.horizon_of(NOON + days(1)).standing == [row]


def test_markup_in_a_label_is_shown_as_text():
    a_backup(label="<script>alert(1)</script>")

    assert b"<script>alert(1)" not in officer().get(LIST).content


def test_the_inventory_is_kept_from_a_shell_too():
    out = StringIO()
    given = ["--kind", "pg_dump", "--label", "s3://b/one", "--began", "2026-03-01T03:00:00Z"]
    call_command("backups", "record", *given, "--days", "30", "--json", stdout=out)
    said = json.loads(out.getvalue())
    call_command("backups", "whole", stdout=out)
    call_command("backups", "list", stdout=out)
    assert "s3://b/one" in out.getvalue()
    call_command("backups", "destroyed", said["uid"], "--proof", "deleted", stdout=out)

    assert backups.horizon_of(NOON + days(90)).standing == []
    for wrong in (["destroyed", said["uid"], "--proof", "x"], ["record", "--kind", "wal", "--label", "x", "--expires", "soon"]):
        with pytest.raises(CommandError):
            call_command("backups", *wrong, stdout=out)


def test_the_page_of_a_complete_request_says_what_it_waits_for_and_until_when():
    a_backup(lasts=30)
    request = a_request(make_memory(make_container(), "likes tea", user_id="ann").subject)
    complete = {"state": "completed", "completed_at": NOON + days(1), "outcome_code": "live"}
    type(request).objects.filter(pk=request.pk).update(**complete)
    page = reverse("pages:erasure-detail", args=[request.uid])

    assert "It is not known how long backups from before are kept" in text_of(officer().get(page))
    backups.check_inventory(actor=ACTOR, now=NOON)
    shown = text_of(a_browser_of(Role.COMPLIANCE, login="carl").get(page))

    assert "1 backup from before: not confirmed to be destroyed" in shown
    assert (NOON + days(30)).strftime("%-d %b %Y") in shown
    assert "Nobody has said since the erasure that the inventory of backups is whole" in shown
    type(request).objects.filter(pk=request.pk).update(outcome_code="drill")
    assert "Until it is closed" not in text_of(a_browser_of(Role.COMPLIANCE, login="dora").get(page))
