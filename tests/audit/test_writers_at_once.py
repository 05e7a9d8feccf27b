"""Several writers at once: the chain has no fork, seq has no gap, and nothing is lost."""

import os
import subprocess
import sys
import threading
from collections import Counter
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from django.conf import settings
from django.db import OperationalError, connection, transaction
from django.db.models import Count

from memadmin.audit import log, verification
from memadmin.audit.actions import Action
from memadmin.audit.models import AuditEntry, Stream
from tests.databases import database_url
from tests.jobs.at_once import at_once, outcomes_at_once

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
WRITERS, EACH = 4, 25

pytestmark = pytest.mark.django_db(transaction=True)


def append(number, payload=None):
    return log.append(Action.MEMORY_PINNED, actor=f"person/{number}", target="long-term/1", at=AT, payload=payload)


def seqs():
    return list(AuditEntry.objects.order_by("seq").values_list("seq", flat=True))


def test_f89_writers_at_once_make_one_chain():
    def work(number):
        for _ in range(EACH):
            with transaction.atomic():
                append(number, {"reason": "asked"})

    assert outcomes_at_once(*(partial(work, number) for number in range(WRITERS))) == [None] * WRITERS

    assert seqs() == list(range(1, WRITERS * EACH + 1))
    assert verification.verify(connection).findings == []


def test_f89_while_one_act_is_not_done_nobody_else_learns_the_end_of_the_chain():
    """What makes writers queue is the lock on the head alone: by the uniqueness of a number one of two would fail instead of wait."""
    holds, looked, learned = threading.Event(), threading.Event(), []

    def append_slowly():
        with transaction.atomic():
            append(1)
            holds.set()
            looked.wait(timeout=60)

    def look_at_the_end():
        holds.wait(timeout=60)
        try:
            wait_a_moment_only()
            with transaction.atomic():
                learned.append(log._locked_head(Stream.GOVERNANCE).seq)
        finally:
            looked.set()

    with transaction.atomic():
        append(0)

    _, refused = outcomes_at_once(append_slowly, look_at_the_end)

    assert (type(refused), learned) == (OperationalError, [])
    with transaction.atomic():
        append(2)
    assert seqs() == [1, 2, 3]


def wait_a_moment_only():
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = 200" if connection.vendor == "postgresql" else "PRAGMA busy_timeout = 200")


def test_the_very_first_entries_written_at_once_make_one_chain():
    def work():
        with transaction.atomic():
            append(1)

    at_once(work, times=8)

    assert seqs() == list(range(1, 9))
    assert verification.verify(connection).findings == []


def test_81_acts_that_are_rolled_back_between_others_leave_no_gap():
    def work(number):
        for turn in range(EACH):
            with transaction.atomic():
                append(number)
                transaction.set_rollback((number + turn) % 2 == 0)

    assert outcomes_at_once(partial(work, 0), partial(work, 1)) == [None, None]

    assert seqs() == list(range(1, EACH + 1))
    assert verification.verify(connection).findings == []


def test_verifying_while_others_write_finds_nothing():
    written = threading.Event()
    reports = []

    def write():
        try:
            for _ in range(60):
                with transaction.atomic():
                    append(1, {"reason": "asked"})
        finally:
            written.set()

    def verify():
        while not written.is_set():
            reports.append(verification.verify(connection))

    assert outcomes_at_once(write, verify) == [None, None]

    assert reports
    assert [each.findings for each in reports if each.findings] == []


WRITE_FROM_PROCESSES = """
import django; django.setup()
import os, sys
from datetime import UTC, datetime
from django.db import OperationalError, connection, transaction
from memadmin.audit import log
from memadmin.audit.actions import Action
processes, each = int(sys.argv[1]), int(sys.argv[2])
children = []
for number in range(processes):
    child = os.fork()
    if child == 0:
        for turn in range(each):
            try:
                with transaction.atomic():
                    log.append(Action.DEMO_LOADED, actor=f"command/test-{number}", target="demo/1", at=datetime(2026, 3, 1, tzinfo=UTC))
            except OperationalError as refused:
                os.write(1, f"{number} {turn} {refused}\\n".encode())
        connection.close()
        os._exit(0)
    children.append(child)
sys.exit(max(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children))
"""
PROCESSES, APPENDS = 8, int(os.environ.get("MEMADMIN_AUDIT_APPENDS", "20"))  # 1000: minutes


def test_86_eight_processes_at_once_make_one_chain_without_loss_fork_or_gap():
    environment = {**os.environ, "DATABASE_URL": database_url(), "DJANGO_SETTINGS_MODULE": "memadmin.settings"}
    command = [sys.executable, "-c", WRITE_FROM_PROCESSES, str(PROCESSES), str(APPENDS)]

    done = subprocess.run(command, cwd=Path(settings.BASE_DIR), env=environment, check=False, stdout=subprocess.PIPE, text=True)

    refused = Counter(int(line.partition(" ")[0]) for line in done.stdout.splitlines())
    written = dict(AuditEntry.objects.values_list("actor").annotate(Count("seq")))
    assert done.returncode == 0
    assert verification.verify(connection).findings == []
    assert seqs() == list(range(1, sum(written.values()) + 1))
    assert written == {f"command/test-{number}": APPENDS - refused[number] for number in range(PROCESSES)}
    assert not refused, f"The chain is whole, and no act was done without its entry; who waited too long was refused: {done.stdout}"
