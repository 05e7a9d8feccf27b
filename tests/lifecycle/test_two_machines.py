"""A day in the life of two worker machines on one database: processes of their own, whose clocks are moved and differ."""

import multiprocessing
import os
import pydoc
import signal
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from itertools import takewhile

import pytest
import time_machine
from croniter import croniter
from django_q.brokers import get_broker
from django_q.conf import Conf
from django_q.models import OrmQ
from django_q.scheduler import scheduler
from django_q.signing import SignedPackage

from memadmin.jobs import registry, tasks
from memadmin.jobs.models import Job, JobState, Schedule
from memadmin.lifecycle import enforcement, nightly, sealing
from memadmin.lifecycle.models import Run
from memadmin.store import configuration
from tests.factories import ACTOR, NOON, days
from tests.jobs.forked import KILLED, fork
from tests.lifecycle.nights import a_full_store, assert_nothing_is_amiss

AT_A_TIME = timedelta(minutes=20)  # which the clock is moved by
BEHIND = {"first": timedelta(0), "second": timedelta(seconds=20)}
REPLACED_AFTER = timedelta(hours=2)
SECONDS = 120


class Machine:
    """A process that is told the time, and does what the scheduler and the workers of a machine do then."""

    def __init__(self, name, victim):
        self.name, self.worked = name, 0
        self.said, theirs = multiprocessing.Pipe()
        self.process = fork(partial(live, theirs, BEHIND[name], victim))
        theirs.close()  # so that the end of the process is the end of the pipe

    def tell(self, now):
        self.said.send(now)

    def is_done(self):
        """Wait until it has done what there was to do; False when it was killed over it."""
        assert self.said.poll(SECONDS), f"machine {self.name} does not answer"
        try:
            self.worked += self.said.recv()
        except EOFError:
            return False
        return True

    def end(self):
        """Let it come to its end, and return how that was."""
        with suppress(BrokenPipeError):  # it has
            self.tell(None)
        process, self.process = self.process, None
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def live(told, behind, victim):
    """The life of a machine. The first one that has evicted a second batch of the night is killed before it can commit it."""
    Conf.POLL = 0
    die_in_the_night(victim)
    broker, is_new = get_broker(), True
    while (now := told.recv()) is not None:
        with time_machine.travel(now - behind, tick=True):
            if is_new:
                tasks.on_worker_start()
            scheduler(broker)
            told.send(work_off(broker))
        is_new = False


def die_in_the_night(victim):
    count, batches = enforcement.count, []

    def dying(*args, **named):
        batches.append(True)
        with victim.get_lock():
            is_it = len(batches) == 2 and not victim.value
            victim.value = victim.value or is_it
        if is_it:
            os.kill(os.getpid(), signal.SIGKILL)
        count(*args, **named)

    enforcement.count = dying


def work_off(broker):
    """Do what waits in the queue, as a worker of django-q2 does, and return how many tasks there were."""
    done = 0
    while entries := broker.dequeue():
        for entry, package in entries:
            task = SignedPackage.loads(package)
            pydoc.locate(task["func"])(*task["args"], **task["kwargs"])
            broker.acknowledge(entry)
            done += 1
    return done


def a_day(start):
    """Let a day pass for both machines, and return them with the one that was killed and replaced."""
    machines, ended = {name: start(name) for name in BEHIND}, []
    back_at, now = None, NOON
    while now <= NOON + days(1):
        if back_at is not None and now >= back_at:
            machines[ended[0].name], back_at = start(ended[0].name), None
        alive = list(machines.values())
        for machine in alive:
            machine.tell(now)
        for machine in alive:
            if not machine.is_done():
                ended.append(machines.pop(machine.name))
                back_at = now + REPLACED_AFTER
        now += AT_A_TIME
    return [*machines.values()], ended


@pytest.fixture
def small_batches(monkeypatch):
    monkeypatch.setattr(nightly.time, "sleep", lambda _: None)
    for name in ("AT_ONCE", "AT_ONCE_ON_SQLITE", "COPIED", "SESSIONS"):
        monkeypatch.setattr(enforcement, name, 2)


@pytest.fixture
def start():
    """Starts a machine by its name; none outlives the test."""
    victim, started = multiprocessing.Value("q", 0), []

    def one(name):
        started.append(Machine(name, victim))
        return started[-1]

    yield one
    for machine in started:
        if machine.process is not None:
            os.kill(machine.process, signal.SIGKILL)
            machine.end()


@pytest.mark.slow
def test_in_a_day_on_two_machines_each_schedule_runs_once_at_each_of_its_times(transactional_db, small_batches, start):
    a_full_store()
    configuration.change("retention_throttle_seconds", 1, actor=ACTOR, now=NOON)

    machines, killed = a_day(start)

    assert [machine.end() for machine in machines] == [0, 0]
    assert [machine.end() for machine in killed] == [KILLED]
    assert all(machine.worked for machine in machines)  # how much each does hangs on who is faster
    slots = {kind: [slot_of(at, kind) for at in started(kind)] for kind in registry.CRONS}
    assert slots == {kind: times_of(kind) for kind in registry.CRONS}
    assert slots[nightly.KIND] == [NOON + timedelta(hours=15)]
    assert slots[sealing.HOURLY] == [NOON + timedelta(hours=hour, minutes=7) for hour in range(24)]
    assert not Job.objects.filter(kind__in=slots).exclude(state=JobState.DONE).exists()
    assert not Schedule.objects.filter(next_run_at__lte=NOON + days(1)).exists()
    assert OrmQ.objects.filter(lock__lte=NOON + days(1)).count() <= 1  # an entry for a tick that is still to come
    runs = Run.objects.order_by("number").values_list("container__name", "state", "kept")
    assert list(runs) == [(name, "finished", 0) for name in ("main", "plain", "second")]
    assert_nothing_is_amiss(now=NOON + days(1))


def started(kind):
    return Job.objects.filter(kind=kind).order_by("created_at").values_list("created_at", flat=True)


def slot_of(at, kind):
    """Return the time that a job was due at: the last one of its schedule before the clock came there."""
    return croniter(registry.CRONS[kind], at + BEHIND["second"] + timedelta(seconds=1)).get_prev(datetime)


def times_of(kind):
    """Return when a schedule is due in the day that passes."""
    return list(takewhile(lambda at: at <= NOON + days(1), croniter(registry.CRONS[kind], NOON).all_next(datetime)))
