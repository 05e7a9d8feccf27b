"""An execution whose process is really killed, twice in a row before and behind each of its commits, ends as if it had not been."""

import json
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings
from django.db import connection

from memadmin.audit import ledger
from memadmin.audit.models import AuditEntry, AuditPending
from memadmin.audit.verification import verify
from memadmin.erasure.execution import steps
from memadmin.erasure.models import ErasureRequest, PlaceOutcome, RequestSubject, Status
from memadmin.erasure.planting import made_row_by_row, plant_person, plant_row
from memadmin.jobs import reconcile
from memadmin.jobs.models import Job, JobState
from memadmin.jobs.runner import run_stretch
from memadmin.store.check import check
from memadmin.store.intake import Source
from memadmin.store.models import ItemType, LongTermMemory
from tests.backups import Backup, all_bytes
from tests.erasure.workflow import approved, opened
from tests.factories import ACTOR, NOON, a_memory, make_container, make_memory, store
from tests.holds import hold
from tests.jobs.forked import KILLED, die_at, in_a_process

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
CANARY = "zebrafinch7canary"
PLANTED = {"jobs.results", "access.browser_sessions", "store.recalls", "store.feedback", "lifecycle.run_victims"}
ONCE = ("erasure.claimed", "erasure.executed", "erasure.certified", "erasure.completed")
VARY = {"store_suppression": {"uid", "id", "digest"}, "store_subject": {"epoch"}}  # a fence that is shut once more moves the epoch again


@pytest.fixture
def request_(monkeypatch: pytest.MonkeyPatch) -> ErasureRequest:
    """A claimed request: everything of the person, somebody else who names them, a summary of both, and something held since."""
    monkeypatch.setattr("memadmin.erasure.execution.batches.AT_ONCE", 2)
    monkeypatch.setattr(steps, "next_size", lambda size, *, took: size)  # how many batches there are must not hang on how fast they go
    container = make_container()
    person = plant_person(container, CANARY, actor=ACTOR, now=NOON)
    for location in made_row_by_row():
        if location.name in PLANTED:
            plant_row(location, person, now=NOON)
    store(container, *(a_memory(f"number {number}", user_id=CANARY) for number in range(3)))
    store(container, a_memory(f"met {CANARY} at noon", user_id="bob"), a_memory("likes tea", user_id="bob"))
    sources = tuple(Source(item_type=ItemType.LONG_TERM, uid=each.uid) for each in LongTermMemory.objects.order_by("pk")[3:5])
    make_memory(container, "one of each", user_id="bob", strategy_type="SUMMARY", sources=sources)
    request = opened(CANARY)
    approved(request)
    steps.begin_approved(now=NOON)
    hold(LongTermMemory.objects.get(text="number 2"))
    return request


class Outside:
    """What lies beside the database: ledger and checkpoints, as they are now."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.here = folder, Path(settings.ERASURE_LEDGERS[0]).parent
        shutil.copytree(self.here, folder)

    def put_back(self) -> None:
        shutil.rmtree(self.here)
        shutil.copytree(self.folder, self.here)


def what_is_left() -> dict[str, Any]:
    """Return what the database and the ledger say, but for names that are made up anew each time."""
    found: dict[str, Any] = {}
    for model in apps.get_app_config("store").get_models():
        leave = VARY.get(model._meta.db_table, set())
        rows = model._default_manager.order_by("pk").values()
        found[model._meta.db_table] = [{name: value for name, value in row.items() if name not in leave} for row in rows]
    request = ErasureRequest.objects.get()
    document = json.loads(request.certificates.get().document)
    found["request"] = (request.state, request.outcome_code, request.attempt, request.error_code)
    found["names"] = list(RequestSubject.objects.values_list("user_id", flat=True))
    found["outcomes"] = list(PlaceOutcome.objects.order_by("location").values_list("location", "erased", "redacted", "withheld", "absent"))
    found["certificate"] = (document["places"], [look["outcome"] for look in document["verification"]["looks"]])
    found["ledger"] = [(line.kind, line.request) for line in ledger.lines()]
    found["log"] = set(AuditEntry.objects.values_list("action", flat=True))
    found["once"] = [AuditEntry.objects.filter(action=action).count() for action in ONCE]
    found["batches"] = sorted(json.loads(facts)["reason_code"] for facts in AuditPending.objects.values_list("facts", flat=True))
    return found


def one_step(job: Job) -> None:
    run_stretch(job.pk, clock=lambda: NOON, stretch=timedelta(0))


def work_until_done(job: Job, *, kills: int) -> int:
    """Take step after step in processes of their own; each is killed so often at a commit, then at the next one. Return how many."""
    killed, place, again = 0, 1, 0
    while Job.objects.get(pk=job.pk).state != JobState.DONE:
        before = Job.objects.values_list("cursor", flat=True).get(pk=job.pk)

        def dying(place: int = place) -> None:
            if kills:
                die_at(place)
            one_step(job)

        if in_a_process(dying) == KILLED:
            killed += 1
            Job.objects.filter(pk=job.pk).update(attempts=0)  # as if there were no end of attempts
            reconcile.reconcile(now=NOON + timedelta(minutes=6))
        if Job.objects.values_list("cursor", flat=True).get(pk=job.pk) != before:
            place, again = 1, 0
        else:
            again += 1
            place, again = (place + 1, 0) if again >= kills else (place, again)
    return killed


def test_1_2_3_killed_twice_in_a_row_at_each_commit_the_database_is_that_of_an_undisturbed_run(request_: ErasureRequest, tmp_path: Path):
    backup, outside = Backup(tmp_path / "backup"), Outside(tmp_path / "outside")
    job = Job.objects.get(kind=steps.EXECUTE)
    assert work_until_done(job, kills=0) == 0
    expected = what_is_left()
    assert (expected["request"][:2], CANARY.encode() in all_bytes()) == ((Status.COMPLETED, "partly"), True)  # what is held
    backup.put_back()
    outside.put_back()

    killed = work_until_done(job, kills=2)

    assert killed > 60
    assert what_is_left() == expected
    assert [line.kind for line in ledger.lines()].count("intent") == 1
    assert verify(connection).exit_code == 0
    assert list(check()) == []
