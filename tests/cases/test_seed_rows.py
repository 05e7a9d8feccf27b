"""Rows of the checklist of evicting by relevance that no test of one part shows: A13, A18 and A54."""

import json

import pytest
from django.db import IntegrityError, transaction

from memadmin.store.models import Archived, HistoryEntry, LongTermMemory
from tests.api.v1.calls import caller_of
from tests.erasure.workflow import discovered, found, opened
from tests.factories import NOON, a_change, days, make_container, make_memory, make_session, store
from tests.runs import a_policy, carry_out, governed, preview
from tests.transfer.running import import_memories

pytestmark = pytest.mark.django_db
OUTSIDE = [-0.001, 1.001, 2, "high", True]


@pytest.mark.parametrize("importance", OUTSIDE)
def test_a13_an_importance_outside_0_to_1_is_refused_by_the_api(importance):
    make_container(external_id="c1", owner={"name": "ana"})
    body = {"user_id": "ann", "text": "likes tea", "importance": importance}

    answer = caller_of("ana").post("/containers/c1/memories", body)

    assert answer.status_code == 400
    assert not LongTermMemory.objects.exists()


@pytest.mark.parametrize("importance", OUTSIDE)
def test_a13_an_importance_outside_0_to_1_is_refused_by_an_import(tmp_path, importance):
    lines = [{"user_id": "ann", "memory": "likes tea", "importance": each} for each in (importance, 0.7)]
    path = tmp_path / "memories.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))

    answer = import_memories("jsonl", path)

    assert sum(answer.refused.values()) == 1
    assert [memory.importance for memory in LongTermMemory.objects.all()] == [0.7]


@pytest.mark.parametrize("importance", [-0.1, 1.1])
def test_a13_the_database_itself_takes_no_importance_outside_0_to_1(importance):
    memory = make_memory(make_container())

    with pytest.raises(IntegrityError), transaction.atomic():
        LongTermMemory.objects.filter(pk=memory.pk).update(importance=importance)


def test_a18_a_memory_knows_everything_that_a_rule_or_a_person_asks_for():
    container = make_container("app")
    session = make_session(container, "s-1")
    make_memory(container, "likes tea", external_id="m-1", importance=0.8, hits=2, tokens=70, last_accessed_at=NOON - days(1))

    memory = LongTermMemory.objects.select_related("subject", "container").get()

    assert (memory.external_id, memory.container.name, memory.subject.user_id) == ("m-1", "app", session.subject.user_id)
    assert (memory.text, memory.created_at, memory.last_accessed_at) == ("likes tea", NOON - days(1), NOON - days(1))
    assert (memory.hits, memory.importance, memory.pinned, memory.tokens) == (2, 0.8, False, 70)


def test_a54_what_an_eviction_leaves_behind_is_found_by_an_erasure():
    container = governed(a_policy(long_term={"retention_days": 7}))
    memory = make_memory(container, "likes tea", days_old=30, last_updated_at=NOON - days(30))
    store(container, a_change("likes tea", memory_uid=memory.uid))

    carry_out(preview(container))

    assert not LongTermMemory.objects.exists()
    assert (Archived.objects.count(), HistoryEntry.objects.count()) == (1, 1)
    places = {place for place, _, _ in found(discovered(opened("ann")))}
    assert {"store.archive", "store.history"} <= places
