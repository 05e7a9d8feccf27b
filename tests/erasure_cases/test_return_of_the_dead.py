"""What was erased does not come back, by any way in. Numbers: docs/cases.md, “Erasure and audit”."""

import json

import pytest

from memadmin.audit.actions import Action
from memadmin.audit.models import AuditEntry
from memadmin.jobs.models import Job, JobState
from memadmin.jobs.runner import run_inline
from memadmin.lifecycle.inference import extraction, jobs
from memadmin.lifecycle.inference.answers import Decision, Event
from memadmin.lifecycle.inference.extraction import Found
from memadmin.lifecycle.inference.strategies import strategies_for
from memadmin.recall.search import Question, recall
from memadmin.store import dropping, quarantine, suppression
from memadmin.store.models import Container, HistoryEntry, HoldKind, LongTermMemory, Mode, Returned, Session, Subject, WorkingMemory
from memadmin.store.suppression import Terms
from tests.api.v1.calls import caller_of, problem, said
from tests.factories import ACTOR, NOON, a_memory, a_message, days, make_container, make_memory, make_session, store, subject_of
from tests.holds import hold, restrict
from tests.tokens import api_of, reason_of
from tests.transfer.running import export_memories, import_memories, write_lines

pytestmark = pytest.mark.django_db
REQUEST = "erasure/7f0c"
SEMANTIC = {"id": "semantic_1", "type": "SEMANTIC", "namespace": ["user_id"], "enabled": True}
SPOKEN = {"messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}], "payload_type": "conversational"}


@pytest.fixture(autouse=True)
def own_keys(settings, tmp_path):
    settings.SUPPRESSION_KEYS = str(tmp_path / "keys.json")


@pytest.fixture
def container(db):
    return make_container(external_id="c1", owner={"name": "ana"}, configuration={"llm_id": "m", "strategies": [SEMANTIC]})


def erase(*user_ids, container=None, mode=Mode.BLOCK):
    suppression.suppress_users(user_ids, container=container, terms=Terms(mode=mode), request_ref=REQUEST, actor=ACTOR, now=NOON)


def erase_text(text, *, container=None, mode=Mode.BLOCK):
    suppression.suppress_texts([text], container=container, terms=Terms(mode=mode), request_ref=REQUEST, actor=ACTOR, now=NOON)


def test_6_the_compatible_api_answers_409_to_writers_of_an_erased_user(container):
    erase("ann")
    api = api_of("ana")

    answers = [
        api.post("/c1/memories", {**SPOKEN, "namespace": {"user_id": "ann"}}),
        api.post("/c1/memories", {**SPOKEN, "namespace": {"user_id": "ann", "session_id": "s-1"}}),
        api.post("/c1/memories/sessions", {"summary": "x", "namespace": {"user_id": "ann"}}),
        api.post("/c1/memories/long-term", {"memory": "likes tea", "namespace": {"user_id": "ann"}}),
    ]

    assert [reason_of(answer)[:2] for answer in answers] == [(409, "subject_erased_exception")] * 4
    assert all("ann" not in reason_of(answer)[2] for answer in answers)
    assert not WorkingMemory.objects.exists()


def test_6_our_own_api_answers_409_to_writers_of_an_erased_user(container):
    erase("ann")

    answer = caller_of("ana").post("/containers/c1/memories", {"user_id": "ann", "text": "likes tea"})

    assert problem(answer)[:2] == (409, "subject_erased")


def test_6_a_bulk_request_has_the_lines_of_the_erased_refused_and_stores_the_others(container):
    erase("ann")
    api = caller_of("ana")
    lines = [{"type": "long-term", "user_id": name, "text": f"of {name}"} for name in ("ann", "bob", "ann", "cem")]

    answers = _bulk(api, lines)

    assert [answer["status"] for answer in answers] == ["refused", "stored", "refused", "stored"]
    assert {answer["code"] for answer in answers if answer["status"] == "refused"} == {"suppressed"}
    assert sorted(LongTermMemory.objects.values_list("text", flat=True)) == ["of bob", "of cem"]


@pytest.mark.parametrize("mode", [Mode.BLOCK, Mode.QUARANTINE])
def test_77_an_old_export_brings_everybody_back_but_the_erased(container, tmp_path, mode):
    store(container, a_memory("ann's"), a_memory("bob's", user_id="bob"), a_message("hello"))
    export_memories(tmp_path / "old.jsonl", "--container", "pharmacy")
    other = make_container("clinic")
    erase("ann", container=other, mode=mode)

    done = import_memories("jsonl", tmp_path / "old.jsonl", container="clinic")

    set_aside = {"sessions": 1, "working": 1, "long_term": 1, "history": 0, "archived": 0}
    # the lines of the user, a session, a message and a memory
    answered = {Mode.BLOCK: ({"suppressed": 4}, dict.fromkeys(set_aside, 0)), Mode.QUARANTINE: ({}, set_aside)}
    assert (done.refused, done.answer["set_aside"]) == answered[mode]
    assert list(LongTermMemory.objects.filter(container=other).values_list("subject__user_id", "text")) == [("bob", "bob's")]
    assert not Session.objects.filter(container=other).exists()
    assert not WorkingMemory.objects.filter(container=other).exists()


@pytest.mark.parametrize("mode", [Mode.FENCE, Mode.BLOCK, Mode.QUARANTINE, Mode.FLAG])
def test_77_an_old_export_does_not_bring_the_erased_back_into_another_container(container, tmp_path, mode):
    store(container, a_memory("ann's"), a_memory("bob's", user_id="bob"), a_message("hello"))
    export_memories(tmp_path / "old.jsonl", "--container", "pharmacy")
    erase("ann", container=container, mode=mode)

    done = import_memories("jsonl", tmp_path / "old.jsonl", container="clinic")

    copied = {"sessions": 1, "working": 1, "long_term": 1, "history": 0, "archived": 0}
    nothing = dict.fromkeys(copied, 0)
    answered = {Mode.QUARANTINE: ({}, copied), Mode.FLAG: ({}, nothing)}
    assert (done.refused, done.answer["set_aside"]) == answered.get(mode, ({"suppressed": 4}, nothing))
    there = ["ann", "bob"] if mode is Mode.FLAG else ["bob"]
    assert sorted(LongTermMemory.objects.filter(container__name="clinic").values_list("subject__user_id", flat=True)) == there
    marked = Returned.objects.filter(container__name="clinic", outcome="flagged").values_list("item_type", flat=True)
    assert sorted(marked) == (["long-term", "sessions", "working"] if mode is Mode.FLAG else [])


def test_77_who_is_somebody_else_in_the_other_container_is_left_alone_there(container, tmp_path):
    store(container, a_memory("ann's"))
    export_memories(tmp_path / "old.jsonl", "--container", "pharmacy")
    erase("ann", container=container, mode=Mode.QUARANTINE)
    clinic = make_container("clinic")
    store(clinic, a_memory("another ann's"))

    import_memories("jsonl", tmp_path / "old.jsonl", container="clinic")
    store(clinic, a_memory("another ann's later"))

    assert set(LongTermMemory.objects.values_list("text", flat=True)) == {"ann's", "another ann's", "another ann's later"}
    assert subject_of(clinic, "ann").suppressed == ""


def test_77_what_a_copy_set_aside_goes_with_the_name_when_it_is_dropped(container, tmp_path):
    store(container, a_memory("ann's"))
    export_memories(tmp_path / "old.jsonl", "--container", "pharmacy")
    erase("ann", container=container, mode=Mode.QUARANTINE)
    import_memories("jsonl", tmp_path / "old.jsonl", container="clinic")
    import_memories("jsonl", tmp_path / "old.jsonl", container="clinic")  # the second time the row is there

    dropping.drop(list(quarantine.waiting()), actor=ACTOR, now=NOON)

    assert not Subject.objects.filter(user_id="ann", container__name="clinic").exists()


@pytest.mark.parametrize("name", [str, lambda uid: f"elsewhere-{uid}"], ids=["our uid", "the id that its source gave it"])
@pytest.mark.parametrize("format_", ["opensearch", "jsonl"])
def test_77_documents_of_the_erased_are_refused_in_another_container_too(tmp_path, format_, name):
    origin = make_container("pharmacy", external_id=None)
    Container.objects.filter(pk=origin.pk).update(external_id=None if name is str else name(origin.uid))
    erase("ann", container=origin)
    erase_text("Takes ibuprofen", container=origin)
    document = {"memory_container_id": name(origin.uid), "memory": "ann's", "namespace": {"user_id": "ann"}}
    of_others = [{**document, "memory": text, "namespace": {"user_id": "bob"}} for text in ("takes IBUPROFEN.", "bob's")]
    path = write_lines(tmp_path / "dump.jsonl", document, *of_others)

    done = import_memories(format_, path, container="clinic")

    assert done.refused == {"suppressed": 2}
    assert list(LongTermMemory.objects.values_list("text", flat=True)) == ["bob's"]


def test_77_a_file_without_its_header_is_known_by_the_container_that_it_describes(container, tmp_path):
    store(container, a_memory("ann's"))
    header, *records = export_memories(tmp_path / "old.jsonl", "--container", "pharmacy")
    erase("ann", container=container)
    without = {"header": records, "description": [header, *(each for each in records if each["type"] != "container")]}

    for left_out, rest in without.items():
        done = import_memories("jsonl", write_lines(tmp_path / "cut.jsonl", *rest), container=f"without {left_out}")
        assert done.refused == {"suppressed": 2}, left_out


def test_what_is_set_aside_is_accepted_and_seen_by_no_agent(container):
    erase("ann", mode=Mode.QUARANTINE)
    compatible, api = api_of("ana"), caller_of("ana")

    made = said(api.post("/containers/c1/memories", {"user_id": "ann", "text": "likes tea"}), 202)
    told = compatible.post("/c1/memories", {**SPOKEN, "namespace": {"user_id": "ann", "session_id": "s-1"}})
    opened = compatible.post("/c1/memories/sessions", {"summary": "x", "namespace": {"user_id": "ann"}})

    assert made["status"] == "set_aside"
    assert (told.status_code, opened.status_code) == (200, 200)
    assert set(Returned.objects.values_list("item_type", flat=True)) == {"history", "long-term", "sessions", "working"}
    assert [model.__name__ for model in (LongTermMemory, WorkingMemory, Session, HistoryEntry) if model.objects.exists()] == []
    assert recall(container, Question("tea", "ann"), now=NOON) == []


def test_f82_new_memories_of_the_same_id_are_stored_and_recalled_once_the_block_has_ended(container):
    terms = Terms(mode=Mode.BLOCK, block_until=NOON - days(1), keep_until=NOON + days(60))
    suppression.suppress_users(["foo"], container=None, terms=terms, request_ref=REQUEST, actor=ACTOR, now=NOON - days(31))

    store(container, a_memory("drinks mate", user_id="foo"))

    assert [found.memory.text for found in recall(container, Question("mate", "foo"), now=NOON)] == ["drinks mate"]
    assert subject_of(container, "foo").suppressed == "flag"


def test_7_what_a_model_read_before_the_fence_is_thrown_away(container):
    working = _said(container)
    strategy = strategies_for(container.configuration, working.namespace)[0]
    found = Found([Decision(Event.ADD, "Lives in Oslo")], [])
    suppression.fence(["ann"], container=None, request_ref=REQUEST, actor=ACTOR, now=NOON)

    done = extraction.keep(working, strategy, found, user_id="ann", now=NOON)

    entry = AuditEntry.objects.get(action=Action.MEMORY_INFERRED)
    assert (dict(done), entry.outcome, entry.reason_code) == ({}, "refused", "source_gone")
    assert not LongTermMemory.objects.exists()


def test_a_fact_that_was_erased_is_not_extracted_again_and_the_others_are(container):
    working = _said(container)
    strategy = strategies_for(container.configuration, working.namespace)[0]
    erase_text("Lives in Oslo")

    extraction.keep(
        working, strategy, Found([Decision(Event.ADD, "lives in Oslo."), Decision(Event.ADD, "Likes tea")], []), user_id="ann", now=NOON
    )

    assert [memory.text for memory in LongTermMemory.objects.all()] == ["Likes tea"]
    assert AuditEntry.objects.get(action=Action.MEMORY_INFERRED).counts == {"add": 1, "suppressed": 1}


def test_a_waiting_inference_of_a_fenced_or_restricted_user_ends_without_asking_the_model(container, settings):
    settings.LLM_URL = "http://127.0.0.1:9/v1"  # nobody is there: asking would fail
    working = _said(container)
    jobs.request(working, actor=ACTOR, now=NOON)
    restrict(subject_of(container))

    job = run_inline(Job.objects.get(kind=jobs.INFER), now=NOON)

    assert job.state == JobState.DONE


def test_a_restricted_person_is_not_recalled_nor_found_by_agents(container):
    make_memory(container, "likes tea", owner="ana")
    make_session(container, messages=1, owner="ana")
    restrict(subject_of(container))

    found = api_of("ana", all_access=False).post("/c1/memories/long-term/_search", {"query": {"match_all": {}}})
    listed = caller_of("ana").get("/containers/c1/memories?user_id=ann")

    assert recall(container, Question("tea", "ann"), now=NOON) == []
    assert found.json()["hits"]["hits"] == []
    assert said(listed)["items"] == []


def test_a_held_person_is_recalled_as_ever(container):
    make_memory(container, "likes tea")
    hold(subject_of(container), kind=HoldKind.HOLD)

    assert len(recall(container, Question("tea", "ann"), now=NOON)) == 1


def test_what_is_restricted_is_not_changed_over_the_api(container):
    memory = make_memory(container, "likes tea", owner="ana")
    restrict(memory)

    answer = api_of("ana", all_access=True).put(f"/c1/memories/long-term/{memory.uid}", {"memory": "likes coffee"})

    assert answer.status_code == 409
    memory.refresh_from_db()
    assert memory.text == "likes tea"


def test_without_the_keys_writers_are_told_to_wait_and_nothing_of_ours(container, settings, tmp_path):
    erase("eve")
    settings.SUPPRESSION_KEYS = str(tmp_path / "gone.json")

    status, _, reason = reason_of(api_of("ana").post("/c1/memories/long-term", {"memory": "tea", "namespace": {"user_id": "new"}}))

    assert status == 503
    assert "gone.json" not in reason
    api = caller_of("ana")
    api.client.raise_request_exception = False
    assert problem(api.post("/containers/c1/memories", {"user_id": "new", "text": "tea"}))[0] == 503


def _said(container):
    store(container, a_message("I moved to Oslo", namespace={"user_id": "ann"}, infer=True, owner="agent-1"))
    return WorkingMemory.objects.select_related("subject").get()


def _bulk(api, lines):
    body = "\n".join(json.dumps(line) for line in lines).encode()
    answer = api.post("/containers/c1/bulk", body)
    content = b"".join(answer.streaming_content) if answer.streaming else answer.content
    return [line for line in map(json.loads, content.splitlines()) if "line" in line]
