"""A word from a memory and an id from outside are nowhere but in the memories: not in the log, in jobs, in log files or in mails."""

import logging
import re
from datetime import timedelta

import pytest
from django.apps import apps
from django.core import mail
from django.db import connection

from memadmin.audit import log
from memadmin.erasure import alarms
from memadmin.jobs import queue
from memadmin.jobs.models import Job
from memadmin.jobs.runner import run_inline
from memadmin.store import deleting, editing, holding, pinning, suppression
from memadmin.store.models import Archived, ItemType, LongTermMemory, Mode, WorkingMemory
from memadmin.store.suppression import Terms
from memadmin.webhooks import subscriptions
from memadmin.webhooks.models import Event
from memadmin.webhooks.subscriptions import SubscriptionSpec
from memadmin.webhooks.tasks import WEBHOOKS, start_webhooks
from tests.api.v1.calls import caller_of
from tests.erasure.executing import execute
from tests.erasure.workflow import approved, opened
from tests.factories import ACTOR, NOON, a_memory, days, make_container, store
from tests.holds import hold
from tests.runs import a_policy, carry_out, governed, preview
from tests.tokens import api_of
from tests.webhooks.conftest import receiver  # noqa: F401  # a fixture

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


def tell_others(now):
    for minute in range(3):
        start_webhooks(now=now + timedelta(minutes=minute))
        for job in Job.objects.filter(kind=WEBHOOKS, state="queued"):
            run_inline(job, now=now + timedelta(minutes=minute))


@pytest.mark.django_db(transaction=True)
def test_f83_an_eviction_and_an_erasure_tell_no_other_system_a_word_or_an_id(logged, receiver):  # noqa: F811
    container = governed(a_policy(long_term={"retention_days": 2}), external_id="c1", owner={"name": "ana"})
    subscriptions.subscribe(SubscriptionSpec(url=receiver.url, events=list(Event), containers=None), actor=ACTOR, now=NOON)
    store(container, a_memory(f"old {WORD}", user_id=WHO, days_old=9), a_memory(f"new {WORD}", user_id=WHO))
    carry_out(preview(container))
    tell_others(NOON)
    editing.edit_memory(LongTermMemory.objects.get(), {"text": f"newer {WORD}"}, actor=ACTOR, now=NOON)
    request = opened(WHO, containers=[container])
    run_inline(queue.enqueue(alarms.ALARM, requested_by="job/erasure.alarm", now=NOON + days(25)), now=NOON + days(25))
    tell_others(NOON + days(25))  # while the papers of the request still name the person
    approved(request, now=NOON + days(25))
    execute(request, now=NOON + days(25))
    tell_others(NOON + days(26))

    told = b"".join(receiver.bodies).decode() + str(receiver.headers)
    assert request.state == "completed"
    assert {"run.finished", "memory.evicted", "erasure.due"} <= set(re.findall(r'"event": ?"([\w.]+)"', told))
    assert [canary for canary in (WORD, WHO) if canary in told] == []
    assert everywhere() == set()
    assert [record.getMessage() for record in logged.records if not record.name.startswith("django.db") and _says(record)] == []
