"""A backup from before an erasure is put back. Numbers: docs/cases.md, “Erasure and audit”."""

import json
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection

from memadmin.audit import checkpoints, ledger
from memadmin.audit.actions import Action
from memadmin.audit.models import AuditEntry
from memadmin.audit.verification import verify
from memadmin.erasure.execution import steps
from memadmin.erasure.models import Approval, ErasureRequest, Status
from memadmin.erasure.planting import plant_person
from memadmin.erasure.restoring import guard, reapplying
from memadmin.erasure.restoring.guard import Reason
from memadmin.jobs.models import Job
from memadmin.jobs.runner import run_inline
from memadmin.store import configuration, holding, suppression, suppression_keys
from memadmin.store.check import check
from memadmin.store.holding import Placing
from memadmin.store.models import Hold, LongTermMemory, Mode, Subject, Suppression
from tests.backups import Backup, all_bytes
from tests.erasure.workflow import approved, opened, opened_for
from tests.factories import ACTOR, NOON, a_memory, days, make_container, make_memory, store

pytestmark = pytest.mark.django_db(transaction=True)
CANARY = "zebrafinch7canary"
LIKE_IT = "zebrafinch7"  # an id that the other one begins with
LATER = NOON + days(1)


@pytest.fixture(autouse=True)
def looking(monkeypatch):
    monkeypatch.setattr(guard, "_seen", guard._Seen())


@pytest.fixture
def container():
    return make_container()


@pytest.fixture
def backup(container, tmp_path):
    """A backup with a person, and a neighbour whose id is the beginning of theirs."""
    plant_person(container, CANARY, actor=ACTOR, now=NOON)
    make_memory(container, "likes tea", user_id=LIKE_IT)
    checkpoints.write(actor=ACTOR, now=NOON)
    return Backup(tmp_path / "backup")


def erase(request, *, now=NOON):
    approved(request, now=now)
    steps.begin_approved(now=now)
    run_inline(Job.objects.get(kind=steps.EXECUTE, target__endswith=str(request.uid)), now=now)
    request.refresh_from_db()
    assert request.state == Status.COMPLETED
    return request


def neighbour():
    return list(LongTermMemory.objects.filter(subject__user_id=LIKE_IT).values())


def reapply(**details):
    return reapplying.carry_out(reapplying.plan(), fixed=LATER, **details)


def reasons():
    return set(guard.look().reasons)


def a_placing(kind="hold", authority="court_order"):
    return Placing(kind=kind, authority=authority, reason="asked for", review_on=(NOON + days(90)).date())


def run_command(capsys, *words):
    """Return the exit code and what was printed as JSON."""
    code = 0
    try:
        call_command("reapply_erasures", *words, "--json")
    except SystemExit as end:
        code = int(end.code or 0)
    return code, json.loads(capsys.readouterr().out)


def test_66_67_nobody_is_served_until_everything_is_erased_again(backup, client):
    before = neighbour()
    assert backup.journal is None or CANARY.encode() in backup.journal
    request = erase(opened(CANARY))
    assert (guard.look().is_open, all_bytes().count(CANARY.encode())) == (True, 0)
    lost = AuditEntry.objects.filter(stream="governance").order_by("-seq").first()
    backup.put_back()
    assert CANARY.encode() in all_bytes()
    assert reasons() == {Reason.OLDER, Reason.ERASURES}
    refused = client.get("/_plugins/_ml/memory_containers/x")
    assert (refused.status_code, refused["Retry-After"]) == (503, "60")

    done = reapply()

    assert (done.erasures, done.items > 5) == (1, True)
    assert reasons() == set()
    assert all_bytes().count(CANARY.encode()) == 0
    assert neighbour() == before
    again = ErasureRequest.objects.get()
    assert (again.uid, again.number, again.state, again.channel) == (request.uid, request.number, Status.COMPLETED, "ledger")
    assert Approval.objects.get().method == "ledger"
    assert again.certificates.count() == 1
    report = verify(connection, anchors=checkpoints.folder())
    assert (report.exit_code, [each["stream"] for each in report.anchors.restored][-1]) == (0, "governance")
    epoch = AuditEntry.objects.get(action=Action.AUDIT_RESTORED)
    assert epoch.target == f"audit/governance/{lost.row_hash}"
    assert epoch.counts["anchored.governance"] == lost.seq
    assert list(check()) == []
    assert client.get("/_plugins/_ml/memory_containers/x").status_code != 503


