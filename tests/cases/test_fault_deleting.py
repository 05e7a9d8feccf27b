"""Group A of the inputs that broke others, where a person or an agent deletes: every way is the same way. Numbers: docs/cases.md."""

import json
from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from memadmin.access.models import Person
from memadmin.access.roles import Role
from memadmin.audit import log
from memadmin.audit.models import AuditEntry
from memadmin.jobs import queue
from memadmin.jobs.runner import run_inline
from memadmin.recall.nearness import nearest
from memadmin.recall.search import Question, recall
from memadmin.recall.touching import touch
from memadmin.store import embeddings
from memadmin.store.intake import Source
from memadmin.store.models import (
    Archived,
    Container,
    HistoryEntry,
    ItemType,
    LongTermMemory,
    Pin,
    Provenance,
    RecallEvent,
    Session,
    Subject,
)
from tests.api.v1.calls import caller_of, said
from tests.factories import NOON, a_pin, make_container, make_memory, make_session, subject_of
from tests.people import a_browser_of, auditor
from tests.runs import a_policy, assert_store_agrees, fill, governed
from tests.tokens import api_of
from tests.transfer.running import export_memories

pytestmark = pytest.mark.django_db
TEXT = "keeps a zebrafinch quietly"
NEIGHBOURS = {"zebrafinch and dog", "bob keeps a zebrafinch"}
Way = Callable[[UUID], int]


def by_a_page(uid: UUID) -> int:
    browser = Client()
    browser.force_login(Person.objects.filter(login="lea").first() or _lea())
    answer = browser.post(reverse("pages:memory-delete", args=[uid]), {"sure": "yes", "force": "on", "reason": "asked for"})
    return answer.status_code


def _lea() -> Person:
    a_browser_of(Role.COMPLIANCE, login="lea")
    return Person.objects.get(login="lea")


def by_the_compatible_api(uid: UUID) -> int:
    return api_of("ana").delete(f"/c1/memories/long-term/{uid}").status_code


def by_a_query(uid: UUID) -> int:
    query = {"query": {"match": {"memory": "quietly"}}}
    answer = api_of("ana").post("/c1/memories/long-term/_delete_by_query", query)
    return 200 if json.loads(answer.content)["deleted"] else 404


def by_our_api(uid: UUID) -> int:
    return caller_of("ana").call("DELETE", f"/containers/c1/memories/{uid}?force=true&reason=asked").status_code


WAYS: dict[Way, str] = {by_a_page: "person/", by_the_compatible_api: "token/", by_a_query: "token/", by_our_api: "token/"}


@pytest.fixture
def container() -> Container:
    return make_container(external_id="c1", owner={"name": "ana"})


@pytest.fixture
def memory(container: Container) -> LongTermMemory:
    """One with everything that can hang on a memory, beside two that say nearly the same."""
    source = Source(item_type=ItemType.SESSION, uid=make_session(container, owner="ana").uid)
    made = make_memory(container, TEXT, owner="ana", pin=a_pin(), sources=[source], tokens=3)
    from_it = [Source(item_type=ItemType.LONG_TERM, uid=made.uid)]
    make_memory(container, "zebrafinch and dog", owner="ana", sources=from_it, tokens=4)
    make_memory(container, "bob keeps a zebrafinch", user_id="bob", pin=a_pin(), tokens=5)
    touch([made.pk], now=NOON)
    LongTermMemory.objects.update(embedding=embeddings.packed([1.0, 0.0]), embedding_model="m")
    return made


@pytest.mark.parametrize("way", WAYS)
def test_f11_by_every_way_the_same_goes_and_the_same_stays(memory: LongTermMemory, way: Way):
    ann = subject_of(memory.container)

    assert way(memory.uid) < 400

    ann.refresh_from_db()
    assert set(LongTermMemory.objects.values_list("text", flat=True)) == NEIGHBOURS
    assert [pin.subject.user_id for pin in Pin.objects.all()] == ["bob"]
    assert (ann.long_term, ann.pinned_long_term, ann.tokens, ann.sessions) == (1, 0, 4, 1)
    assert (Provenance.objects.count(), RecallEvent.objects.count(), Session.objects.count()) == (2, 1, 1)  # that outlives a memory
    assert not Archived.objects.exists()
    assert_store_agrees()


