import json
from datetime import UTC, datetime

import pytest

from memadmin.store.identity import item_uid
from memadmin.store.models import Container, HistoryEntry, ItemType, LongTermMemory, Pin, Provenance, Session, Subject, WorkingMemory
from tests.transfer.running import import_memories, write_lines

pytestmark = pytest.mark.django_db


PARTS = [{"type": "text", "text": "likes tea"}, {"type": "image_url", "image_url": {"url": "https://example.org/cup"}}, "and cake"]


def fact(memory="likes tea", *, user_id="ann", **details):
    return {"user_id": user_id, "memory": memory, **details}


def talk(*contents, user_id="ann", session_id="s-1", **details):
    messages = [{"id": f"m-{number}", "role": "user", "content": content} for number, content in enumerate(contents)]
    return {"user_id": user_id, "session_id": session_id, "messages": messages, **details}


def test_a_memory_has_what_its_line_says(tmp_path):
    line = fact(
        id="f-1",
        created_at="2025-07-24T19:00:00-07:00",
        updated_at=1758930326804,
        last_accessed_at=1734292270.899412,
        hits=4,
        importance=0.9,
        tokens=7,
        metadata={"ticket": "T-9"},
        tags={"topic": "drinks"},
        strategy_type="SEMANTIC",
        author="agent",
        pinned=True,
        session_id="s-1",
        categories=["food"],
    )

    done = import_memories("jsonl", write_lines(tmp_path / "x.jsonl", line))

    memory = LongTermMemory.objects.get()
    assert done.code == 0
    assert (memory.text, memory.external_id, memory.author, memory.strategy_type) == ("likes tea", "f-1", "agent", "SEMANTIC")
    assert memory.uid == item_uid(Container.objects.get().uid, ItemType.LONG_TERM, "ann", "f-1")
    assert memory.created_at == datetime(2025, 7, 25, 2, tzinfo=UTC)
    assert memory.last_updated_at == datetime(2025, 9, 26, 23, 45, 26, 804000, tzinfo=UTC)
    assert memory.last_accessed_at == datetime(2024, 12, 15, 19, 51, 10, 899412, tzinfo=UTC)
    assert (memory.hits, memory.importance, memory.importance_source) == (4, 0.9, "source")
    assert (memory.tokens, memory.tokens_method) == (7, "source")
    assert memory.metadata == {"ticket": "T-9", "extra": {"categories": ["food"]}}
    assert memory.tags == {"topic": "drinks"}
    assert memory.pinned
    assert Pin.objects.get().reason == "pinned at the source"
    assert Provenance.objects.get().source_uid == item_uid(Container.objects.get().uid, ItemType.SESSION, "ann", "s-1")


def test_a_last_access_that_cannot_be_read_costs_itself_alone_and_is_noted(tmp_path):
    lines = write_lines(tmp_path / "x.jsonl", fact(last_accessed_at="not-a-date", created_at="2025-03-04", hits=3))

    done = import_memories("jsonl", lines, "--report", tmp_path / "r.jsonl")

    memory = LongTermMemory.objects.get()
    assert (memory.created_at, memory.last_accessed_at, memory.hits) == (datetime(2025, 3, 4, tzinfo=UTC), None, 3)
    assert (done.code, done.answer["noted"]["access_unknown"]) == (0, 1)
    assert "not-a-date" not in (tmp_path / "r.jsonl").read_text()


@pytest.mark.parametrize("given", [{"memory": None, "parts": PARTS}, {"memory": PARTS}, {"memory": None, "text": PARTS}])
def test_a_memory_of_parts_has_their_words_for_a_text(tmp_path, given):
    import_memories("jsonl", write_lines(tmp_path / "x.jsonl", {**fact(), **given}))

    memory = LongTermMemory.objects.get()
    assert (memory.text, memory.parts) == ("likes tea\nand cake", PARTS)


def test_a_memory_that_says_little_gets_the_defaults(tmp_path):
    import_memories("jsonl", write_lines(tmp_path / "x.jsonl", fact()))

    memory = LongTermMemory.objects.get()
    assert (memory.created_at, memory.last_accessed_at, memory.hits) == (None, None, 0)
    assert (memory.importance, memory.importance_source, memory.tokens_method) == (0.5, "default", "estimate")
    assert memory.metadata == {}


def test_memories_without_ids_are_stored_once_however_often_they_come(tmp_path):
    path = write_lines(tmp_path / "x.jsonl", fact(), fact(), fact(user_id="bob"), fact(created_at="2024-01-01"))

    first, second = (import_memories("jsonl", path) for _ in range(2))

    assert (first.answer["new"]["long_term"], second.answer["new"]["long_term"]) == (4, 0)