def test_74_a_second_run_finds_nothing_to_do(backup, capsys):
    erase(opened(CANARY))
    backup.put_back()
    assert run_command(capsys)[1]["erasures"][0]["users_here"] == 1
    first = run_command(capsys, "--commit")
    lines, rows = len(ledger.lines()), AuditEntry.objects.count()

    second = run_command(capsys, "--commit")

    assert (first[0], first[1]["erasures"], first[1]["open"]) == (0, 1, True)
    assert (second[0], second[1]["erasures"], second[1]["items"], second[1]["open"]) == (0, 0, 0, True)
    assert (len(ledger.lines()), AuditEntry.objects.count()) == (lines, rows)


def test_75_of_a_single_memory_that_was_erased_just_that_one_goes_again(container, tmp_path):
    memory, other = make_memory(container, "likes gin", user_id="ann"), make_memory(container, "likes tea", user_id="ann")
    backup = Backup(tmp_path)
    erase(opened_for(memory))
    backup.put_back()
    before = list(LongTermMemory.objects.filter(pk=other.pk).values())

    done = reapply()

    assert done.erasures == 1
    assert list(LongTermMemory.objects.values()) == before
    assert Suppression.objects.get().kind == "text"
    assert reasons() == set()


@pytest.mark.parametrize("change", ["edit", "remove", "truncate"])
def test_70_with_a_ledger_that_was_changed_nothing_is_done_and_the_code_is_21(backup, capsys, settings, change):
    erase(opened(CANARY))
    backup.put_back()
    file = Path(settings.ERASURE_LEDGERS[0])
    lines = file.read_text().splitlines()
    changed = {"edit": [lines[0].replace("consent", "x").replace('"attempt":1', '"attempt":2'), *lines[1:]], "remove": lines[1:]}
    file.write_text("".join(f"{line}\n" for line in changed.get(change, lines[:-1])))

    code, said = run_command(capsys, "--commit")

    assert (code, said["open"]) == (21, False)
    assert Subject.objects.filter(user_id=CANARY).exists()
    assert not guard.look().is_open


def test_69_without_its_ledger_it_stays_shut_and_says_what_to_do(container, tmp_path, capsys, settings):
    make_memory(container, "likes gin", user_id="ann")
    erase(opened("ann"))
    backup = Backup(tmp_path)
    backup.put_back()
    Path(settings.ERASURE_LEDGERS[0]).unlink()

    code, said = run_command(capsys, "--commit")

    assert reasons() == {Reason.LEDGER_OLDER}
    assert (code, said["open"]) == (21, False)
    assert said["message"].endswith("Put the newest copy back.")
    assert settings.ERASURE_LEDGERS[0] in said["message"]
    for file in checkpoints.folder().iterdir():
        file.unlink()
    assert Reason.LEDGER_GONE in reasons()
    assert run_command(capsys, "--commit")[0] == 21


def test_71_a_ledger_that_is_as_old_as_the_database_is_noticed_by_the_checkpoints(backup, capsys, settings):
    file = Path(settings.ERASURE_LEDGERS[0])
    old = file.read_bytes() if file.exists() else b""
    erase(opened(CANARY))
    backup.put_back()
    file.write_bytes(old)

    assert reasons() == {Reason.OLDER, Reason.LEDGER_OLDER}
    assert run_command(capsys, "--commit")[0] == 21
    assert Subject.objects.filter(user_id=CANARY).exists()


def test_71_the_second_file_of_the_ledger_makes_good_what_the_first_one_lacks(backup, settings, tmp_path):
    settings.ERASURE_LEDGERS = [settings.ERASURE_LEDGERS[0], str(tmp_path / "second" / "ledger.jsonl")]
    erase(opened(CANARY))
    backup.put_back()
    Path(settings.ERASURE_LEDGERS[0]).write_bytes(b"")

    reapply()

    assert not Subject.objects.filter(user_id=CANARY).exists()
    first, second = (Path(each).read_bytes() for each in settings.ERASURE_LEDGERS)
    assert first == second


