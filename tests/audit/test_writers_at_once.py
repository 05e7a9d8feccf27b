"""Several writers at once: the chain has no fork, seq has no gap, and nothing is lost."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection, transaction

from memadmin.audit import log, verification
from memadmin.audit.actions import Action
from memadmin.audit.models import AuditEntry
from tests.databases import database_url

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
WRITERS, EACH = 4, 25

pytestmark = pytest.mark.django_db(transaction=True)


def append(number, payload=None):
    return log.append(Action.MEMORY_PINNED, actor=f"person/{number}", target="long-term/1", at=AT, payload=payload)


def at_once(*works: Callable[[], None]) -> None:
    start, faults = threading.Barrier(len(works)), []

    def run(work):
        try:
            start.wait(timeout=30)
            work()
        except Exception as fault:  # noqa: BLE001  (shown below, where the test can fail with it)
            faults.append(fault)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=[work]) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert faults == []


def seqs():
    return list(AuditEntry.objects.order_by("seq").values_list("seq", flat=True))


def test_writers_at_once_make_one_chain():
    def work(number):
        for _ in range(EACH):
            with transaction.atomic():
                append(number, {"reason": "asked"})

    at_once(*(lambda number=number: work(number) for number in range(WRITERS)))

    assert seqs() == list(range(1, WRITERS * EACH + 1))
    assert verification.verify(connection).findings == []


def test_the_very_first_entries_written_at_once_make_one_chain():
    def work():
        with transaction.atomic():
            append(1)

    at_once(*[work] * 8)

    assert seqs() == list(range(1, 9))
    assert verification.verify(connection).findings == []


def test_acts_that_are_rolled_back_between_others_leave_no_gap():
    def work(number):
        for turn in range(EACH):
            with transaction.atomic():
                append(number)
                transaction.set_rollback((number + turn) % 2 == 0)

    at_once(*(lambda number=number: work(number) for number in range(2)))

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

    at_once(write, verify)

    assert reports
    assert [each.findings for each in reports if each.findings] == []


WRITE_FROM_A_PROCESS = """
import django; django.setup()
from datetime import UTC, datetime
from django.db import transaction
from memadmin.audit import log
from memadmin.audit.actions import Action
for number in range(30):
    with transaction.atomic():
        log.append(Action.DEMO_LOADED, actor="command/test", target="demo/1", at=datetime(2026, 3, 1, tzinfo=UTC))
"""


def test_processes_at_once_make_one_chain():
    environment = {**os.environ, "DATABASE_URL": database_url(), "DJANGO_SETTINGS_MODULE": "memadmin.settings"}
    command = [sys.executable, "-c", WRITE_FROM_A_PROCESS]

    writers = [subprocess.Popen(command, cwd=Path(settings.BASE_DIR), env=environment) for _ in range(2)]

    assert [writer.wait(timeout=120) for writer in writers] == [0, 0]
    assert seqs() == list(range(1, 61))
    assert verification.verify(connection).findings == []
