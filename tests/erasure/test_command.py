"""The workflow from a shell: the same verbs as on the pages, with the password of who acts."""

import io
import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from memadmin.erasure import shell as shell_words
from memadmin.erasure import terminal
from memadmin.erasure.models import ErasureRequest, Status
from tests.erasure.workflow import officer, opened, submitted
from tests.factories import NOON, a_memory, days, make_container, make_memory, store
from tests.people import PASSWORD

pytestmark = pytest.mark.django_db


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> Any:
    def run(*arguments: str, password: str = PASSWORD) -> dict[str, Any]:
        monkeypatch.setattr("sys.stdin", io.StringIO(f"{password}\n"))
        out = io.StringIO()
        call_command("erasure", *arguments, "--json", stdout=out)
        answer: dict[str, Any] = json.loads(out.getvalue())
        return answer

    return run


def test_a_request_is_taken_in_shown_and_approved_by_another_person(shell: Any):
    store(make_container(), a_memory(), a_memory(user_id="Ann"), now=NOON - days(1))
    officer(), officer("carl")
    made = shell("open", "--user", "ann", "--as", "cora", "--password-stdin")
    request = ErasureRequest.objects.get()
    assert (made["number"], made["to_tick"]) == (1, 1)
    request.subjects.filter(ticked=None).update(ticked=False)
    ErasureRequest.objects.update(identity_level=1)
    request.refresh_from_db()
    submitted(request)
    digest = shell("show", "1")["digest"]

    with pytest.raises(CommandError, match="Somebody else approves"):
        shell("approve", "1", "--digest", digest, "--as", "cora", "--password-stdin")
    done = shell("approve", "1", "--digest", digest, "--as", "carl", "--password-stdin")

    assert done["state"] == Status.APPROVED


def test_a_shell_takes_the_usual_ground_of_a_kind_and_asks_for_that_of_a_restriction(shell: Any):
    store(make_container(), a_memory())
    officer()
    ann = ("open", "--user", "ann", "--as", "cora", "--password-stdin", "--kind")

    with pytest.raises(CommandError, match="18_1_a, accuracy contested"):
        shell(*ann, "restrict")
    with pytest.raises(CommandError, match="no ground to give access"):
        shell(*ann, "access", "--ground", "17_1_b")
    shell(*ann, "access")
    shell(*ann, "restrict", "--ground", "18_1_d")

    assert list(ErasureRequest.objects.order_by("number").values_list("kind", "ground")) == [("access", "15"), ("restrict", "18_1_d")]


def test_a_wrong_password_and_a_wildcard_are_refused(shell: Any):
    make_container()
    officer()
    with pytest.raises(CommandError, match="do not match"):
        shell("open", "--user", "ann", "--as", "cora", "--password-stdin", password="guess")
    with pytest.raises(CommandError, match="no wildcards"):
        shell("open", "--user", "*", "--as", "cora", "--password-stdin")
    assert shell("show") == {"requests": []}


def test_single_items_and_a_topic_are_taken_in(shell: Any):
    memory = make_memory(make_container("c1"), "likes tea")
    officer()
    who = ("--as", "cora", "--password-stdin")

    one = shell("open", "--item", f"long-term/{memory.uid}", "--kind", "erase_memory", *who)
    again = shell("open", "--item", f"long-term/{memory.uid}", "--kind", "erase_memory", "--key", "k", *who)
    same = shell("open", "--item", f"long-term/{memory.uid}", "--kind", "erase_memory", "--key", "k", *who)
    topic = shell("open", "--topic", "TEA", "--container", "c1", *who)

    assert (one["kind"], topic["kind"]) == ("erase_memory", "erase_topic")
    assert again["number"] == same["number"]
    assert ErasureRequest.objects.get(number=topic["number"]).items.get().item_uid == memory.uid


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--item", "long-term/x"], "names no item"),
        (["--item", "history/00000000-0000-0000-0000-000000000000"], "names no item"),
        (["--item", "sessions/00000000-0000-0000-0000-000000000000"], "no session"),
        (["--topic", "te", "--container", "c1"], "3 characters"),
        (["--topic", "tea"], "Name the one --container"),
        (["--topic", "nowhere said", "--container", "c1"], "no such item"),
        (["--user", "ann", "--kind", "erase_memory"], "name items, not users|Say what this is about"),
        (["--user", "ann", "--item", "sessions/x"], "not allowed with"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(shell: Any, arguments: list[str], words: str):
    make_memory(make_container("c1"))
    officer()

    with pytest.raises(CommandError, match=words):
        shell("open", *arguments, "--as", "cora", "--password-stdin")

    assert not ErasureRequest.objects.exists()


def test_a_shell_speaks_in_the_words_of_the_pages():
    store(make_container(), a_memory(), now=NOON - days(1))
    officer()
    digest = submitted(opened()).digest
    out = io.StringIO()

    call_command("erasure", "show", stdout=out)

    assert out.getvalue().splitlines() == [
        "Request 1: erase a person. Waits for approval, due 1 Apr 2026; 2 items found.",
        f"  digest {digest}",
    ]


def test_a_shell_says_how_a_request_ended_and_what_still_waits():
    one = {"number": 7, "kind": "erase_subject", "state": "completed", "outcome": "L2", "due_on": "2026-04-01", "digest": ""}

    assert "in review" not in shell_words.line_of({**one, "things": 1, "to_tick": 0, "to_decide": 0})
    assert "Request 7: erase a person. Completed (" in shell_words.line_of({**one, "things": 1, "to_tick": 0, "to_decide": 0})
    waits = shell_words.line_of({**one, "outcome": "", "things": 3, "to_tick": 1, "to_decide": 2})
    assert waits == "Request 7: erase a person. Completed, due 1 Apr 2026; 3 items found, 1 id to tick, 2 items to decide about."


def test_the_end_of_a_run_is_told_by_place_and_cause_in_words():
    place = {"location": "store.long_term", "erased": 3, "redacted": 1, "rederived": 0, "absent": 0, "withheld": 0}
    finding = {"kind": "residue", "table": "store_longtermmemory", "column": "text", "rows": 2}

    lines = terminal.lines_of({"outcomes": [place], "findings": [finding], "error_code": "KeysUnusable"})

    assert lines == [
        "  Long-term memories: 3 erased, 1 with words taken out",
        "  Found: Long-term memories (store_longtermmemory), column text: is still there, 2 rows",
        "  It stopped: The keys that ids are known by cannot be read: they are not where the settings say.",
    ]