def test_73_a_hold_that_was_placed_after_the_backup_is_placed_again_and_binds(container, tmp_path):
    kept = make_memory(container, "in court", user_id="ann")
    make_memory(container, "likes gin", user_id="ann")
    backup = Backup(tmp_path)
    hold = holding.place(kept, a_placing(), actor=ACTOR, now=NOON)
    erase(opened("ann"))
    backup.put_back()
    assert Reason.OLDER in reasons()

    done = reapply()

    assert done.holds_placed == 1
    assert Hold.objects.get().uid == hold.uid
    assert list(LongTermMemory.objects.values_list("text", "held")) == [("in court", True)]
    assert ErasureRequest.objects.get().certificates.get().level == "partly"
    assert list(check()) == []


def test_73_a_hold_that_was_released_after_the_backup_does_not_bind_any_more(container, tmp_path):
    kept = make_memory(container, "in court", user_id="ann")
    hold = holding.place(kept, a_placing(), actor=ACTOR, now=NOON)
    backup = Backup(tmp_path)
    holding.release(hold, reason="settled", actor=ACTOR, now=NOON)
    backup.put_back()
    assert Hold.objects.get().released_at is None

    done = reapply()

    assert done.holds_released == 1
    assert LongTermMemory.objects.get().held is False
    assert reasons() == set()


def test_a_suppression_that_was_lifted_is_lifted_and_who_came_later_is_not_touched(backup, container):
    erase(opened(CANARY))
    suppression.lift(Suppression.objects.get(), reason="new contract", actor=ACTOR, now=NOON + timedelta(hours=1))
    backup.put_back()

    done = reapply()

    assert (done.erasures, done.lifted) == (1, 1)
    assert Suppression.objects.get().mode == Mode.LIFTED
    new = make_memory(container, "is new here", user_id=CANARY)
    assert reapply().erasures == 0
    assert LongTermMemory.objects.filter(pk=new.pk).exists()


def test_what_was_stored_after_the_erasure_was_complete_stays(backup, container):
    erase(opened(CANARY))
    backup.put_back()
    store(container, a_memory("is new here", user_id=CANARY), now=NOON + timedelta(hours=2))

    reapply()

    assert list(LongTermMemory.objects.filter(subject__user_id=CANARY).values_list("text", flat=True)) == ["is new here"]


def test_whom_the_database_has_never_heard_of_is_refused_all_the_same(container, tmp_path):
    backup = Backup(tmp_path)
    make_memory(container, "likes gin", user_id="ann")
    erase(opened("ann"))
    backup.put_back()

    done = reapply()

    assert (done.erasures, done.suppressed) == (1, 1)
    assert [verdict.mode for verdict in suppression.verdicts(container, ["ann"], now=NOON).values()] == [Mode.BLOCK]
    assert ErasureRequest.objects.get().state == Status.NOTHING_HELD
    assert reasons() == set()


def test_an_erasure_under_an_older_key_is_found_with_the_ring(backup, settings):
    erase(opened(CANARY))
    suppression_keys.rotate(actor=ACTOR, now=NOON)
    settings.SECRET_KEY = "another one, " * 5
    backup.put_back()

    reapply()

    assert not Subject.objects.filter(user_id=CANARY).exists()


def test_an_emergency_stop_that_the_backup_holds_is_lifted_by_a_word_alone(container, tmp_path, capsys):
    make_memory(container, "likes gin", user_id="ann")
    configuration.change("erasure_paused", True, actor=ACTOR, now=NOON)
    backup = Backup(tmp_path)
    configuration.change("erasure_paused", False, actor=ACTOR, now=NOON)
    erase(opened("ann"))
    backup.put_back()

    assert run_command(capsys, "--commit")[0] == 1
    assert Subject.objects.filter(user_id="ann").exists()
    assert run_command(capsys, "--commit", "--lift-stop")[0] == 0
    assert not Subject.objects.filter(user_id="ann").exists()


@pytest.mark.parametrize("phase", ["fence", "rows", "close", "end"])
def test_killed_while_it_erases_again_it_goes_on_and_lets_nobody_in_before(backup, monkeypatch, phase):
    erase(opened(CANARY))
    backup.put_back()
    real = steps._STEPS[phase]

    def dies(*arguments):
        real(*arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setitem(steps._STEPS, phase, dies)
        with pytest.raises(KeyboardInterrupt):
            reapply()
    assert Reason.UNFINISHED in reasons()

    reapply()

    assert reasons() == set()
    assert ErasureRequest.objects.get().state == Status.COMPLETED
    assert not Subject.objects.filter(user_id=CANARY).exists()
    assert verify(connection, anchors=checkpoints.folder()).exit_code == 0
