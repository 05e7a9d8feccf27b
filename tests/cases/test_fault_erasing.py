"""Group A of the inputs that broke others: deleting and erasing. Numbers: docs/cases.md."""

import json
from dataclasses import replace
from uuid import UUID

import pytest
from django.db import DatabaseError, connection
from django.db.models import ProtectedError
from django.urls import reverse

from memadmin.access.actors import actor_of
from memadmin.access.roles import Role
from memadmin.audit import ledger
from memadmin.audit.models import AuditEntry, AuditPayload
from memadmin.erasure import asking, naming
from memadmin.erasure.execution import resuming, steps
from memadmin.erasure.models import ErasureRequest, Kind, Status
from memadmin.jobs.models import Job
from memadmin.jobs.runner import run_inline
from memadmin.recall.search import Question, recall
from memadmin.recall.touching import touch
from memadmin.store import editing, locations, removal
from memadmin.store.check import check
from memadmin.store.intake import Source
from memadmin.store.models import Archived, HistoryEntry, ItemType, LongTermMemory, Provenance, Session, Subject, WorkingMemory
from memadmin.store.opening import Suppressed
from tests.api.v1.calls import caller_of, said
from tests.erasure.executing import execute, go_through
from tests.erasure.execution.test_execution import everything
from tests.erasure.workflow import approved, officer, opened, opened_for
from tests.factories import ACTOR, NOON, a_change, a_memory, days, make_container, make_memory, make_session, store, subject_of
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


@executes
def test_f12_of_two_sessions_with_a_fact_in_common_the_fact_of_one_alone_goes():
    container = make_container()
    first, second = make_session(container, "s1"), make_session(container, "s2")
    for text, sessions in {"a": [first], "b": [first, second], "c": [second]}.items():
        sources = [Source(item_type=ItemType.SESSION, uid=each.uid) for each in sessions]
        make_memory(container, text, sources=sources)

    erased(opened_for(first, kind=Kind.SESSION))

    left = dict(LongTermMemory.objects.values_list("uid", "text"))
    assert sorted(left.values()) == ["b", "c"]
    links = Provenance.objects.values_list("derived_uid", "source_uid")
    assert sorted((left[derived], source) for derived, source in links) == [("b", second.uid), ("c", second.uid)]


@executes
def test_f15_f17_of_a_memory_that_was_changed_three_times_no_word_is_left_in_any_table_or_index():
    words = [f"zebrafinch{number}canary" for number in range(4)]
    make_memory(make_container(), words[0])
    for word in words[1:]:
        editing.edit_memory(LongTermMemory.objects.get(), {"text": word}, actor=ACTOR, now=NOON)
    assert [word for word in words if word.encode() not in everything()] == []

    request = erased(opened())

    assert request.state == Status.COMPLETED
    assert [word for word in words if word.encode() in everything()] == []
    changes = AuditEntry.objects.filter(action="item.changed").order_by("seq")
    assert [json.loads(AuditPayload.objects.get(stream=each.stream, seq=each.seq).body) for each in changes] == [{"fields": ["text"]}] * 3
    assert not [line for line in ledger.lines() if any(word in json.dumps(line.facts) for word in words)]


@executes
def test_f16_a_table_that_is_not_there_stops_the_erasure_by_name_and_it_ends_once_it_is(monkeypatch):
    container = make_container()
    store(container, a_memory(), a_memory("bob's", user_id="bob"))
    touch(LongTermMemory.objects.filter(text="likes tea").values_list("pk", flat=True), now=NOON)
    request = opened()
    approved(request)
    steps.begin_approved(now=NOON)
    job, place = Job.objects.get(kind=steps.EXECUTE), locations.get("store.recalls")

    def is_not_there(_):
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM store_never_made")

    with monkeypatch.context() as patched:
        patched.setitem(locations.LOCATIONS, place.name, replace(place, delete=is_not_there, delete_listed=None))
        for _ in range(job.max_attempts):
            with pytest.raises(DatabaseError):
                run_inline(job, now=NOON)
    request.refresh_from_db()
    assert (request.state, request.certificates.count()) == (Status.STALLED, 0)
    assert request.error_code in ("OperationalError", "ProgrammingError")

    resuming.go_on(request, actor=ACTOR, now=NOON)
    run_inline(job, now=NOON)

    request.refresh_from_db()
    assert request.state == Status.COMPLETED
    assert not Subject.objects.filter(user_id="ann").exists()
    assert [memory.text for memory in LongTermMemory.objects.all()] == ["bob's"]


@executes
def test_f19_the_row_of_a_user_with_memories_goes_by_no_other_way():
    container = make_container(external_id="c1", owner={"name": "ana"})
    store(container, a_memory())
    subject = subject_of(container)
    opened()

    for row in (subject, container):
        with pytest.raises(ProtectedError):
            row.delete()
    assert removal.remove_users([subject.pk]) == removal.remove_containers([container.pk]) == 0
    assert api_of("ana").delete("/c1?delete_all_memories=true").status_code == 409

    assert LongTermMemory.objects.get().subject == subject


@executes
def test_f19_memories_whose_user_was_taken_away_in_the_database_itself_are_told_of_and_still_erased():
    store(make_container(), a_memory())
    request = opened()
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM store_subject")

    told = [str(fault) for fault in check()]
    erased(request)

    assert told
    assert request.state == Status.COMPLETED
    assert not LongTermMemory.objects.exists()


@executes
@pytest.mark.parametrize("phase", steps.PHASES)
def test_f25_what_comes_at_any_stage_of_an_erasure_is_refused_or_goes_with_it(monkeypatch, phase):
    """Whoever writes while it begins may be a moment before the fence; whoever writes behind it is refused, until the end and after it."""
    container = make_container()
    store(container, a_memory())
    request, real, came = opened(), steps._STEPS[phase], []

    def while_somebody_writes(*given):
        try:
            store(container, a_memory("one more"))
            came.append("written")
        except Suppressed:
            came.append("refused")
        return real(*given)

    approved(request)
    monkeypatch.setitem(steps._STEPS, phase, while_somebody_writes)
    steps.begin_approved(now=NOON)
    run_inline(Job.objects.get(kind=steps.EXECUTE), now=NOON)
    request.refresh_from_db()

    is_before_the_fence = phase in ("ledger", "fence")
    assert set(came) == {"written" if is_before_the_fence else "refused"}
    if is_before_the_fence:  # nobody has approved it: the verification finds it, and it goes by a list that has it
        assert (request.state, request.certificates.count()) == (Status.RESIDUE_FOUND, 0)
        assert [memory.text for memory in LongTermMemory.objects.all()] == ["one more"]
        monkeypatch.setitem(steps._STEPS, phase, real)
        resuming.back_to_review(request, actor=actor_of(officer()), now=NOON)
        approved(go_through(request))
        execute(request)
    assert (request.state, request.certificates.count()) == (Status.COMPLETED, 1)
    assert not LongTermMemory.objects.exists()
    with pytest.raises(Suppressed):
        store(container, a_memory("later"))
