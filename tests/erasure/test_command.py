"""The workflow from a shell: the same verbs as on the pages, with the password of who acts."""

import io
import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from memadmin.erasure.models import ErasureRequest, Status
from tests.erasure.workflow import officer, submitted
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
