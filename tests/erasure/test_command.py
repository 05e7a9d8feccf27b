"""The workflow from a shell: the same verbs as on the pages, with the password of who acts."""

import io
import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from memadmin.erasure.models import ErasureRequest, Status
from tests.erasure.workflow import officer, submitted
from tests.factories import NOON, a_memory, days, make_container, store
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


def test_a_wrong_password_and_a_wildcard_are_refused(shell: Any):
    make_container()
    officer()
    with pytest.raises(CommandError, match="do not match"):
        shell("open", "--user", "ann", "--as", "cora", "--password-stdin", password="guess")
    with pytest.raises(CommandError, match="no wildcards"):
        shell("open", "--user", "*", "--as", "cora", "--password-stdin")
    assert shell("show") == {"requests": []}
