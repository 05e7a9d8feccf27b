import gzip
import json
from datetime import UTC, datetime

import pytest

from memadmin.store.counts import store_counts
from memadmin.store.models import Container, Session, Subject, WorkingMemory
from tests.transfer.running import import_memories, write_lines

pytestmark = pytest.mark.django_db

SETS = [
    *("memorybank_en", "memorybank_cn", "crosswoz_val", "tau_bench_airline", "specstory_sessions", "ubuntu_irc"),
    *("beam_100k", "taskmaster4_part07", "longmemeval_snippet", "abcd_sample", "zep_examples"),
]


def row(content="hello", *, user_id="ann", session_id="s-1", role="user", **details):
    return {"user_id": user_id, "session_id": session_id, "role": role, "content": content, **details}


def contents():
    return [memory.messages[0]["content"] for memory in WorkingMemory.objects.in_order()]


@pytest.mark.parametrize("name", SETS)
def test_real_conversations_are_stored_once(shared_data, name):
    expected = json.loads((shared_data / "expected_counts.json").read_text())["conversations"][name]["after_import"]
    folder = shared_data / "conversations" / name

    first = import_memories("messages", folder, container=name)
    counts = store_counts(Container.objects.get(name=name))
    second = import_memories("messages", folder, container=name)

    assert (first.code, second.code) == (0, 0)
    assert {key: counts[key] for key in expected} == expected
    assert first.answer["new"]["working"] == expected["messages"]
    assert first.answer["changed"] == second.answer["changed"] == dict.fromkeys(second.answer["changed"], 0)
    assert second.answer["new"] == dict.fromkeys(second.answer["new"], 0)
    assert second.answer["unchanged"] == first.answer["new"]
    assert store_counts(Container.objects.get(name=name)) == counts


def test_user_ids_are_kept_exactly(tmp_path):
    ids = [" Jason ", "Jason", "jason", "a/b", "..", "100%", "john_doe", "john-doe", "", "new", "x" * 512, "\U0001f431", "line\n"]

    done = import_memories("messages", write_lines(tmp_path / "x.jsonl", *[row(user_id=user_id) for user_id in ids]))

    assert done.code == 0
    assert sorted(Subject.objects.values_list("user_id", flat=True)) == sorted(ids)


def test_a_message_without_a_user_belongs_to_nobody(tmp_path):
    import_memories(
        "messages", write_lines(tmp_path / "x.jsonl", row(user_id=None), {"session_id": "s-2", "role": "user", "content": "hi"})
    )

    assert Subject.objects.get().user_id is None
    assert Session.objects.count() == 2


@pytest.mark.parametrize(
    ("user_id", "code"), [(True, "not_an_id"), (1.5, "not_an_id"), (["ann"], "not_an_id"), ({}, "not_an_id"), ("x" * 513, "text_too_long")]
)
def test_a_user_id_that_is_no_id_is_refused_and_the_neighbours_are_stored(tmp_path, user_id, code):
    done = import_memories("messages", write_lines(tmp_path / "x.jsonl", row("before"), row(user_id=user_id), row("after")))

    assert (done.code, done.refused) == (3, {code: 1})
    assert contents() == ["before", "after"]


def test_a_number_as_an_id_becomes_its_digits(tmp_path):
    import_memories("messages", write_lines(tmp_path / "x.jsonl", row(user_id=20, session_id=7)))

    assert (Subject.objects.get().user_id, Session.objects.get().external_id) == ("20", "7")


def test_the_same_session_id_of_two_users_is_two_sessions(tmp_path):
    import_memories("messages", write_lines(tmp_path / "x.jsonl", row(user_id="ann"), row(user_id="bob")))

    assert Session.objects.filter(external_id="s-1").count() == 2


def test_a_message_is_its_id_within_its_session(tmp_path):
    lines = [
        row("one", message_id="m"),
        row("one", message_id="m"),
        row("one", message_id="m", session_id="s-2"),
        row("one", message_id="n"),
    ]

    done = import_memories("messages", write_lines(tmp_path / "x.jsonl", *lines))

    assert (done.answer["new"]["working"], done.answer["unchanged"]["working"]) == (3, 1)


