"""What the database itself keeps of rows that were deleted, beside what anybody can still ask it for."""

import re
import sqlite3
import time
import zlib
from collections.abc import Iterable
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.db import connection, transaction

from memadmin.erasure.execution import physical, readers, steps
from memadmin.erasure.execution.progress import progress_of
from memadmin.erasure.execution.readers import HeldOpen
from memadmin.erasure.models import Status
from memadmin.erasure.planting import made_row_by_row, plant_person, plant_row
from memadmin.jobs.models import Job
from memadmin.jobs.runner import run_inline
from memadmin.store.models import LongTermMemory
from tests.erasure.execution.test_execution import CANARY, PLANTED, erased
from tests.erasure.workflow import approved, opened
from tests.factories import ACTOR, NOON, make_container, make_memory, subject_of

pytestmark = pytest.mark.django_db(transaction=True)
on_postgresql = pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite overwrites what it deletes")
TABLE = LongTermMemory._meta.db_table
PAGES = 120  # of which the person's rows lie on one: fewer than the fiftieth part


@contextmanager
def notices() -> Any:
    said: list[str] = []
    connection.ensure_connection()

    def heard(notice: Any) -> None:
        said.append(notice.message_primary)

    connection.connection.add_notice_handler(heard)
    try:
        yield said
    finally:
        connection.connection.remove_notice_handler(heard)


def dead_in_indexes() -> int:
    """Return to how many dead rows the indexes of the table lead still. Looking takes them away."""
    with notices() as said, connection.cursor() as cursor:
        cursor.execute(f"VACUUM (VERBOSE, INDEX_CLEANUP ON) {TABLE}")
    (of_table,) = [each for each in said if f'.{TABLE}"' in each and "finished vacuuming" in each]
    return int(re.search(r"had (\d+) dead item identifiers", of_table)[1])  # type: ignore[index]


def many_of_others(memory: LongTermMemory) -> None:
    columns = [column.column for column in LongTermMemory._meta.concrete_fields if column.column not in ("id", "uid", "external_id")]
    names = ", ".join(columns)
    with connection.cursor() as cursor:
        copies = f"SELECT {names}, gen_random_uuid() FROM {TABLE}, generate_series(1, %s) WHERE id = %s"
        cursor.execute(f"INSERT INTO {TABLE} ({names}, uid) {copies}", [PAGES * 40, memory.pk])
        cursor.execute(f"VACUUM ANALYZE {TABLE}")
        cursor.execute("SELECT relpages FROM pg_class WHERE relname = %s", [TABLE])
        assert cursor.fetchone()[0] >= PAGES


@on_postgresql
def test_f15_no_index_leads_to_the_few_rows_of_a_person_in_a_long_table_any_more():
    container = make_container()
    many_of_others(make_memory(container, "likes coffee, as many do", user_id="bob"))
    for number in range(5):
        make_memory(container, f"likes tea {number}", user_id="ann")
    subject = subject_of(container, "ann")

    with connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM {TABLE} WHERE subject_id = %s", [subject.pk])
    physical.forget([TABLE])

    assert dead_in_indexes() == 0


def tables_that_say(words: Iterable[str]) -> set[str]:
    """Return every table of the database with any of the words in any column of any row, packed ones unfolded."""
    with connection.cursor() as cursor:
        names = connection.introspection.table_names(cursor)
        found = set()
        for name in names:
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(name)}")
            said = "\n".join(_readable(value) for row in cursor.fetchall() for value in row)
            if any(word in said for word in words):
                found.add(name)
    return found


def _readable(value: Any) -> str:
    if not isinstance(value, bytes | memoryview):
        return str(value)
    raw = bytes(value)
    with suppress(zlib.error):
        raw = zlib.decompress(raw)
    return raw.decode("utf8", "replace")


SAYS = "jobs_job django_q_task django_q_schedule audit_payload" + "".join(
    f" store_{name}"
    for name in "subject session workingmemory longtermmemory historyentry archived pin recallevent feedback returned".split()
)
NAMES = "store_longtermmemory store_historyentry store_pin store_provenance"


