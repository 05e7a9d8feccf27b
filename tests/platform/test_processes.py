import sys
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from memadmin.jobs import heartbeat
from memadmin.management import processes
from memadmin.management.addresses import Address
from memadmin.management.processes import HeartbeatWatch, open_log

LONG_UP = 181.0  # seconds


@pytest.mark.django_db
@pytest.mark.parametrize(("age", "stuck"), [(179, False), (181, True)])
def test_a_worker_without_a_sign_of_life_for_three_minutes_is_stuck(age: int, stuck: bool):
    heartbeat.beat(timezone.now() - timedelta(seconds=age))
    watch = HeartbeatWatch()

    watch.check()

    assert watch.is_stuck(LONG_UP) is stuck


@pytest.mark.django_db
def test_a_worker_that_has_just_started_is_given_time():
    watch = HeartbeatWatch()

    watch.check()

    assert not watch.is_stuck(179.0)
    assert watch.is_stuck(LONG_UP)


@pytest.mark.django_db
def test_a_database_that_does_not_answer_says_nothing_about_the_worker(monkeypatch: pytest.MonkeyPatch):
    watch = HeartbeatWatch()
    watch.check()

    later = processes.time.monotonic() + processes.CHECK_IS_OLD_AFTER + 1
    monkeypatch.setattr(processes.time, "monotonic", lambda: later)

    assert not watch.is_stuck(LONG_UP)


def test_the_access_log_holds_no_query_string():
    command = processes.web(Address("127.0.0.1", 8000), environment={}, output=None).command

    written = command[command.index("--access-logformat") + 1]
    assert not {"%(q)s", "%(r)s", "%(f)s", "%(a)s", "%({referer}i)s"} & set(written.split())


def test_the_worker_runs_in_the_same_python_as_everything():
    assert processes.worker(HeartbeatWatch(), environment={}, output=None).command[0] == sys.executable


def test_a_long_log_is_put_aside(settings: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    settings.VAR_DIR = tmp_path  # type: ignore[attr-defined]
    monkeypatch.setattr(processes, "LOG_LIMIT", 3)
    for text in (b"one two", b"three"):
        with open_log("web") as log:
            log.write(text)

    assert (tmp_path / "log" / "web.log").read_text() == "three"
    assert (tmp_path / "log" / "web.log.1").read_text() == "one two"
