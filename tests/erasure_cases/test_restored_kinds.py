"""A backup is put back: what becomes of each kind of request, of drills and of exports for people, as docs/erasure.md says."""

import json
from typing import Any

import pytest
from django.core.management import call_command

from memadmin.access.actors import actor_of
from memadmin.audit import checkpoints, ledger
from memadmin.audit.models import AuditEntry
from memadmin.erasure import gathering, rectifying, workflow
from memadmin.erasure.access_exports.collecting import TooLate
from memadmin.erasure.drills import names, running, tidying
from memadmin.erasure.models import AccessExport, Drill, DrillState, ErasureRequest, ExportPart, Kind, Status
from memadmin.erasure.restoring import guard, reapplying
from memadmin.jobs.models import Job
from memadmin.jobs.runner import run_inline
from memadmin.store import holding
from memadmin.store.hard_limits import set_limit
from memadmin.store.models import Container, Hold, LongTermMemory, Session, Subject, WorkingMemory
from tests.backups import Backup
from tests.erasure.access_exports.making import collected, handed_out
from tests.erasure.drills.test_drills import drilled, planted
from tests.erasure.workflow import discovered, officer, opened, opened_for
from tests.erasure_cases.test_restored_backup import LATER, erase, reapply
from tests.factories import ACTOR, NOON, a_memory, a_message, a_session, make_container, make_memory, store

pytestmark = pytest.mark.django_db(transaction=True)
WRONG, RIGHT = "works at the quokka farm", "works at the museum"


@pytest.fixture(autouse=True)
def looking(monkeypatch: Any) -> None:
    monkeypatch.setattr(guard, "_seen", guard._Seen())


@pytest.fixture
def container() -> Container:
    return make_container()


def a_backup(tmp_path: Any) -> Backup:
    checkpoints.write(actor=ACTOR, now=NOON)
    return Backup(tmp_path / "backup")


def answer(request: ErasureRequest, code: str = "done") -> None:
    workflow.answer(request, code, letter="Read this.", actor=actor_of(officer()), now=NOON)
    checkpoints.write(actor=ACTOR, now=NOON)  # that the database is older than this is what shuts the guard


def asked(kind: Kind, **details: Any) -> ErasureRequest:
    request = opened(kind=kind, others=[], **details)
    discovered(request)
    return request


def test_a_message_and_a_session_that_were_erased_go_again(container: Container, tmp_path: Any):
    store(container, a_session("s-1"), a_message("the word", session_ref="s-1"), a_message("stays", session_ref="s-1"))
    store(container, a_session("s-2", summary="gone"), a_message("gone too", session_ref="s-2"))
    backup = a_backup(tmp_path)
    word = next(row for row in WorkingMemory.objects.all() if row.messages[0]["content"] == "the word")
    erase(opened_for(word, kind=Kind.MESSAGE))
    erase(opened_for(Session.objects.get(external_id="s-2"), kind=Kind.SESSION))
    backup.put_back()

    done = reapply()

    assert done.erasures == 2
    assert [row.messages[0]["content"] for row in WorkingMemory.objects.all()] == ["stays"]
    assert list(Session.objects.values_list("external_id", flat=True)) == ["s-1"]
    assert set(ErasureRequest.objects.values_list("kind", "state")) == {("erase_message", "completed"), ("erase_session", "completed")}


def test_a_topic_goes_again_by_its_list(container: Container, tmp_path: Any):
    tea, green, mate = (make_memory(container, text) for text in ("likes tea", "green tea", "drinks mate"))
    backup = a_backup(tmp_path)
    erase(opened_for(tea, green, kind=Kind.TOPIC))
    backup.put_back()
    later = make_memory(container, "more tea")

    reapply()

    assert set(LongTermMemory.objects.values_list("uid", flat=True)) == {mate.uid, later.uid}


def test_what_was_past_a_hard_limit_goes_again_and_suppresses_no_text(container: Container, tmp_path: Any):
    set_limit(container, 100, actor=ACTOR, now=NOON)
    store(container, a_memory("old", days_old=300), a_memory("young"))
    backup = a_backup(tmp_path)
    request = gathering.gather(container, now=NOON)
    assert request is not None
    erase(request)
    backup.put_back()

    done = reapply()

    assert (done.erasures, list(LongTermMemory.objects.values_list("text", flat=True))) == (1, ["young"])
    assert done.suppressed == 0


