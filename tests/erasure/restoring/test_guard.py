"""Whether the database is as new as what lies outside of it, and who is served while it is not."""

from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from django.conf import settings as django_settings
from django.db import connection, transaction
from django.utils import timezone

from memadmin.access.roles import Role
from memadmin.audit import anchors, checkpoints, ledger, log
from memadmin.audit.actions import Action
from memadmin.erasure.models import ErasureRequest
from memadmin.erasure.restoring import guard, reapplying
from memadmin.erasure.restoring.guard import Reason, State
from memadmin.jobs import queue, registry, tasks
from memadmin.jobs.models import Heartbeat, Job, JobState
from memadmin.management.refusing import refusal_of
from tests.audit_protection import lifted
from tests.erasure.papers import a_request
from tests.factories import ACTOR, NOON
from tests.people import make_person

pytestmark = pytest.mark.django_db
SHUT = State((Reason.OLDER, Reason.ERASURES), "")


@pytest.fixture(autouse=True)
def looking(monkeypatch):
    monkeypatch.setattr(guard, "_seen", guard._Seen())


@pytest.fixture
def shut(monkeypatch):
    monkeypatch.setattr(guard, "_seen", guard._Seen(state=SHUT, until=float("inf")))


def begun(request_uid, *, attempt=1):
    facts = {"kind": "erase_subject", "number": 7, "attempt": attempt, "digest": "d", "key_id": "k", "subjects": [], "items": []}
    ledger.write("intent", request=str(request_uid), at=NOON, facts=facts)


def act(number=1):
    for _ in range(number):
        with transaction.atomic():
            log.append(Action.MEMORY_PINNED, actor="person/1", target="long-term/1", at=NOON)


def cut_tail(keep):
    """Let the log end with an older row, as it does in an older database."""
    with lifted(), connection.cursor() as cursor:
        cursor.execute("SELECT row_hash FROM audit_entry WHERE stream = 'governance' AND seq = %s", [keep])
        (row_hash,) = cursor.fetchone()
        cursor.execute("DELETE FROM audit_entry WHERE seq > %s", [keep])
        cursor.execute("UPDATE audit_head SET seq = %s, row_hash = %s", [keep, row_hash])


def test_a_new_installation_is_open():
    assert guard.look().is_open


def test_an_anchored_log_is_open_and_one_that_lacks_the_anchored_row_is_not():
    act(3)
    checkpoints.write(actor=ACTOR, now=NOON)
    assert guard.look().is_open
    cut_tail(2)

    assert guard.look().reasons == (Reason.OLDER,)


def test_who_worked_with_an_older_database_until_it_was_as_long_again_is_noticed_too():
    act(3)
    checkpoints.write(actor=ACTOR, now=NOON)
    cut_tail(1)
    act(9)

    assert guard.look().reasons == (Reason.OLDER,)
    with pytest.raises(checkpoints.DatabaseOlder):
        checkpoints.write(actor=ACTOR, now=NOON)
    assert checkpoints.accept_restore(actor=ACTOR, now=NOON)
    assert guard.look().reasons == (Reason.UNFINISHED,)


def test_an_erasure_of_the_ledger_that_the_database_does_not_know_shuts_it():
    begun(uuid4())

    assert guard.look().reasons == (Reason.ERASURES,)


def test_an_erasure_that_is_under_way_shuts_nothing_and_one_begun_anew_since_does():
    request = a_request()
    ErasureRequest.objects.update(attempt=1)
    begun(request.uid)
    assert guard.look().is_open

    begun(request.uid, attempt=2)

    assert guard.look().reasons == (Reason.ERASURES,)


def test_what_is_complete_in_the_ledger_and_not_in_the_database_shuts_it():
    request = a_request()
    ErasureRequest.objects.update(attempt=1)
    begun(request.uid)
    ledger.write("completed", request=str(request.uid), at=NOON, facts={"certificate": "c", "attempt": 1})

    assert guard.look().reasons == (Reason.ERASURES,)
    ErasureRequest.objects.update(state="completed")
    assert guard.look().is_open


def test_69_checkpoints_that_went_missing_shut_it_but_not_in_the_moment_of_the_first_one():
    act()
    checkpoints.write(actor=ACTOR, now=timezone.now())
    (checkpoints.folder() / anchors.FILE).unlink()
    assert guard.look().is_open

    with transaction.atomic():
        log.append(Action.AUDIT_ANCHORED, actor=ACTOR, target="keys/x", at=timezone.now() - timedelta(hours=1))

    assert guard.look().reasons == (Reason.CHECKPOINTS_GONE,)


def test_a_damaged_ledger_shuts_it_and_names_the_file():
    begun(uuid4())
    file = Path(django_settings.ERASURE_LEDGERS[0])
    file.write_text(file.read_text().replace("intent", "insent"))

    found = guard.look()

    assert found.reasons == (Reason.LEDGER_DAMAGED,)
    assert str(file) in found.detail


def test_an_administrator_can_accept_the_loss_and_it_is_written_down_everywhere(django_capture_on_commit_callbacks):
    act(3)
    checkpoints.write(actor=ACTOR, now=NOON)
    begun(uuid4())
    cut_tail(2)

    with django_capture_on_commit_callbacks(execute=True):
        reapplying.accept_loss("the disk with the keys burned", actor="person/1", now=NOON)

    assert guard.look().is_open
    assert ledger.lines()[-1].kind == "loss_accepted"
    entry = log.latest("governance", 1)[0]
    assert (entry.action, entry.counts["erasures"]) == (Action.LEDGER_LOSS_ACCEPTED, 1)
    assert anchors.latest(checkpoints.folder()).ledger[0] == 2
    begun(uuid4())
    assert guard.look().reasons == (Reason.ERASURES,)  # what comes after is asked for again


