"""Several writers at the same moment."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from memadmin.store.check import check
from memadmin.store.models import HistoryEntry, LongTermMemory
from tests.api.v1.calls import Caller, caller_of
from tests.factories import make_container

WRITERS = 8


@pytest.mark.django_db(transaction=True)
def test_of_many_writes_with_one_id_one_is_stored_and_keeps_its_writer():
    make_container(external_id="c1", owner={"name": "tom"}, backend_roles=["cs"])
    writers = [caller_of(name, backend_roles=("cs",)) for name in ("tom", "rex")]

    def write(number: int) -> int:
        caller: Caller = writers[number % 2]
        try:
            return caller.post("/containers/c1/memories", {"user_id": "ann", "id": "m1", "text": f"by writer {number % 2}"}).status_code
        finally:
            connection.close()

    with ThreadPoolExecutor(WRITERS) as pool:
        answers = list(pool.map(write, range(WRITERS)))

    memory = LongTermMemory.objects.get()
    assert sorted(answers) == [201] + [409] * (WRITERS - 1)
    assert memory.text == f"by writer {['tom', 'rex'].index(memory.owner)}"
    assert (memory.revision, HistoryEntry.objects.count(), list(check())) == (1, 1, [])