def test_a_restriction_stands_again_and_its_request_is_answered_again(container: Container, tmp_path: Any):
    memory = make_memory(container)
    request = asked(Kind.RESTRICT)
    backup = a_backup(tmp_path)
    answer(request)
    backup.put_back()

    done = reapply()

    memory.refresh_from_db()
    request.refresh_from_db()
    assert (done.holds_placed, memory.restricted, request.state) == (1, True, Status.REVIEW)
    answer(request)
    assert (request.state, Hold.objects.filter(released_at=None).count()) == (Status.COMPLETED, 1)


def test_a_restriction_that_was_lifted_is_lifted(container: Container, tmp_path: Any):
    memory = make_memory(container)
    request = asked(Kind.RESTRICT)
    answer(request)
    backup = a_backup(tmp_path)
    placed = Hold.objects.get()
    holding.record_notice(placed, sent_on=NOON.date(), actor=ACTOR, now=NOON)
    holding.release(placed, reason="it was right", actor=ACTOR, now=NOON)
    checkpoints.write(actor=ACTOR, now=NOON)
    backup.put_back()

    done = reapply()

    memory.refresh_from_db()
    assert (done.holds_released, memory.restricted) == (1, False)


def test_what_was_corrected_is_wrong_again_and_the_command_names_the_request(container: Container, tmp_path: Any, capsys: Any):
    memory = make_memory(container, WRONG)
    before = asked(Kind.RECTIFY)
    rectifying.correct(before, make_memory(container, "x y z"), "a b c", actor=ACTOR, now=NOON)
    backup = a_backup(tmp_path)
    request = asked(Kind.RECTIFY)
    rectifying.correct(request, memory, RIGHT, actor=ACTOR, now=NOON)
    answer(request)
    backup.put_back()

    call_command("reapply_erasures", "--json")
    would = json.loads(capsys.readouterr().out)
    call_command("reapply_erasures", "--commit", "--json")
    did = json.loads(capsys.readouterr().out)

    memory.refresh_from_db()
    assert (would["correct_again"], did["correct_again"], did["open"]) == ([request.number], [request.number], True)
    assert memory.text == WRONG
    assert AuditEntry.objects.get(action="ledger.replayed").counts["corrections_lost"] == 1
    assert WRONG not in "".join(json.dumps(line.facts) for line in ledger.lines())


def test_access_is_skipped_and_a_link_that_was_used_since_opens_nothing(container: Container, tmp_path: Any):
    make_memory(container)
    request = asked(Kind.ACCESS)
    export, code = handed_out(request)
    backup = a_backup(tmp_path)
    collected(export, code)
    answer(request)
    backup.put_back()

    done = reapply()

    request.refresh_from_db()
    assert (done.erasures, done.exports_ended, request.state) == (0, 1, Status.REVIEW)
    assert (AccessExport.objects.get().state, ExportPart.objects.count()) == ("withdrawn", 0)
    with pytest.raises(TooLate):
        collected(export, code, now=LATER)


def test_a_drill_from_after_the_backup_leaves_nothing_to_do(container: Container, tmp_path: Any):
    make_memory(container, "likes tea")
    backup = a_backup(tmp_path)
    assert drilled().state == DrillState.PASSED
    backup.put_back()

    done = reapply()

    assert (done.erasures, done.items, done.suppressed) == (1, 0, 0)
    again = ErasureRequest.objects.get()
    assert (again.state, again.channel) == (Status.NOTHING_HELD, "ledger")
    assert (Drill.objects.count(), list(LongTermMemory.objects.values_list("text", flat=True))) == (0, ["likes tea"])


def test_a_drill_that_was_under_way_when_the_backup_was_made_comes_to_its_end(container: Container, tmp_path: Any):
    make_memory(container, "likes tea")
    drill, _ = planted()
    backup = a_backup(tmp_path)
    run_inline(Job.objects.get(kind=running.DRILL), now=NOON)
    backup.put_back()

    reapply()
    running.continue_drill(now=LATER)
    run_inline(Job.objects.filter(kind=running.DRILL, state="queued").latest("pk"), now=LATER)

    drill.refresh_from_db()
    assert drill.state != DrillState.RUNNING
    assert not Subject.objects.filter(user_id__startswith=names.person_of(drill)).exists()
    assert (Container.objects.count(), tidying.guarding.is_gone(drill)) == (1, True)
    assert reapplying.plan().is_empty
