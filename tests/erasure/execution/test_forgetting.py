"""What the database itself keeps of rows that were deleted, beside what anybody can still ask it for."""

import re
import zlib
from collections.abc import Iterable
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from django.db import connection, transaction

from memadmin.erasure.execution import physical
from memadmin.erasure.models import Status
from memadmin.erasure.planting import made_row_by_row, plant_person, plant_row
from memadmin.store.models import LongTermMemory
from tests.erasure.execution.test_execution import CANARY, PLANTED, erased
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
