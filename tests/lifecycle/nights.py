"""Whole nights over a store with victims of every kind, for tests that interrupt them."""

from django.core.management import call_command
from django.db import connection

from memadmin.audit import checkpoints, log, verification
from memadmin.audit.models import AuditEntry
from memadmin.jobs.models import Job
from memadmin.jobs.registry import JobView
from memadmin.lifecycle.models import Run, RunKept, RunVictim
from memadmin.lifecycle.tasks import tonight
from memadmin.store import configuration
from memadmin.store.models import Archived, Container, HistoryEntry, LongTermMemory, Session, Subject, WorkingMemory
from memadmin.store.models.subjects import COUNTERS
from tests.factories import ACTOR, NOON, a_change, a_memory, a_message, a_session, days, make_container, store
from tests.runs import a_policy, assert_store_agrees, governed

POLICY = a_policy(sessions={"retention_days": 30}, long_term={"retention_days": 90}, history={"max_count": 2}, relevance={"max_records": 3})
known: list[dict] = []  # what is left after a night without interruption: always the same, so it is found out once


def without_second_person():
    configuration.change("approval_items", 1_000_000, actor=ACTOR, now=NOON)
    configuration.change("approval_percent", 100, actor=ACTOR, now=NOON)


def a_full_store():
    """Victims of every kind in one container, one that gets the default policy, and one without sessions and without a policy."""
    configuration.change("working_memory_ttl_days", 30, actor=ACTOR, now=NOON)
    without_second_person()
    main = governed(POLICY, "main", orphan_baseline_at=NOON - days(30), removes_unattributed=True)
    for number in range(3):
        store(main, a_session(f"old-{number}", days_old=60, user_id=f"u{number}", last_updated_at=NOON - days(60)))
        store(main, a_message("said", session_ref=f"old-{number}", user_id=f"u{number}", created_at=NOON - days(60)))
    Session.objects.update(last_updated_at=NOON - days(60))
    store(
        main,
        a_session("young", days_old=1),
        *(a_memory(f"fact {n}", days_old=n * 20 + 1, last_updated_at=NOON - days(1)) for n in range(8)),
    )
    store(main, *(a_change(f"change {n}", created_at=NOON - days(n)) for n in range(5)))
    for number in range(3):
        store(main, a_message(session_ref=f"gone-{number}", session_gone=True, created_at=NOON - days(20)))
        store(main, a_message(session_ref=None, user_id=None, created_at=NOON - days(20 + number)))
    plain = make_container("plain", sessions_enabled=False)
    store(plain, *(a_message(session_ref=None, created_at=NOON - days(40 + n)) for n in range(3)))
    second = governed(POLICY, "second", orphan_baseline_at=NOON - days(30))
    store(second, *(a_memory(f"other {n}", days_old=n + 1) for n in range(5)))


def what_is_left():
    """What is left, in words that two stores share: the rows by what they say, the counters, the runs and the log by number."""
    left = {
        "sessions": sorted(Session.objects.values_list("external_id", flat=True)),
        "working": sorted(WorkingMemory.objects.values_list("created_at", "session_ref"), key=str),
        "memories": sorted(LongTermMemory.objects.values_list("text", flat=True)),
        "history": sorted(map(str, HistoryEntry.objects.values_list("after", flat=True))),
        "archive": sorted(Archived.objects.values_list("item_type", "reason", "expires_at"), key=str),
        "counters": sorted(map(str, Subject.objects.values_list("container__name", "user_id", *COUNTERS))),
        "runs": list(Run.objects.order_by("number").values_list("container__name", "state", "planned", "removed", "kept", "outcome")),
        "victims": RunVictim.objects.count(),
        "kept": RunKept.objects.count(),
        "baselines": sorted(map(str, Container.objects.values_list("name", "orphan_baseline_at"))),
    }
    left["log"] = sorted(map(str, AuditEntry.objects.values_list("action", "counts", "reason_code")))
    return left


def assert_nothing_is_amiss(now=NOON):
    """The counters are those of the rows, and the log is whole and says what the runs say."""
    assert_store_agrees()
    while log.seal(actor="job/seal", now=now):
        pass
    assert verification.verify(connection, anchors=checkpoints.folder()).findings == []
    ended = AuditEntry.objects.filter(action="run.finished").values_list("target", "counts")
    said = sorted((int(target.rpartition("/")[2]), counts["removed"], counts["kept"]) for target, counts in ended)
    assert said == sorted(Run.objects.filter(state="finished").values_list("number", "removed", "kept"))


def view(cursor, attempt=1):
    job = Job(kind="nightly", cursor=cursor, attempts=attempt, max_attempts=5, requested_by="job/nightly")
    return JobView(
        id=0,
        uid=job.uid,
        kind="nightly",
        target="",
        cursor=cursor,
        done=0,
        total=None,
        attempt=attempt,
        max_attempts=5,
        requested_by="job/nightly",
        token="",
    )


def a_whole_night(step=None):
    """Go from step to step to the end of the night; `step` takes one from a cursor."""
    cursor = None
    while True:
        done = tonight(view(cursor), now=NOON) if step is None else step(cursor)
        if done.finished:
            return
        cursor = done.cursor


def undisturbed():
    """What is left of a store after a night without interruption. The store is emptied again."""
    if not known:
        a_full_store()
        a_whole_night()
        known.append(what_is_left())
        assert_nothing_is_amiss()
        assert [run[1] for run in known[0]["runs"]] == ["finished"] * 3
        assert sum(run[3] for run in known[0]["runs"]) > 20
        call_command("flush", interactive=False, verbosity=0)
    return known[0]