@pytest.mark.parametrize("way", WAYS)
def test_f04_f09_what_was_deleted_is_found_by_no_way(memory: LongTermMemory, way: Way, tmp_path: Any):
    container, compatible, api, lea = memory.container, api_of("ana"), caller_of("ana"), a_browser_of(Role.COMPLIANCE, login="lea")
    search = {"query": {"match": {"memory": "quietly"}}}
    page = reverse("pages:user-memories", args=[subject_of(container).uid])
    assert [hit["_source"]["memory"] for hit in compatible.post("/c1/memories/long-term/_search", search).json()["hits"]["hits"]] == [TEXT]
    assert TEXT in lea.get(page, {"q": TEXT}).content.decode()

    way(memory.uid)

    assert compatible.post("/c1/memories/long-term/_search", search).json()["hits"]["hits"] == []
    assert {found.memory.text for found in recall(container, Question(TEXT, "ann"), now=NOON)} <= NEIGHBOURS
    assert len(nearest(LongTermMemory.objects.all(), [1.0, 0.0], model="m", k=10, least=-1.0)) == 2
    assert {item["text"] for item in said(api.get("/containers/c1/memories?user_id=ann"))["items"]} == {"zebrafinch and dog"}
    assert api.get(f"/containers/c1/memories/{memory.uid}").status_code == 404
    assert compatible.get(f"/c1/memories/long-term/{memory.uid}").status_code == 404
    answer = lea.get(page)
    assert TEXT not in answer.content.decode()
    assert answer["Cache-Control"] == "private, no-store"
    assert lea.get(reverse("pages:memory-detail", args=[memory.uid])).status_code == 404
    assert TEXT not in [line.get("text") for line in export_memories(tmp_path / "all.jsonl", "--container", container.name)]


@pytest.mark.parametrize("way", WAYS)
def test_f20_what_never_was_and_what_has_gone_are_not_deleted_and_the_log_claims_nothing(memory: LongTermMemory, way: Way):
    deleted = AuditEntry.objects.filter(action__in=["item.deleted", "items.deleted"])
    if way is not by_a_query:
        assert way(uuid4()) == 404
        assert not deleted.exists()

    answers = [way(memory.uid), way(memory.uid)]

    assert (answers[0] < 400, answers[1]) == (True, 404)
    assert deleted.count() == 1


def test_f20_a_container_is_deleted_once_and_one_that_never_was_not_at_all(container: Container):
    api, everything = api_of("ana"), "?delete_all_memories=true"
    deleted = AuditEntry.objects.filter(action="container.deleted")
    assert (api.delete(f"/nowhere{everything}").status_code, deleted.count()) == (404, 0)

    answers = [api.delete(f"/{container.uid}{everything}").status_code for _ in range(2)]

    assert (answers, deleted.count()) == ([200, 404], 1)


@pytest.mark.parametrize("way", WAYS)
def test_f87_every_deletion_by_hand_names_who_did_it(memory: LongTermMemory, way: Way):
    way(memory.uid)

    entry = AuditEntry.objects.get(action__in=["item.deleted", "items.deleted"])
    assert UUID(entry.actor.removeprefix(WAYS[way]))
    assert (entry.counts["pinned"], str(memory.uid) in entry.target) == (1, way is not by_a_query)


def by_the_night(container: Container) -> None:
    run_inline(queue.enqueue("nightly", requested_by="job/nightly", now=NOON), now=NOON)


def by_a_command(container: Container) -> None:
    call_command("run_retention", "--commit", "--as-of", NOON.isoformat(), verbosity=0)


def with_their_container(container: Container) -> None:
    api_of("ana").delete(f"/{container.uid}?delete_all_memories=true")