@pytest.mark.parametrize(
    ("details", "code", "field"),
    [
        ({"importance": 1.5}, "out_of_range", "importance"),
        ({"importance": -0.1}, "out_of_range", "importance"),
        ({"importance": "high"}, "not_a_number", "importance"),
        ({"importance": True}, "not_a_number", "importance"),
        ({"tokens": -1}, "out_of_range", "tokens"),
        ({"tokens": 1.5}, "not_a_number", "tokens"),
        ({"tokens": 2**31}, "out_of_range", "tokens"),
        ({"hits": -1}, "out_of_range", "hits"),
        ({"memory": None}, "missing", "memory"),
        ({"memory": 5}, "not_text", "text"),
        ({"id": "x" * 513}, "text_too_long", "external_id"),
        ({"id": [1]}, "not_an_id", "id"),
        ({"author": "x" * 513}, "text_too_long", "author"),
        ({"pinned": "yes"}, "not_a_flag", "pinned"),
        ({"created_at": "1:56 pm on 8 May, 2023"}, "time_unreadable", "created_at"),
        ({"updated_at": "not-a-date"}, "time_unreadable", "updated_at"),
        ({"expires_at": "9999-12-31T23:59:59-23:59"}, "time_out_of_range", "expires_at"),
        ({"expires_at": "soon"}, "time_unreadable", "expires_at"),
    ],
)
def test_a_memory_with_a_value_that_cannot_be_is_refused_by_field(tmp_path, details, code, field):
    lines = write_lines(tmp_path / "x.jsonl", fact("before"), {**fact("secret words"), **details}, fact("after"))

    done = import_memories("jsonl", lines, "--report", tmp_path / "r.jsonl")

    report = [json.loads(line) for line in (tmp_path / "r.jsonl").read_text().splitlines()]
    assert [(line["record"], line["code"], line["field"]) for line in report] == [(2, code, field)]
    assert "secret" not in str(report)
    assert done.code == 3
    assert set(LongTermMemory.objects.values_list("text", flat=True)) == {"before", "after"}


def test_a_refusal_for_length_names_both_numbers(tmp_path):
    import_memories("jsonl", write_lines(tmp_path / "x.jsonl", fact(user_id="x" * 2100)), "--report", tmp_path / "r.jsonl")

    words = json.loads((tmp_path / "r.jsonl").read_text())["words"]
    assert "2100" in words
    assert "512" in words


@pytest.mark.parametrize(
    "metadata", [{"ticket": "T-9"}, {}, None, "text", [], {"a": None}, {"a.b": 1, "c": {"d": [1, 2.5, None, True]}}, 5]
)
def test_metadata_of_every_kind_is_kept_as_it_is(tmp_path, metadata):
    import_memories("jsonl", write_lines(tmp_path / "x.jsonl", fact(metadata=metadata)))

    assert LongTermMemory.objects.get().metadata == metadata


def test_metadata_that_is_no_object_makes_room_for_fields_without_a_place(tmp_path):
    import_memories("jsonl", write_lines(tmp_path / "x.jsonl", fact(metadata="text", colour="red")))

    assert LongTermMemory.objects.get().metadata == {"value": "text", "extra": {"colour": "red"}}


def test_a_session_is_stored_with_its_messages_in_order(tmp_path):
    line = talk("b", "a", title="Tea", summary="about tea", created_at="2025-03-04T10:00:00Z", state={"step": 1}, mood="good")

    import_memories("jsonl", write_lines(tmp_path / "x.jsonl", line))

    session = Session.objects.get()
    assert (session.external_id, session.summary, session.state) == ("s-1", "about tea", {"step": 1})
    assert session.metadata == {"title": "Tea", "extra": {"mood": "good"}}
    assert [memory.messages[0] for memory in WorkingMemory.objects.of_session(session).in_order()] == [
        {"id": "m-0", "role": "user", "content": "b"},
        {"id": "m-1", "role": "user", "content": "a"},
    ]


def test_a_session_without_messages_is_stored(tmp_path):
    import_memories("jsonl", write_lines(tmp_path / "x.jsonl", talk(), talk(session_id=None)))

    assert Session.objects.count() == 1
    assert WorkingMemory.objects.count() == 0


def test_a_bad_message_is_refused_by_its_place_and_costs_no_other(tmp_path):
    line = talk("a", "b", "c")
    line["messages"][1]["created_at"] = 20240315
    line["messages"].append("not an object")

    done = import_memories("jsonl", write_lines(tmp_path / "x.jsonl", line), "--report", tmp_path / "r.jsonl")

    fields = [json.loads(line)["field"] for line in (tmp_path / "r.jsonl").read_text().splitlines()]
    assert fields == ["messages[1].created_at", "messages[3]"]
    assert done.code == 3
    assert [memory.messages[0]["content"] for memory in WorkingMemory.objects.in_order()] == ["a", "c"]


def test_a_record_and_the_conversation_rows_of_the_same_session_are_the_same(tmp_path):
    import_memories("jsonl", write_lines(tmp_path / "x.jsonl", talk("a", "b")))

    row = {"user_id": "ann", "session_id": "s-1", "message_id": "m-0", "role": "user", "content": "a"}
    done = import_memories("messages", write_lines(tmp_path / "y.jsonl", row))

    assert (done.answer["new"]["working"], done.answer["unchanged"]["working"]) == (0, 1)