def test_a_message_without_an_id_is_told_apart_by_what_it_says_and_how_often(tmp_path):
    lines = [row("yes"), row("yes"), row("yes", role="assistant"), row("yes", author="x"), row("yes", created_at="2024-01-01"), row("no")]

    first = import_memories("messages", write_lines(tmp_path / "x.jsonl", *lines))
    second = import_memories("messages", write_lines(tmp_path / "y.jsonl", *reversed(lines), row("yes")))

    assert first.answer["new"]["working"] == 6
    assert (second.answer["new"]["working"], second.answer["unchanged"]["working"]) == (1, 6)


def test_a_message_that_comes_back_with_other_text_is_changed(tmp_path):
    import_memories("messages", write_lines(tmp_path / "x.jsonl", row("one", message_id="m")))

    done = import_memories("messages", write_lines(tmp_path / "y.jsonl", row("two", message_id="m")))

    assert (done.answer["new"]["working"], done.answer["changed"]["working"]) == (0, 1)
    assert contents() == ["two"]


def test_the_order_of_the_file_is_kept_whatever_times_and_numbers_say(tmp_path):
    lines = [
        row("question", message_id="z", created_at="2025-03-04T10:00:00Z", seq=9),
        row("tool", message_id="a", created_at="2025-03-04T10:00:00Z", seq=1),
        row("answer", message_id="k", created_at="2025-03-04T09:00:00Z"),
    ]

    import_memories("messages", write_lines(tmp_path / "x.jsonl", *lines))

    assert contents() == ["question", "tool", "answer"]


def test_a_later_file_of_the_same_session_goes_on_where_the_first_one_ended(tmp_path):
    import_memories(
        "messages", write_lines(tmp_path / "x.jsonl", *[row(str(number), message_id=str(number), seq=number) for number in range(4)])
    )

    import_memories(
        "messages", write_lines(tmp_path / "y.jsonl", *[row(str(number), message_id=str(number), seq=0) for number in range(2, 6)])
    )

    assert contents() == ["0", "1", "2", "3", "4", "5"]


def test_the_order_holds_over_many_batches(tmp_path, monkeypatch):
    monkeypatch.setattr("memadmin.transfer.importing.BATCH_ITEMS", 7)
    monkeypatch.setattr("memadmin.transfer.sessions.REMEMBERED", 1)
    lines = [row(f"{number}", session_id=f"s-{number % 3}") for number in range(60)]

    done = import_memories("messages", write_lines(tmp_path / "x.jsonl", *lines))

    assert done.answer["new"] == {"sessions": 3, "working": 60, "long_term": 0, "history": 0, "archived": 0}
    for session in Session.objects.all():
        numbers = [int(memory.messages[0]["content"]) for memory in WorkingMemory.objects.of_session(session).in_order()]
        assert numbers == sorted(numbers)
        assert len(numbers) == 20


def test_a_session_takes_its_times_and_title_from_its_messages(tmp_path, monkeypatch):
    monkeypatch.setattr("memadmin.transfer.importing.BATCH_ITEMS", 2)
    lines = [
        row("b", created_at="2024-03-02T10:00:00Z"),
        row("c", created_at=None),
        row("d", created_at="2024-03-05", session_title="Budget"),
        row("e", created_at="2024-03-04"),
        row("a", created_at="2024-03-01T09:00:00Z", session_title="Another"),
    ]

    import_memories("messages", write_lines(tmp_path / "x.jsonl", *lines))

    session = Session.objects.get()
    assert session.created_at == datetime(2024, 3, 1, 9, tzinfo=UTC)
    assert session.last_updated_at == datetime(2024, 3, 5, tzinfo=UTC)
    assert session.metadata == {"title": "Budget"}


def test_without_any_time_there_is_no_time(tmp_path):
    import_memories("messages", write_lines(tmp_path / "x.jsonl", row(), row(created_at="")))

    assert set(WorkingMemory.objects.values_list("created_at", "time_note")) == {(None, "")}
    assert (Session.objects.get().created_at, Session.objects.get().last_updated_at) == (None, None)


def test_what_was_assumed_about_a_time_is_on_the_message_and_counted(tmp_path):
    lines = [row("a", created_at="2024-12-15 11:52:21.958542"), row("b", created_at="2023-04-27"), row("c", created_at=1758930326804)]

    done = import_memories("messages", write_lines(tmp_path / "x.jsonl", *lines))

    assert done.answer["noted"] == {"date": 1, "zone_assumed": 1}
    assert [(memory.time_note, memory.created_at) for memory in WorkingMemory.objects.in_order()] == [
        ("zone_assumed", datetime(2024, 12, 15, 11, 52, 21, 958542, tzinfo=UTC)),
        ("date", datetime(2023, 4, 27, tzinfo=UTC)),
        ("", datetime(2025, 9, 26, 23, 45, 26, 804000, tzinfo=UTC)),
    ]