@pytest.mark.parametrize(
    ("way", "action", "actor"),
    [
        (by_the_night, "run.finished", "job/nightly"),
        (by_a_command, "run.finished", "command/run_retention"),
        (with_their_container, "container.deleted", "token/"),
    ],
)
def test_f87_what_goes_in_numbers_names_who_did_it_and_how_many(way: Callable[[Container], None], action: str, actor: str):
    container = governed(a_policy(long_term={"retention_days": 2}), owner={"name": "ana"})
    fill(container, 5)

    way(container)

    entry = AuditEntry.objects.get(action=action)
    assert entry.actor.startswith(actor)
    assert 5 - LongTermMemory.objects.count() in entry.counts.values()


def test_f87_what_goes_along_with_a_session_is_counted_in_its_entry(container: Container):
    session = make_session(container, messages=3)

    a_browser_of(Role.COMPLIANCE, login="lea").post(
        reverse("pages:session-delete", args=[session.uid]), {"sure": "yes", "messages": "delete"}
    )

    assert AuditEntry.objects.get(action="item.deleted").counts == {"pinned": 0, "working": 3, "working_left": 0}


def test_f87_f19_the_account_of_somebody_goes_and_what_they_did_stays_readable(memory: LongTermMemory):
    by_a_page(memory.uid)
    lea = Person.objects.get(login="lea")
    before = list(AuditEntry.objects.values())
    actor = f"person/{lea.uid}"

    lea.delete()

    assert list(AuditEntry.objects.values()) == before
    assert AuditEntry.objects.get(action="item.deleted").actor == actor
    page = auditor().get(reverse("pages:audit-list"), {"actor": actor})
    assert {(row["entry"].actor, row["entry"].action) for row in page.context["rows"]} >= {(actor, "item.deleted")}
    call_command("verify_audit_log", verbosity=0)


@pytest.mark.parametrize("actor", ["", " ", "lea", "person/"])
def test_f87_no_entry_is_written_without_somebody(actor: str):
    with pytest.raises(log.InvalidEntry):
        log.append("item.deleted", actor=actor, target="long-term/1", at=NOON)


def test_f01_f24_more_than_any_batch_goes_and_is_counted(container: Container, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("memadmin.api.opensearch.searches.AT_ONCE", 7)
    monkeypatch.setattr("memadmin.store.deleting.AT_ONCE", 3)
    fill(container, 101, owner="ana")
    fill(container, 2, user_id="bob", owner="ana")
    query = {"query": {"term": {"namespace.user_id": "ann"}}}
    Session.objects.update(namespace={"user_id": "ann"})
    LongTermMemory.objects.filter(subject__user_id="ann").update(namespace={"user_id": "ann"})

    answer = api_of("ana").post("/c1/memories/long-term/_delete_by_query", query).json()

    assert (answer["deleted"], LongTermMemory.objects.filter(subject__user_id="ann").count()) == (101, 0)
    assert LongTermMemory.objects.filter(subject__user_id="bob").count() == 2
    assert sum(entry.counts["deleted"] for entry in AuditEntry.objects.filter(action="items.deleted")) == 101
    assert_store_agrees()


@pytest.mark.parametrize("query", [None, {}, {"query": {}}, {"query": None}, {"query": {"match": {"memory": ""}}}])
def test_f03_a_deletion_without_a_scope_deletes_nothing(memory: LongTermMemory, query: Any):
    before = HistoryEntry.objects.count()

    answer = api_of("ana").post("/c1/memories/long-term/_delete_by_query", query)

    assert answer.status_code == 400 or answer.json()["deleted"] == 0
    assert (LongTermMemory.objects.count(), HistoryEntry.objects.count()) == (3, before)


@pytest.mark.parametrize("name", ["*", "%", "an*", "an_", " ann", "ann ", "ANN", ""])
def test_f03_a_deletion_of_a_user_whom_nobody_knows_deletes_nothing(memory: LongTermMemory, name: str):
    LongTermMemory.objects.filter(subject__user_id="ann").update(namespace={"user_id": "ann"})

    api_of("ana").post("/c1/memories/long-term/_delete_by_query", {"query": {"term": {"namespace.user_id": name}}})

    assert LongTermMemory.objects.count() == 3
    assert Subject.objects.get(user_id="ann").long_term == 2
