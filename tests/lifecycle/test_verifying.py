"""The look at the log that nobody has to think of: every night, a stretch at a time, with an alarm."""

from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db import connection
from django.urls import reverse

from memadmin.access.roles import Role
from memadmin.audit import checkpoints, log, raw, stretches
from memadmin.audit.actions import Action
from memadmin.audit.models import AuditEntry, Outcome, Verification
from memadmin.jobs import queue, schedules
from memadmin.jobs.runner import run_inline
from memadmin.lifecycle import verifying
from tests.audit_protection import lifted
from tests.factories import ACTOR, NOON, days
from tests.people import a_browser_of

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def stretches_of_two_pages_of_three(monkeypatch):
    monkeypatch.setattr(raw, "PAGE", 3)
    monkeypatch.setattr(stretches, "PAGES", 2)


def act(number: int = 1, *, at=NOON, **details):
    for _ in range(number):
        log.append(Action.MEMORY_PINNED, actor=ACTOR, target="long-term/1", at=at, **details)


def look(*, target: str = verifying.WHOLE, now=NOON) -> Verification:
    run_inline(queue.enqueue(verifying.VERIFY, target=target, requested_by=ACTOR, now=now), now=now)
    return Verification.objects.latest("pk")


def spoil(sql: str, *given: object) -> None:
    with lifted(), connection.cursor() as cursor:
        cursor.execute(sql, given)


def test_a_log_of_many_stretches_is_whole_and_every_row_is_read_once():
    act(20, payload={"reason": "asked"})
    for _ in range(7):
        log.note(Action.CONTAINER_COUNTED, actor=ACTOR, target="containers/1", at=NOON)
    log.seal(actor="job/seal", now=NOON)
    checkpoints.write(actor="job/seal", now=NOON)
    entries = AuditEntry.objects.count()

    found = look()

    assert (found.exit_code, found.rows, found.whole, found.first_findings) == (0, entries, True, [])
    told = AuditEntry.objects.get(action=Action.AUDIT_VERIFIED)
    assert (told.outcome, told.reason_code, told.counts["rows"]) == ("ok", "whole", entries)


@pytest.mark.parametrize(
    ("sql", "code", "word"),
    [
        ("UPDATE audit_entry SET actor = 'person/9' WHERE seq = 2", 20, "altered"),
        ("UPDATE audit_entry SET prev_hash = 'x' WHERE seq = 14", 20, "altered"),
        ("DELETE FROM audit_entry WHERE seq = 6", 20, "altered"),
        ("DELETE FROM audit_entry WHERE seq = 7", 20, "altered"),
        ("DELETE FROM audit_entry WHERE seq > 12", 21, "cut_off"),
        ("DELETE FROM audit_payload WHERE seq = 9", 22, "payload_missing"),
    ],
)
def test_the_stretches_find_what_the_command_finds(sql, code, word):
    act(20, payload={"reason": "asked"})
    spoil(sql)
    with pytest.raises(SystemExit) as command:
        call_command("verify_audit_log")

    found = look()

    assert (found.exit_code, command.value.code) == (code, code)
    assert found.first_findings
    told = AuditEntry.objects.get(action=Action.AUDIT_VERIFIED)
    assert (told.outcome, told.reason_code, told.counts["exit_code"]) == (Outcome.FAILED, word, code)


def test_63_a_clock_that_was_set_back_between_two_stretches_is_counted_in_the_log_and_told_on_the_page(monkeypatch):
    monkeypatch.setattr(stretches, "PAGES", 1)
    monkeypatch.setattr(raw, "PAGE", 1)
    auditor = a_browser_of(Role.AUDITOR, login="ada")  # signing in leaves entries of its own
    act(2, at=NOON + timedelta(days=365))
    act(3, at=NOON)

    found = look(now=NOON + timedelta(days=365))

    assert (found.exit_code, found.clock_went_back) == (0, 1)
    assert AuditEntry.objects.get(action=Action.AUDIT_VERIFIED).counts["clock_went_back"] == 1
    assert "The clock was set back 1 time in what was verified." in auditor.get(reverse("pages:audit-list")).content.decode()


def test_an_end_cut_off_with_its_head_is_found_by_its_checkpoint():
    act(20)
    checkpoints.write(actor="job/seal", now=NOON)
    spoil("DELETE FROM audit_entry WHERE seq > 12")
    spoil("UPDATE audit_head SET seq = 12, row_hash = (SELECT row_hash FROM audit_entry WHERE seq = 12)")

    assert look().exit_code == 21


def test_a_payload_that_a_later_stretch_says_was_redacted_is_accounted_for():
    act(payload={"reason": "asked"})
    act(20)
    log.redact_payload([("governance", 1)], actor=ACTOR, at=NOON, reason_code="erasure")

    found = look()

    assert (found.exit_code, found.redacted) == (0, 1)


def test_tonight_reads_what_came_since_the_last_good_look_and_everything_once_a_week():
    act(20)
    checkpoints.write(actor="job/seal", now=NOON)
    before = AuditEntry.objects.count()
    looks = [look(target="", now=NOON + days(0)), look(target="", now=NOON + days(1)), look(target="", now=NOON + days(7))]

    assert [each.whole for each in looks] == [True, False, True]
    assert looks[0].rows == before
    assert looks[1].rows == 2  # the row of the checkpoint, and what the first look wrote


