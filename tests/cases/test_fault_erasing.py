"""Group A of the inputs that broke others: deleting and erasing. Numbers: docs/cases.md."""

import json
from dataclasses import replace
from uuid import UUID

import pytest
from django.urls import reverse

from memadmin.access.roles import Role
from memadmin.erasure import asking, naming
from memadmin.erasure.execution import steps
from memadmin.erasure.models import ErasureRequest, Kind, Status
from memadmin.jobs.models import Job
from memadmin.jobs.runner import run_inline
from memadmin.recall.search import Question, recall
from memadmin.store import locations
from memadmin.store.intake import Source
from memadmin.store.models import Archived, HistoryEntry, ItemType, LongTermMemory, Session, Subject, WorkingMemory
from tests.api.v1.calls import caller_of, said
from tests.erasure.workflow import approved, officer, opened, opened_for
from tests.factories import NOON, a_change, a_memory, days, make_container, make_memory, make_session, store, subject_of
from tests.people import a_browser_of, make_person
from tests.tokens import api_of
from tests.transfer.running import export_memories

pytestmark = pytest.mark.django_db
executes = pytest.mark.django_db(transaction=True)
MODELS = (LongTermMemory, Session, WorkingMemory, HistoryEntry, Archived)


def erased(request):
    approved(request)
    steps.begin_approved(now=NOON)
    run_inline(Job.objects.get(kind=steps.EXECUTE, target__endswith=str(request.uid)), now=NOON)
    request.refresh_from_db()
    return request


def rows_of(user, container):
    subject = subject_of(container, user)
    return [list(model.objects.filter(subject=subject).order_by("pk").values()) for model in MODELS]


@executes
def test_f01_f24_all_of_more_than_any_page_go_and_are_counted(monkeypatch):
    monkeypatch.setattr(asking, "PAGE", 7)
    container = make_container()
    store(container, *(a_memory(f"memory number {number}") for number in range(101)), a_memory("bob's", user_id="bob"))

    request = erased(opened())

    assert request.state == Status.COMPLETED
    assert request.outcomes.get(location="store.long_term").erased == 101
    assert [memory.text for memory in LongTermMemory.objects.all()] == ["bob's"]


@executes
def test_f03_one_session_of_one_user_goes_and_its_three_neighbours_are_equal_to_the_byte():
    container = make_container()
    for user in ("ann", "bob"):
        for number in (1, 2):
            make_session(container, f"{user}-{number}", user_id=user, messages=2)
    bob = rows_of("bob", container)
    other = list(WorkingMemory.objects.filter(session__external_id="ann-2").order_by("pk").values())

    erased(opened_for(Session.objects.get(external_id="ann-1"), kind=Kind.SESSION))

    assert rows_of("bob", container) == bob
    assert list(WorkingMemory.objects.filter(subject__user_id="ann").order_by("pk").values()) == other
    assert set(Session.objects.values_list("external_id", flat=True)) == {"ann-2", "bob-1", "bob-2"}


@executes
def test_f04_f09_what_was_found_a_moment_ago_is_found_by_no_way_after_the_erasure(tmp_path):
    container = make_container(external_id="c1", owner={"name": "ana"})
    memory = make_memory(container, "keeps a zebrafinch", owner="ana")
    make_memory(container, "bob reads Kafka", user_id="bob", owner="ana")
    compatible, api, lea = api_of("ana", all_access=True), caller_of("ana", all_access=True), a_browser_of(Role.COMPLIANCE, login="lea")
    search = {"query": {"match": {"memory": "zebrafinch"}}}
    assert len(compatible.post("/c1/memories/long-term/_search", search).json()["hits"]["hits"]) == 1
    assert len(recall(container, Question("zebrafinch", "ann"), now=NOON)) == 1

    erased(opened())

    assert compatible.post("/c1/memories/long-term/_search", search).json()["hits"]["hits"] == []
    assert recall(container, Question("zebrafinch", "ann"), now=NOON) == []
    assert compatible.get(f"/c1/memories/long-term/{memory.uid}").status_code == 404
    assert "zebrafinch" not in json.dumps(said(api.get("/containers/c1/memories?user_id=bob")))
    page = lea.get(reverse("pages:memory-detail", args=[memory.uid]))
    assert page.status_code == 404
    assert "zebrafinch" not in json.dumps(export_memories(tmp_path / "all.jsonl", "--container", container.name))


