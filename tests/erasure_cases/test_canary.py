"""A word from a memory and an id from outside are nowhere but in the memories: not in the log, in jobs, in log files or in mails."""

import logging

import pytest
from django.apps import apps
from django.core import mail
from django.db import connection

from memadmin.audit import log
from memadmin.store import deleting, editing, holding, pinning, suppression
from memadmin.store.models import Archived, ItemType, LongTermMemory, Mode, WorkingMemory
from memadmin.store.suppression import Terms
from tests.api.v1.calls import caller_of
from tests.factories import ACTOR, NOON, make_container
from tests.holds import hold
from tests.tokens import api_of

pytestmark = pytest.mark.django_db
WORD, WHO = "zebrafinch-4711", "canary.person@example.org"
HOME = {"store_session", "store_workingmemory", "store_longtermmemory", "store_historyentry", "store_archived", "store_subject"}


@pytest.fixture
def logged(caplog):
    caplog.set_level(logging.DEBUG)
    return caplog


def everywhere():
    """Return the tables, apart from those of the memories, in which the word or the id can be read."""
    found = set()
    for model in apps.get_models(include_auto_created=True):
        table = model._meta.db_table
        with connection.cursor() as cursor:
            if table not in HOME:
                cursor.execute(f'SELECT * FROM "{table}"')
                said = "\n".join(
                    str(bytes(value) if isinstance(value, memoryview) else value) for row in cursor.fetchall() for value in row
                )
                found |= {table for canary in (WORD, WHO) if canary in said}
    return found


def write(api, cid, text=f"My code is {WORD}"):
    said = [{"role": "user", "content": [{"type": "text", "text": text}]}]
    namespace = {"user_id": WHO, "session_id": f"s-{WHO}"}
    api.post(f"/{cid}/memories", {"messages": said, "payload_type": "conversational", "namespace": namespace})
    api.post(f"/{cid}/memories/long-term", {"memory": text, "namespace": {"user_id": WHO}})


def test_f83_89_writing_changing_and_deleting_leave_the_word_and_the_id_nowhere_else(logged):
    container = make_container(external_id="c1", owner={"name": "ana"})
    api = api_of("ana")
    write(api, "c1")
    memory = LongTermMemory.objects.get()
    assert WORD in memory.text

    editing.edit_memory(memory, {"text": f"changed {WORD}"}, actor=ACTOR, now=NOON)
    pinning.pin(memory, reason="safety", actor=ACTOR, now=NOON)
    placed = hold(memory)
    holding.release(placed, reason="closed", actor=ACTOR, now=NOON)
    api.post("/c1/memories/long-term/_search", {"query": {"match": {"memory": WORD}}})
    api.get(f"/c1/memories/long-term/{WORD}")
    api.post("/c1/memories/long-term/_search", {"query": {WORD: WHO}})
    caller_of("ana").post("/containers/c1/memories", {"user_id": WHO, "text": WORD, "importance": "no number"})
    deleting.delete_item(ItemType.LONG_TERM, memory, actor=ACTOR, now=NOON)
    ids = list(WorkingMemory.objects.values_list("pk", flat=True))
    deleting.delete_items(container, ItemType.WORKING, ids, actor=ACTOR, now=NOON)
    deleting.delete_container(container, with_memories=list(ItemType), actor=ACTOR, now=NOON)

    assert everywhere() == set()
    assert [record.getMessage() for record in logged.records if not record.name.startswith("django.db") and _says(record)] == []
    assert mail.outbox == []
    assert not Archived.objects.exists()


def test_f83_suppressing_and_setting_aside_leave_the_word_and_the_id_nowhere_else(logged):
    make_container(external_id="c1", owner={"name": "ana"})
    terms = Terms(mode=Mode.QUARANTINE)
    suppression.suppress_users([WHO], container=None, terms=terms, request_ref="erasure/7f0c", actor=ACTOR, now=NOON)
    suppression.suppress_texts([WORD], container=None, terms=terms, request_ref="erasure/7f0c", actor=ACTOR, now=NOON)

    write(api_of("ana"), "c1")

    assert everywhere() == set()
    assert [record.getMessage() for record in logged.records if not record.name.startswith("django.db") and _says(record)] == []


def test_89_the_leaves_of_the_log_cannot_be_made_to_say_a_name():
    for field in ({"actor": WHO}, {"target": f"users/{WHO}"}, {"reason_code": WORD + " x"}, {"counts": {WHO: 1}}):
        with pytest.raises(log.InvalidEntry) as refused:
            log.append("run.finished", **{"actor": "job/x", "target": "runs/1", "at": NOON, **field})
        assert WHO not in str(refused.value)


def _says(record):
    return any(canary in record.getMessage() + str(record.exc_info or "") for canary in (WORD, WHO))