def test_a_look_that_was_not_good_is_followed_by_one_at_everything():
    act(20)
    checkpoints.write(actor="job/seal", now=NOON)
    spoil("UPDATE audit_entry SET actor = 'person/9' WHERE seq = 2")

    looks = [look(target="", now=NOON), look(target="", now=NOON + days(1))]

    assert [(each.whole, each.exit_code) for each in looks] == [(True, 20), (True, 20)]


@pytest.mark.parametrize("action", [Action.AUDIT_RESTORED, Action.LEDGER_REPLAYED, Action.LEDGER_LOSS_ACCEPTED])
def test_the_first_look_after_an_accepted_restore_reads_everything_and_finds_what_was_rewritten(action):
    act(20)
    checkpoints.write(actor="job/seal", now=NOON)
    assert look(target="", now=NOON).exit_code == 0
    spoil("UPDATE audit_entry SET actor = 'person/9' WHERE seq = 2")
    log.append(action, actor=ACTOR, target="audit/governance", at=NOON)

    looks = [look(target="", now=NOON + days(1))]

    assert [(each.whole, each.exit_code) for each in looks] == [(True, 20)]


def test_after_that_look_the_nights_are_short_again():
    act(20)
    checkpoints.write(actor="job/seal", now=NOON)
    look(target="", now=NOON)
    log.append(Action.LEDGER_REPLAYED, actor=ACTOR, target="audit/governance", at=NOON)

    looks = [look(target="", now=NOON + days(day)) for day in (1, 2)]

    assert [each.whole for each in looks] == [True, False]


def test_a_clock_that_went_back_hides_no_restore():
    act(20)
    checkpoints.write(actor="job/seal", now=NOON)
    look(target="", now=NOON)
    log.append(Action.AUDIT_RESTORED, actor=ACTOR, target="audit/governance", at=NOON - days(2))

    assert look(target="", now=NOON + days(1)).whole


def test_a_look_that_stopped_goes_on_and_counts_no_row_twice(monkeypatch):
    act(20)
    job = verifying.ask(actor=ACTOR, now=NOON)
    real, calls = stretches.advance, []

    def broken_once(*given, **named):
        calls.append(1)
        if len(calls) == 2:
            raise RuntimeError
        return real(*given, **named)

    monkeypatch.setattr(stretches, "advance", broken_once)
    with pytest.raises(RuntimeError):
        run_inline(job, now=NOON)
    run_inline(job, now=NOON + timedelta(hours=1))

    found = Verification.objects.get()
    assert (found.exit_code, found.rows) == (0, 21)  # that it was asked for is an entry too


def test_checkpoints_that_cannot_be_read_are_no_finding_but_could_not_run(settings, tmp_path):
    act()
    (tmp_path / "checkpoints.jsonl").mkdir()
    settings.AUDIT_ANCHORS = str(tmp_path)
    job = verifying.ask(actor=ACTOR, now=NOON)
    type(job).objects.filter(pk=job.pk).update(max_attempts=1)

    with pytest.raises(Exception, match="cannot be read"):
        run_inline(job, now=NOON)

    assert Verification.objects.get().exit_code == 10
    assert AuditEntry.objects.get(action=Action.AUDIT_VERIFIED).reason_code == "could_not_run"


def test_it_is_scheduled_every_night():
    assert schedules.next_run(verifying.VERIFY, now=NOON) == NOON.replace(hour=4, minute=40) + days(1)


def test_the_command_reads_from_a_checkpoint_and_finds_what_came_after_it(capsys):
    act(20)
    checkpoints.write(actor="job/seal", now=NOON)
    act(5)
    spoil("UPDATE audit_entry SET actor = 'person/9' WHERE seq = 3")

    call_command("verify_audit_log", "--from", "1")

    assert "governance: 6 rows, 21 to 26" in capsys.readouterr().out
    spoil("UPDATE audit_entry SET actor = 'person/9' WHERE seq = 24")
    with pytest.raises(SystemExit) as ended:
        call_command("verify_audit_log", "--from", "1")
    assert ended.value.code == 20


def test_a_checkpoint_that_is_not_there_could_not_run():
    with pytest.raises(SystemExit) as ended:
        call_command("verify_audit_log", "--from", "7")

    assert ended.value.code == 10


def test_an_end_that_was_cut_off_before_the_checkpoint_is_found_from_there_too():
    act(20)
    checkpoints.write(actor="job/seal", now=NOON)
    spoil("DELETE FROM audit_entry WHERE seq > 12")
    spoil("UPDATE audit_head SET seq = 12, row_hash = (SELECT row_hash FROM audit_entry WHERE seq = 12)")

    with pytest.raises(SystemExit) as ended:
        call_command("verify_audit_log", "--from", "1")

    assert ended.value.code == 21


def test_the_worst_finding_is_told_first_however_many_triggers_are_gone():
    act(20)
    with lifted(), connection.cursor() as cursor:
        cursor.execute("UPDATE audit_entry SET actor = 'person/9' WHERE seq = 14")
        found = look()

    assert found.first_findings[0].startswith("ALTERED governance/14 actor")
    assert found.findings > 5
