"""Rows of the checklist of evicting by relevance that no test of one part shows: A13, A18, A19, A22, A29 and A54."""

import json
import re

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from memadmin.store.intake import Source
from memadmin.store.models import Archived, HistoryEntry, ItemType, LongTermMemory, Provenance, Session
from tests.api.v1.calls import caller_of
from tests.erasure.workflow import discovered, found, opened
from tests.factories import NOON, a_change, a_memory, days, make_container, make_memory, make_session, store
from tests.people import support
from tests.runs import a_policy, carry_out, fill, governed, make_old_session, preview
from tests.transfer.running import import_memories

pytestmark = pytest.mark.django_db
DELETES = re.compile(r'DELETE FROM "?store_', re.IGNORECASE)  # as Django writes it, and as we do
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
    said = Source(item_type=ItemType.SESSION, uid=session.uid)
    make_memory(
        container, "likes tea", external_id="m-1", importance=0.8, hits=2, tokens=70, last_accessed_at=NOON - days(1), sources=(said,)
    )

    memory = LongTermMemory.objects.select_related("subject", "container").get()

    assert (memory.external_id, memory.container.name, memory.subject.user_id) == ("m-1", "app", session.subject.user_id)
    assert (memory.text, memory.created_at, memory.last_accessed_at) == ("likes tea", NOON - days(1), NOON - days(1))
    assert (memory.hits, memory.importance, memory.pinned, memory.tokens) == (2, 0.8, False, 70)
    assert Provenance.objects.get(derived_uid=memory.uid).source_uid == session.uid


def test_a19_a_memory_leads_to_its_session_also_when_that_lies_in_the_archive():
    container = governed(a_policy(sessions={"retention_days": 50}))
    session = make_old_session(container, messages=2)
    memory = make_memory(container, sources=(Source(item_type=ItemType.SESSION, uid=session.uid),))

    carry_out(preview(container))
    page = " ".join(support().get(reverse("pages:memory-detail", args=[memory.uid])).content.decode().split())

    copy = Archived.objects.get()
    assert (copy.uid, Session.objects.count()) == (session.uid, 0)
    assert f"{reverse('pages:user-archive', args=[memory.subject.uid])}?from=2026-03-01#copy-{copy.uid}" in page


def test_a22_what_is_asked_of_one_user_is_answered_from_that_user_alone():
    container = make_container(external_id="c1", owner={"name": "ana"})
    make_memory(container, "likes tea", user_id="ann")
    make_memory(container, "likes tea", user_id="anna")
    make_memory(make_container("other"), "likes tea", user_id="ann")
    api = caller_of("ana", all_access=True)

    found = api.post("/containers/c1/recall", {"user_id": "ann", "query": "tea"}).json()["items"]
    listed = api.get("/containers/c1/memories?user_id=ann").json()["items"]

    assert [item["user_id"] for item in found] == [item["user_id"] for item in listed] == ["ann"]
    touched = LongTermMemory.objects.filter(hits=1)
    assert [(memory.subject.user_id, memory.container.name) for memory in touched] == [("ann", "pharmacy")]


def test_a22_the_same_id_of_two_users_is_two_memories_and_one_of_another_container_is_not_deleted():
    container, other = make_container(external_id="c1", owner={"name": "ana"}), make_container("other", external_id="c2")
    store(container, *(a_memory("likes tea", user_id=user_id, external_id="m-1") for user_id in ("ann", "anna", "ann")))
    foreign = make_memory(other, "likes tea", user_id="ann", external_id="m-1")

    answer = caller_of("ana", all_access=True).call("DELETE", f"/containers/c1/memories/{foreign.uid}")

    assert answer.status_code == 404
    assert LongTermMemory.objects.filter(container=container).count() == 2
    assert LongTermMemory.objects.filter(pk=foreign.pk).exists()


def test_a29_where_nothing_has_to_go_nothing_is_deleted():
    container = governed(a_policy(relevance={"max_records": 5}))
    fill(container, 5)

    with CaptureQueriesContext(connection) as asked:
        run = carry_out(preview(container))

    assert (run.state, run.planned, run.removed, LongTermMemory.objects.count()) == ("finished", 0, 0, 5)
    assert [query["sql"] for query in asked if DELETES.search(query["sql"])] == []


def test_a29_the_look_for_deleting_statements_finds_those_of_a_run_that_takes_something():
    container = governed(a_policy(relevance={"max_records": 5}))
    fill(container, 6)

    with CaptureQueriesContext(connection) as asked:
        carry_out(preview(container))

    assert [query["sql"] for query in asked if DELETES.search(query["sql"])] != []


def test_a54_what_an_eviction_leaves_behind_is_found_by_an_erasure():
    container = governed(a_policy(long_term={"retention_days": 7}))
    memory = make_memory(container, "likes tea", days_old=30, last_updated_at=NOON - days(30))
    store(container, a_change("likes tea", memory_uid=memory.uid))

    carry_out(preview(container))

    assert not LongTermMemory.objects.exists()
    assert (Archived.objects.count(), HistoryEntry.objects.count()) == (1, 1)
    places = {place for place, _, _ in found(discovered(opened("ann")))}
    assert {"store.archive", "store.history"} <= places