def test_f15_the_text_and_the_id_of_a_memory_stand_in_many_tables_before_and_in_none_afterwards():
    container = make_container()
    person = plant_person(container, CANARY, actor=ACTOR, now=NOON)
    for place in made_row_by_row():
        if place.name in PLANTED:
            with transaction.atomic():
                plant_row(place, person, now=NOON)
    uids = [uid for row in LongTermMemory.objects.filter(subject=person.subject) for uid in (str(row.uid), row.uid.hex)]
    assert (set(SAYS.split()) - tables_that_say([CANARY]), set(NAMES.split()) - tables_that_say(uids)) == (set(), set())

    request = erased(CANARY)

    assert request.state == Status.COMPLETED
    assert (tables_that_say([CANARY]), tables_that_say(uids)) == (set(), set())


@contextmanager
def somebody_reads(name: str = "a backup") -> Any:
    """Another connection that sees the database as it is now until the end, as pg_dump and copies of the file do."""
    if connection.vendor == "sqlite":
        reader = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)
    else:
        reader = psycopg.connect(**{**connection.get_connection_params(), "application_name": name}, autocommit=True)
    try:
        reader.execute("BEGIN" if connection.vendor == "sqlite" else "BEGIN ISOLATION LEVEL REPEATABLE READ")
        reader.execute(f"SELECT COUNT(*) FROM {TABLE}").fetchone()
        yield reader
    finally:
        reader.close()


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(readers, "SHORT", 0.0)
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA busy_timeout = 50")


@pytest.mark.usefixtures("impatient")
def test_an_erasure_waits_for_who_sees_what_was_before_says_so_and_ends_by_itself_afterwards():
    make_memory(make_container(), "likes tea", user_id=CANARY)
    request = opened(CANARY)
    approved(request)
    steps.begin_approved(now=NOON)
    job = Job.objects.get(kind=steps.EXECUTE)

    with somebody_reads():
        for minute in range(8):  # more often than a job may fail
            with pytest.raises(HeldOpen):
                run_inline(job, now=NOON + timedelta(minutes=minute))
        request.refresh_from_db()
        waiting = progress_of(request).waiting

    assert (request.state, request.certificates.count()) == (Status.EXECUTING, 0)
    assert ("(a backup) has been reading since" if connection.vendor == "postgresql" else "reads in the file") in waiting
    run_inline(job, now=NOON + timedelta(hours=1))
    request.refresh_from_db()
    assert (request.state, progress_of(request).waiting) == (Status.COMPLETED, "")


def once_no_older_transaction_runs(before: str) -> None:
    """Wait for the other tests on this server: a snapshot counts from the oldest transaction that writes in any database."""
    with connection.cursor() as cursor:
        for _ in range(1200):
            cursor.execute("SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint >= %s", [int(before)])
            if cursor.fetchone()[0]:
                return
            time.sleep(0.1)
    raise AssertionError("A transaction has been running for two minutes.")


@on_postgresql
def test_who_begins_to_read_once_everything_is_erased_keeps_nobody_waiting(monkeypatch):
    make_memory(make_container(), "likes tea", user_id=CANARY)
    real, forgotten = physical.forget, []

    def while_somebody_reads(tables: Iterable[str], *, deleted_before: str) -> str:
        once_no_older_transaction_runs(deleted_before)
        with somebody_reads():
            forgotten.append(real(tables, deleted_before=deleted_before))
        return forgotten[-1]

    monkeypatch.setattr(physical, "forget", while_somebody_reads)

    assert erased(CANARY).state == Status.COMPLETED
    assert forgotten == ["L2", "L2"]  # of the rows, and of the papers


@on_postgresql
@pytest.mark.parametrize("what", ["reads", "writes"])
def test_whoever_may_still_see_dead_rows_is_known_and_a_dead_row_goes_when_they_have_ended(what: str):
    memory = make_memory(make_container())
    with somebody_reads() as other:
        if what != "reads":  # of a transaction that writes even later readers take its number for the oldest that runs
            other.execute("ROLLBACK")
            other.execute("BEGIN")
            other.execute("SELECT pg_current_xact_id()")
        LongTermMemory.objects.filter(pk=memory.pk)._raw_delete(connection.alias)
        found = readers.readers(readers.horizon())
    assert [(reader.pid is not None, reader.name) for reader in found] == [(True, "a backup")]
    readers.wait_for(readers.horizon())  # the server needs a moment to notice that they have gone