@pytest.mark.parametrize("spell", [str, lambda uid: str(uid).upper(), lambda uid: uid.hex, lambda uid: f"{{{uid}}}", lambda uid: uid.urn])
def test_f07_an_id_is_the_same_in_every_spelling(spell):
    memory = make_memory(make_container())

    things = naming.things_named(officer(), [f"long-term/{spell(memory.uid)}"])

    assert [thing.uid for thing in things] == [memory.uid]


@executes
def test_f05_f08_a_place_that_says_yes_and_does_nothing_is_no_completed_erasure(monkeypatch):
    container = make_container()
    store(container, a_memory())
    place = locations.get("store.long_term")
    monkeypatch.setitem(locations.LOCATIONS, place.name, replace(place, delete_listed=lambda listed: 1))

    request = erased(opened())

    assert request.state == Status.RESIDUE_FOUND
    assert request.verifications.latest("pk").findings.filter(table="store_longtermmemory").exists()
    assert not request.certificates.exists()


@executes
def test_f13_forgetting_one_fact_of_two_empties_the_summary_that_had_both():
    container = make_container()
    store(container, a_memory("her name is Petra"), a_memory("likes Python"))
    name, likes = (LongTermMemory.objects.get(text=text) for text in ("her name is Petra", "likes Python"))
    sources = [Source(item_type=ItemType.LONG_TERM, uid=each.uid) for each in (name, likes)]
    summary = make_memory(container, "Petra likes Python", strategy_type="SUMMARY", sources=sources)

    erased(opened_for(name))

    summary.refresh_from_db()
    assert "Petra" not in summary.text
    assert LongTermMemory.objects.filter(text="likes Python").exists()


@executes
def test_f19_the_account_of_a_member_of_staff_and_a_user_of_an_agent_end_apart():
    """A user's row is never deleted but by an erasure; that of a colleague takes no memories along."""
    container = make_container()
    store(container, a_memory())
    request = opened()
    gone = make_person(Role.SUPPORT, login="gone")

    gone.delete()

    assert ErasureRequest.objects.get() == request
    assert Subject.objects.filter(user_id="ann").exists()
    erased(request)
    assert not Subject.objects.filter(user_id="ann").exists()


def test_f21_a_session_id_is_no_memory_id_and_words_delete_nothing():
    container = make_container()
    session = make_session(container)
    make_memory(container, "likes tea")

    with pytest.raises(naming.NobodyMeant, match="no long-term memory"):
        naming.things_named(officer(), [f"long-term/{session.uid}"])
    naming.things_about(officer(), "likes", container)

    assert LongTermMemory.objects.count() == 1


@executes
def test_f11_f17_after_an_erasure_neither_history_nor_archive_nor_pins_tell_of_it():
    container = make_container()
    store(container, a_memory("likes tea"), a_change("likes tea"), a_change("likes mate", user_id="bob"))
    subject = subject_of(container)
    Archived.objects.create(
        uid=UUID(int=7),
        container=container,
        subject=subject,
        item_type="long-term",
        payload=b"{}",
        reason="ttl",
        archived_at=NOON - days(1),
    )
    Subject.objects.filter(pk=subject.pk).update(archived=1)

    erased(opened())

    assert [model.objects.filter(subject_id=subject.pk).count() for model in MODELS] == [0] * len(MODELS)
    assert [entry.after for entry in HistoryEntry.objects.all()] == [{"memory": "likes mate"}]
