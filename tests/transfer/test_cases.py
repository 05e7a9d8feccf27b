"""The nasty inputs of shared/data, by their number, through the import and out again."""

import hashlib
import importlib.util
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memadmin.store.models import LongTermMemory, Session, Subject, WorkingMemory
from tests.transfer.running import export_memories, import_memories

pytestmark = pytest.mark.django_db

NOT_A_FILE = {2, 15}  # a query; an instruction (see test_import_messages)
FOREIGN = {46, 47, 48, 49}
REFUSED = {10: "time_unreadable", 13: "time_out_of_range", 39: "not_finite", 40: "too_deep", 43: "not_utf8", 45: "not_json"}
GOOD = b'{"user_id":"the neighbour","memory":"still here","id":"good"}'


def content_of(shared_data: Path, number: int) -> bytes:
    """The bytes of a case as somebody would send them; a question to the store is preceded by what the store must hold."""
    case = cases(shared_data)[number]
    spec = importlib.util.spec_from_file_location("expand_cases", shared_data / "expand_cases.py")
    expand = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(expand)
    if "setup" in case.get("body", {}):
        return json.dumps(case["body"]["setup"]).encode()
    return expand.to_bytes(case)[1]


def cases(shared_data):
    lines = (shared_data / "cases_open.jsonl").read_text(encoding="ascii").splitlines()
    return {int(case["id"].removeprefix("O-")): case for case in map(json.loads, lines)}


@pytest.fixture
def import_case(shared_data, tmp_path):
    def run(number):
        path = tmp_path / f"O-{number:03}.raw"
        path.write_bytes(content_of(shared_data, number))
        return import_memories("jsonl", path, "--report", tmp_path / "report.jsonl")

    return run


def report(tmp_path):
    return [json.loads(line) for line in (tmp_path / "report.jsonl").read_text().splitlines()]


def message():
    return WorkingMemory.objects.get().messages[0]


@pytest.mark.parametrize("number", sorted(set(range(1, 51)) - NOT_A_FILE - FOREIGN))
def test_a_nasty_input_is_stored_or_refused_and_costs_no_neighbour(shared_data, tmp_path, number):
    content = content_of(shared_data, number)
    path = tmp_path / "x.jsonl"
    if content.lstrip(b"\xef\xbb\xbf").startswith(b"["):
        path.write_bytes(content.rstrip()[:-1] + b"," + GOOD + b"]")
    else:
        path.write_bytes(GOOD + b"\n" + content)

    first = import_memories("jsonl", path, "--report", tmp_path / "report.jsonl")
    second = import_memories("jsonl", path)

    assert first.refused == ({REFUSED[number]: 1} if number in REFUSED else {})
    assert first.code == second.code == (3 if number in REFUSED else 0)
    assert LongTermMemory.objects.get(external_id="good").text == "still here"
    assert second.answer["new"] == second.answer["changed"] == dict.fromkeys(second.answer["new"], 0)
    exported = export_memories(tmp_path / "out.jsonl", "--container", "pharmacy")
    assert b"NaN" not in (tmp_path / "out.jsonl").read_bytes()
    assert exported[-1]["type"] == "end"


def test_o_001_nul(import_case, tmp_path):
    assert import_case(1).answer["noted"] == {"characters_replaced": 1}
    assert message()["content"] == "gate code is 4417\ufffd and the dog is called Biscuit"
    assert [line["field"] for line in report(tmp_path)] == ["messages[0].content"]
    assert "gate code" not in str(report(tmp_path))


def test_o_003_half_an_emoji(import_case):
    import_case(3)

    assert message()["content"] == "Great choice \ufffd"


def test_o_004_control_characters(import_case):
    import_case(4)

    assert message()["content"] == "\x1b[31mFAILED\x1b[0m 3 of 41 checks\x1b]0;title\x07"