def test_the_words_of_other_systems_for_roles_are_ours_and_the_original_is_kept(tmp_path):
    words = ["human", "ai", "model", "function", "developer", "system", "User"]

    import_memories("messages", write_lines(tmp_path / "x.jsonl", *[row(word, role=word) for word in words]))

    stored = [(memory.messages[0]["role"], memory.metadata.get("original_role")) for memory in WorkingMemory.objects.in_order()]
    assert stored == [
        ("user", "human"),
        ("assistant", "ai"),
        ("assistant", "model"),
        ("tool", "function"),
        ("developer", None),
        ("system", None),
        ("user", "User"),
    ]


@pytest.mark.parametrize(
    "content", ["", None, "x", [{"type": "text", "text": "?"}, {"type": "image_url", "image_url": {"url": "http://169.254.169.254/"}}]]
)
def test_every_kind_of_content_is_kept(tmp_path, content):
    call = [{"id": "call_7", "type": "function", "function": {"name": "get", "arguments": "{}"}}]

    import_memories("messages", write_lines(tmp_path / "x.jsonl", row(content, role="assistant", tool_calls=call)))

    assert WorkingMemory.objects.get().messages == [{"role": "assistant", "content": content, "tool_calls": call}]


@pytest.mark.parametrize("content", [5, True, [5]])
def test_content_of_another_kind_is_refused(tmp_path, content):
    assert import_memories("messages", write_lines(tmp_path / "x.jsonl", row(content))).refused == {"not_content": 1}


def test_fields_without_a_place_are_kept_in_the_metadata(tmp_path):
    line = row(lang="en", seq=4, metadata={"file": "a.md", "extra": 1}, created_at="2024-01-01", created_at_raw="Jan 1")

    import_memories("messages", write_lines(tmp_path / "x.jsonl", line))

    extras = {"lang": "en", "seq": 4, "created_at_raw": "Jan 1"}
    assert WorkingMemory.objects.get().metadata == {"file": "a.md", "extra": 1, "extra_fields": extras}


def test_a_field_named_like_a_time_must_be_one(tmp_path):
    done = import_memories("messages", write_lines(tmp_path / "x.jsonl", row(expires_at="9999-12-31T23:59:59-23:59"), row("ok", seen_at=0)))

    assert done.refused == {"time_out_of_range": 1}
    assert WorkingMemory.objects.get().metadata == {"extra": {"seen_at": 0}}


def test_a_title_does_not_cost_a_session_what_it_knew(tmp_path):
    session = {"user_id": "ann", "session_id": "s-1", "messages": [], "summary": "tea", "metadata": {"source": "chat"}}
    import_memories("jsonl", write_lines(tmp_path / "x.jsonl", session))

    import_memories("messages", write_lines(tmp_path / "y.jsonl", row(session_title="Budget")))

    assert Session.objects.get().summary == "tea"
    assert Session.objects.get().metadata == {"source": "chat", "title": "Budget"}


def test_a_message_without_a_session_is_stored_and_belongs_to_none(tmp_path):
    import_memories("messages", write_lines(tmp_path / "x.jsonl", {"user_id": "ann", "role": "user", "content": "hi"}, row(session_id="")))

    assert Session.objects.count() == 0
    assert list(WorkingMemory.objects.values_list("session", "session_ref")) == [(None, None)] * 2


def test_a_record_of_another_shape_is_refused(tmp_path):
    assert import_memories("messages", write_lines(tmp_path / "x.jsonl", {"user_id": "ann", "memory": "tea"})).refused == {
        "unknown_shape": 1
    }


def test_a_folder_is_searched_for_its_packed_file(tmp_path):
    (tmp_path / "messages.normalized.jsonl.gz").write_bytes(gzip.compress(json.dumps(row()).encode()))

    assert import_memories("messages", tmp_path).answer["new"]["working"] == 1


def test_a_folder_without_the_file_is_unusable(tmp_path):
    done = import_memories("messages", tmp_path)

    assert done.code == 2
    assert "messages.normalized.jsonl" in done.words
