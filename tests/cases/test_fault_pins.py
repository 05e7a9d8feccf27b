"""F53 at its root: the statements that delete ask for pins and holds themselves, whatever was looked at before."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memadmin.store.models import Archived, LongTermMemory
from tests.cases.governing import under
from tests.factories import NOON, a_change, days, make_memory, make_session, store
from tests.runs import a_policy, carry_out, governed, preview

pytestmark = pytest.mark.django_db
DELETES = re.compile(r"DELETE FROM \"?store_(session|longtermmemory|historyentry)\b")
NOT_PINNED, NOT_HELD = (re.compile(rf"NOT (m\.)?{name}\b") for name in ("pinned", "held"))


@pytest.fixture(autouse=True)
def _at_noon(time_machine):
    time_machine.move_to(NOON, tick=False)


@pytest.mark.parametrize("archive_days", [None, 30])
def test_f53_every_deleting_statement_of_a_run_asks_for_pins_and_holds_itself(archive_days):
    limits = {"sessions": {"max_count": 1}, "long_term": {"max_count": 1}, "history": {"max_count": 1}}
    container = governed(a_policy(**limits), archive_days=archive_days)
    for number in range(2):
        make_session(container, f"s-{number}", days_old=9)
        make_memory(container, f"fact {number}", days_old=9)
        store(container, a_change(f"change {number}", created_at=NOON - days(9 + number)))
    run = preview(container)

    with CaptureQueriesContext(connection) as asked:
        carry_out(run)

    deleting = [sql for query in asked if (sql := " ".join(query["sql"].split())) and DELETES.search(sql)]
    assert {DELETES.search(sql)[1] for sql in deleting} == {"session", "longtermmemory", "historyentry"}
    assert [sql for sql in deleting if not (NOT_PINNED.search(sql) and NOT_HELD.search(sql))] == []


def test_f53_what_is_pinned_without_a_new_revision_has_no_copy_in_the_archive_either():
    memory = make_memory(under(ttl_days=10), days_old=900)
    run = preview(memory.container)
    LongTermMemory.objects.update(pinned=True)

    carry_out(run)

    assert (run.removed, run.kept, Archived.objects.count(), LongTermMemory.objects.count()) == (0, 1, 0, 1)