@pytest.mark.parametrize(
    ("number", "instant", "note"),
    [
        (5, datetime(2025, 9, 26, 23, 45, 26, 804000, tzinfo=UTC), ""),
        (6, datetime(2024, 12, 15, 19, 51, 10, 899412, tzinfo=UTC), ""),
        (7, datetime(2024, 12, 15, 11, 52, 21, 958542, tzinfo=UTC), "zone_assumed"),
        (11, None, ""),
        (12, datetime(1970, 1, 1, tzinfo=UTC), ""),
    ],
)
def test_o_005_to_012_times_of_messages(import_case, number, instant, note):
    import_case(number)

    assert WorkingMemory.objects.values_list("created_at", "time_note").get() == (instant, note)


def test_o_008_offsets_are_instants(import_case):
    import_case(8)

    assert list(LongTermMemory.objects.order_by("created_at").values_list("external_id", "created_at")) == [
        ("b", datetime(2025, 7, 25, 1, 59, tzinfo=UTC)),
        ("a", datetime(2025, 7, 25, 2, 0, tzinfo=UTC)),
    ]


def test_o_009_nine_fractional_digits(import_case):
    import_case(9)

    session = Session.objects.get()
    assert (session.created_at, session.subject.user_id) == (datetime(2025, 9, 15, 17, 18, 55, 881276, tzinfo=UTC), "bob")


@pytest.mark.parametrize(
    ("number", "line", "field"),
    [
        (10, 1, "messages[0].created_at"),
        (13, 1, "expires_at"),
        (39, 1, "metadata.score"),
        (40, 1, ""),
        (43, 1, ""),
        (45, 3, ""),
    ],
)
def test_what_is_refused_is_named_by_line_and_field_and_never_quoted(import_case, tmp_path, number, line, field):
    done = import_case(number)

    refused = [found for found in report(tmp_path) if found["level"] == "refused"]
    assert [(found["line"], found["field"], found["code"]) for found in refused] == [(line, field, REFUSED[number])]
    assert "Partial" in done.words
    assert max(len(found["words"]) for found in refused) < 150


def test_o_014_the_same_message_twice_is_one_and_the_answer_says_so(import_case):
    done = import_case(14)

    assert (done.answer["new"]["working"], done.answer["unchanged"]["working"]) == (1, 1)


def test_o_016_one_session_id_of_two_users(import_case):
    import_case(16)

    sessions = {session.subject.user_id: session for session in Session.objects.filter(external_id="main")}
    assert sessions.keys() == {"u-110", "u-111"}
    assert [memory.messages[0]["content"] for memory in WorkingMemory.objects.of_session(sessions["u-111"])] == ["hello"]


def test_o_017_the_order_of_the_file(import_case, tmp_path):
    import_case(17)

    exported = export_memories(tmp_path / "out.jsonl", "--container", "pharmacy")
    assert [memory.messages[0]["content"] for memory in WorkingMemory.objects.in_order()] == ["question", "tool", "answer"]
    assert [line["messages"][0]["content"] for line in exported if line.get("type") == "working"] == ["question", "tool", "answer"]


def test_o_018_all_of_forty_five(import_case):
    import_case(18)

    assert Subject.objects.get(user_id="u-114").long_term == LongTermMemory.objects.count() == 45


@pytest.mark.parametrize(("number", "content"), [(20, ""), (21, None)])
def test_o_020_and_021_empty_and_null_stay_what_they_are(import_case, number, content):
    import_case(number)

    assert message()["content"] == content
    assert LongTermMemory.objects.count() == 0


def test_o_021_the_tool_call_is_kept(import_case):
    import_case(21)

    assert message()["tool_calls"][0]["function"]["name"] == "get_user_details"


def test_o_022_roles_of_other_systems(import_case):
    import_case(22)

    roles = [memory.messages[0]["role"] for memory in WorkingMemory.objects.in_order()]
    originals = [memory.metadata.get("original_role") for memory in WorkingMemory.objects.in_order()]
    assert roles == ["user", "assistant", "assistant", "tool", "developer", "system"]
    assert originals == ["human", "ai", "model", "function", None, None]