def test_it_looks_every_few_seconds_with_few_queries_and_not_in_between(
    django_assert_max_num_queries, django_assert_num_queries, monkeypatch
):
    act()
    checkpoints.write(actor=ACTOR, now=NOON)
    request = a_request()
    ErasureRequest.objects.update(attempt=1)
    begun(request.uid)
    guard.state()
    with django_assert_num_queries(0):
        assert guard.state().is_open
    guard.look_again()

    with django_assert_max_num_queries(3):
        assert guard.state().is_open


@pytest.mark.parametrize("path", ["/_plugins/_ml/memory_containers/x", "/api/v1/containers"])
def test_programs_get_503_and_when_to_ask_again(shut, client, path):
    answer = client.get(path)

    assert (answer.status_code, answer["Retry-After"], answer["Content-Type"]) == (503, "60", "application/json")
    assert "An older database was put back. Nothing is read" in answer.content.decode()


def test_a_client_that_asks_for_the_version_gets_503_too(shut, client):
    assert client.get("/", headers={"Authorization": "Bearer x"}).status_code == 503


def test_who_signs_in_sees_why_and_what_to_do_and_nothing_else(shut, client):
    assert client.get("/containers/").status_code == 302
    client.force_login(make_person(Role.ADMINISTRATOR))

    for method in (client.get, client.post):
        answer = method("/containers/")

        assert answer.status_code == 503
        assert "reapply_erasures --commit" in answer.content.decode()
    assert client.get("/login/").status_code != 503


def test_support_staff_are_told_to_wait(shut, client):
    client.force_login(make_person(Role.SUPPORT))

    said = client.get("/").content.decode()

    assert "has to finish the restore" in said
    assert "manage.py" not in said


def test_readyz_says_why(shut, client):
    answer = client.get("/readyz")

    assert answer.status_code == 503
    assert answer.json()["ledger"] == "the database is older than its checkpoints; erasures are missing in the database"


def test_no_job_runs_and_the_clock_starts_none(shut):
    job = queue.enqueue("erasure.discover", target="erasure/x/1", requested_by=ACTOR, now=NOON)

    tasks.run_job(job.pk)
    tasks.tick()

    assert registry.work_is_held()
    assert list(Job.objects.values_list("state", "attempts")) == [(JobState.QUEUED, 0)]
    assert Heartbeat.objects.exists()  # the worker is well all the same


@pytest.mark.parametrize(
    "words",
    [
        ("run_retention",),
        ("import_memories", "jsonl", "x"),
        ("export_memories",),
        ("erasure", "open"),
        ("audit_log", "anchor"),
        ("up", "--demo"),
    ],
)
def test_commands_that_change_something_refuse(shut, words):
    assert "reapply_erasures" in refusal_of(words)


@pytest.mark.parametrize(
    "words",
    [
        ("reapply_erasures", "--commit"),
        ("verify_audit_log",),
        ("check_store",),
        ("migrate",),
        ("up",),
        ("erasure", "show"),
        ("audit_log", "accept-restore"),
        (),
    ],
)
def test_commands_that_look_or_put_it_right_run(shut, words):
    assert refusal_of(words) == ""


def test_nothing_is_refused_while_it_is_open():
    assert refusal_of(("run_retention",)) == ""


ALONE = {
    Reason.LEDGER_GONE: "The ledger of erasures is missing",
    Reason.LEDGER_OLDER: "The ledger of erasures is older than its checkpoints",
    Reason.LEDGER_DAMAGED: "The ledger of erasures is damaged",
    Reason.CHECKPOINTS_GONE: "The checkpoints are missing",
    Reason.CHECKPOINTS_DAMAGED: "The checkpoints are damaged",
}


@pytest.mark.parametrize(("reason", "title"), ALONE.items())
def test_a_missing_or_damaged_file_is_not_called_an_older_database(client, monkeypatch, reason, title):
    monkeypatch.setattr(guard, "_seen", guard._Seen(state=State((reason,), "where"), until=float("inf")))
    client.force_login(make_person(Role.ADMINISTRATOR))

    page, api, command = client.get("/"), client.get("/api/v1/containers"), refusal_of(("run_retention",))

    assert f"{title}</h1>" in page.content.decode()
    assert page["X-Problem"].startswith(f"{title}: ")
    assert api.json()["errors"][0]["detail"].startswith(f"{title}. ")
    assert api.json()["errors"][0]["code"] == "not_in_step"
    for said in (page.content.decode(), page["X-Problem"], api.content.decode(), command):
        assert "put back:" not in said
        assert "older database was put back" not in said
        assert "since that backup" not in said


def test_an_older_database_counts_before_a_ledger_that_is_gone(client, monkeypatch):
    both = State((Reason.OLDER, Reason.LEDGER_OLDER))
    monkeypatch.setattr(guard, "_seen", guard._Seen(state=both, until=float("inf")))
    client.force_login(make_person(Role.ADMINISTRATOR))

    assert "An older database was put back</h1>" in client.get("/").content.decode()