def test_only_the_active_branch_of_a_conversation_tree_is_stored(tmp_path):
    nodes = {
        "root": {"parent": None, "message": None},
        "q": {
            "parent": "root",
            "message": {"id": "q", "author": {"role": "user"}, "create_time": None, "content": {"parts": ["question"]}},
        },
        "old": {"parent": "q", "message": {"id": "old", "author": {"role": "assistant"}, "content": {"parts": ["first answer"]}}},
        "new": {"parent": "q", "message": {"id": "new", "author": {"role": "assistant"}, "content": {"parts": ["better", "answer"]}}},
    }
    tree = {"id": "conv-1", "user_id": "ann", "title": "untitled", "create_time": None, "mapping": nodes, "current_node": "new"}

    done = import_memories("jsonl", write_lines(tmp_path / "x.jsonl", tree))

    assert done.answer["noted"] == {"inactive_branch": 1}
    assert [memory.messages[0]["content"] for memory in WorkingMemory.objects.in_order()] == ["question", ["better", "answer"]]
    assert Session.objects.get().metadata == {"title": "untitled"}


@pytest.mark.parametrize(
    ("mapping", "node"), [({"a": {"parent": "b"}, "b": {"parent": "a"}}, "a"), ({"a": 5}, "a"), ({}, "a"), ({}, None), ({}, [1])]
)
def test_a_broken_tree_ends_without_messages(tmp_path, mapping, node):
    done = import_memories("jsonl", write_lines(tmp_path / "x.jsonl", {"id": "c", "mapping": mapping, "current_node": node}))

    assert (done.code, WorkingMemory.objects.count()) == (0, 0)


@pytest.mark.parametrize("record", [{}, {"a": 1}, {"user_id": "ann"}, {"method": "GET", "query": "q=x"}, {"type": "entity", "name": "x"}])
def test_a_shape_that_is_not_known_is_refused(tmp_path, record):
    assert import_memories("jsonl", write_lines(tmp_path / "x.jsonl", record)).refused == {"unknown_shape": 1}


@pytest.mark.parametrize(
    "record", [{"messages": 5}, {"mapping": 5}, {"namespace": 5}, {"_source": None}, {"type": "session"}, {"type": "archived"}]
)
def test_a_known_shape_with_a_broken_middle_is_refused(tmp_path, record):
    done = import_memories("jsonl", write_lines(tmp_path / "x.jsonl", record, fact()))

    assert (done.code, LongTermMemory.objects.count()) == (3, 1)


def test_an_array_is_read_like_lines(tmp_path):
    path = tmp_path / "x.json"
    path.write_text(json.dumps([fact("a"), fact("b"), 5, fact("c")], indent=2))

    done = import_memories("jsonl", path)

    assert (done.answer["records"], done.refused) == (4, {"not_an_object": 1})
    assert LongTermMemory.objects.count() == 3


def test_nan_inside_an_array_costs_only_its_record(tmp_path):
    path = tmp_path / "x.json"
    path.write_bytes(b'[{"user_id":"a","memory":"x"},{"user_id":"a","memory":"y","metadata":{"s":NaN}},{"user_id":"a","memory":"z"}]')

    assert import_memories("jsonl", path).refused == {"not_finite": 1}
    assert LongTermMemory.objects.count() == 2


def test_ids_that_look_alike_stay_apart(tmp_path):
    ids = ["Alice", "alice", "ALICE", "a:b", "a", "acme", "acme-corp", "openclaw:main:911", "*", "-x", "(x)", '"q"', "."]

    import_memories("jsonl", write_lines(tmp_path / "x.jsonl", *[fact(user_id=user_id, id="f") for user_id in ids]))

    assert sorted(Subject.objects.values_list("user_id", flat=True)) == sorted(ids)
    assert len(set(LongTermMemory.objects.values_list("uid", flat=True))) == len(ids)


def test_items_of_our_own_format_without_ids_are_stored_once_however_often_they_come(tmp_path):
    lines = [
        {"type": "long-term", "user_id": "ann", "text": "likes tea"},
        {"type": "long-term", "user_id": "ann", "text": "likes tea"},
        {"type": "working", "user_id": "ann", "messages": [{"role": "user", "content": "hello"}]},
        {"type": "history", "user_id": "ann", "action": "ADD", "after": {"memory": "likes tea"}},
    ]
    path = write_lines(tmp_path / "x.jsonl", *lines)

    first, second = import_memories("jsonl", path), import_memories("jsonl", path)

    assert (first.code, LongTermMemory.objects.count(), WorkingMemory.objects.count(), HistoryEntry.objects.count()) == (0, 2, 1, 1)
    assert set(second.answer["new"].values()) == {0}