def test_o_023_both_parts(import_case):
    import_case(23)

    assert [part["type"] for part in message()["content"]] == ["text", "image_url"]


@pytest.mark.parametrize(("number", "length"), [(24, 308028), (25, 1048576)])
def test_o_024_and_025_large_texts_are_stored_whole(import_case, shared_data, tmp_path, number, length):
    import_case(number)

    sent = json.loads(content_of(shared_data, number))["messages"][0]["content"]
    exported = export_memories(tmp_path / "out.jsonl", "--container", "pharmacy")
    text = next(line for line in exported if line.get("type") == "working")["messages"][0]["content"]
    assert len(text) == length
    assert hashlib.sha256(text.encode()).digest() == hashlib.sha256(sent.encode()).digest()


@pytest.mark.parametrize("number", [26, 28, 30])
def test_texts_of_memories_are_stored_and_exported_unchanged(import_case, shared_data, tmp_path, number):
    import_case(number)

    sent = json.loads(content_of(shared_data, number))["memory"]
    exported = export_memories(tmp_path / "out.jsonl", "--container", "pharmacy")
    assert LongTermMemory.objects.get().text == sent
    assert next(line for line in exported if line.get("type") == "long-term")["text"] == sent


@pytest.mark.parametrize("number", [27, 29])
def test_texts_of_messages_are_stored_unchanged(import_case, shared_data, number):
    import_case(number)

    assert message()["content"] == json.loads(content_of(shared_data, number))["messages"][0]["content"]


def test_o_031_a_message_of_nobody_belongs_to_nobody(import_case):
    import_case(31)

    assert Subject.objects.get().user_id is None


@pytest.mark.parametrize("number", [32, 33, 34, 35, 36, 37])
def test_o_032_to_037_user_ids_go_in_and_out_exactly(import_case, shared_data, tmp_path, number):
    import_case(number)

    sent = json.loads(content_of(shared_data, number))
    ids = {record["user_id"] for record in (sent if isinstance(sent, list) else [sent])}
    assert set(Subject.objects.values_list("user_id", flat=True)) == ids
    for user_id in ids:
        exported = export_memories(tmp_path / "out.jsonl", f"--user={user_id}")
        assert {line["user_id"] for line in exported if "user_id" in line} == {user_id}


def test_o_038_every_digit(import_case, tmp_path):
    import_case(38)

    export_memories(tmp_path / "out.jsonl", "--container", "pharmacy")
    assert LongTermMemory.objects.get().metadata == {"order": 9007199254740993, "big": 18446744073709551617}
    assert b'{"big":18446744073709551617,"order":9007199254740993}' in (tmp_path / "out.jsonl").read_bytes()


def test_o_041_the_last_of_two_values_counts(import_case):
    import_case(41)

    assert Subject.objects.get().user_id == "u-130"


@pytest.mark.parametrize(
    ("number", "texts"),
    [
        (42, ["caf\u00e9 on Fridays"]),
        (43, ["plain ascii line"]),
        (44, ["line one\u2028line two\u0085line three", "second"]),
        (45, ["one", "two"]),
        (50, ["\u6211\u559c\u6b22\u5728\u5468\u672b\u53bb\u722c\u5c71\u548c\u559d\u4e4c\u9f99\u8336"]),
    ],
)
def test_files_of_odd_encodings_keep_every_good_record(import_case, number, texts):
    import_case(number)

    assert list(LongTermMemory.objects.order_by("id").values_list("text", flat=True)) == texts


@pytest.mark.parametrize("number", sorted(FOREIGN))
def test_a_foreign_format_is_refused_and_nothing_is_executed_or_unpacked(shared_data, tmp_path, number):
    case = cases(shared_data)[number]
    path = shared_data / case["files"][0] if "files" in case else tmp_path / "x.zip"
    if "files" not in case:
        path.write_bytes(content_of(shared_data, number))

    done = import_memories("jsonl", path)

    assert done.code in (0, 2, 3)
    assert sorted(tmp_path.parent.glob("outside*")) == []
