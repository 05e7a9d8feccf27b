"""The rest of the workflow from a shell: show first, act with --commit, progress, exit codes."""

import io
import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from memadmin.erasure.certificates.receipts import is_about
from memadmin.erasure.models import Drill, ErasureRequest, IdentityLevel, Status
from memadmin.erasure.planting import plant_person
from memadmin.store import configuration
from memadmin.store.models import LongTermMemory
from tests.erasure.executing import CANARY, with_a_residue
from tests.erasure.workflow import approved, officer, opened
from tests.factories import ACTOR, NOON, a_memory, make_container, store
from tests.people import PASSWORD

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> Any:
    def run(*arguments: str, login: str = "cora") -> dict[str, Any]:
        officer(login)
        monkeypatch.setattr("sys.stdin", io.StringIO(f"{PASSWORD}\n"))
        out = io.StringIO()
        try:
            call_command("erasure", *arguments, "--as", login, "--password-stdin", "--json", stdout=out)
        except SystemExit as ended:
            return {**json.loads(out.getvalue()), "exit": ended.code}
        return {**json.loads(out.getvalue()), "exit": 0}

    return run


@pytest.fixture
def request_of_ann() -> ErasureRequest:
    store(make_container(), a_memory(), now=timezone.now())
    return opened(now=timezone.now())


def test_searched_frozen_and_run_in_the_foreground_it_is_complete(shell: Any, request_of_ann: ErasureRequest):
    assert shell("search", "1")["state"] == Status.REVIEW
    digest = shell("freeze", "1")["digest"]
    receipt = shell("receipt", "1")["receipt"]
    commitments = list(request_of_ann.commitments.values_list("value", flat=True))
    call = shell("approve", "1", "--digest", digest, login="carl")
    shown = shell("run", "1")
    assert (call["state"], shown["state"], shown["exit"]) == (Status.APPROVED, Status.APPROVED, 0)
    assert "Would erase" in shown["would"]
    assert LongTermMemory.objects.exists()

    done = shell("run", "1", "--commit")

    assert (done["state"], done["exit"]) == (Status.COMPLETED, 0)
    assert not LongTermMemory.objects.exists()
    assert {each["location"] for each in done["outcomes"]} >= {"store.long_term", "store.subjects"}
    assert is_about(commitments, receipt, "ann")


@pytest.mark.parametrize(("verb", "state"), [("cancel", Status.CANCELLED), ("refuse", Status.REFUSED)])
def test_what_ends_a_request_is_shown_first(shell: Any, request_of_ann: ErasureRequest, tmp_path: Any, verb: str, state: Status):
    letter = tmp_path / "letter.txt"
    letter.write_text("Dear Ann, the request was unfounded.")
    more = ["--code", "unfounded", "--letter", str(letter)] if verb == "refuse" else []

    shown = shell(verb, "1", *more)
    assert (shown["state"], shown["would"].split()[0]) == (Status.RECEIVED, "Would")

    assert shell(verb, "1", *more, "--commit")["state"] == state
    with pytest.raises(CommandError):
        shell(verb, "1", *more, "--commit")


def test_a_manifest_that_is_not_ready_is_not_frozen(shell: Any, request_of_ann: ErasureRequest):
    ErasureRequest.objects.update(identity_level=None)
    shell("search", "1")

    with pytest.raises(CommandError, match="comes from the person"):
        shell("freeze", "1")


def test_how_it_is_known_who_asks_is_noted_and_who_noted_it_does_not_approve(shell: Any, request_of_ann: ErasureRequest):
    ErasureRequest.objects.update(identity_level=None, identity_by="")
    shell("search", "1")

    shell("identity", "1", "--level", "documents", login="carl")

    digest = shell("freeze", "1")["digest"]
    request_of_ann.refresh_from_db()
    assert request_of_ann.identity_level == IdentityLevel.DOCUMENTS
    with pytest.raises(CommandError, match="Somebody else approves it"):
        shell("approve", "1", "--digest", digest, login="carl")


def test_a_request_is_taken_in_with_how_it_is_known_who_asks(shell: Any):
    store(make_container(), a_memory(), now=timezone.now())

    shell("open", "--user", "ann", "--identity", "token")

    assert ErasureRequest.objects.get().identity_level == IdentityLevel.TOKEN


def test_an_erasure_with_a_residue_fails_the_command_and_goes_on(shell: Any, monkeypatch: Any):
    plant_person(make_container(), CANARY, actor=ACTOR, now=NOON)
    request = with_a_residue(monkeypatch)
    with pytest.raises(CommandError, match="not approved"):
        shell("run", str(request.number), "--commit")

    assert "Would let" in shell("go-on", str(request.number))["would"]
    shell("go-on", str(request.number), "--commit")
    request.refresh_from_db()

    assert request.manifests.count() == 2


def test_nothing_runs_while_all_erasures_are_stopped(shell: Any, request_of_ann: ErasureRequest):
    approved(request_of_ann, now=timezone.now())
    configuration.change("erasure_paused", True, actor=ACTOR, now=timezone.now())

    with pytest.raises(CommandError, match="stopped"):
        shell("run", "1", "--commit")
    with pytest.raises(CommandError, match="stopped"):
        shell("drill")
    request_of_ann.refresh_from_db()
    assert request_of_ann.state == Status.APPROVED


def test_a_drill_in_the_foreground_reports_as_json(shell: Any):
    report = shell("drill")

    assert (report["state"], report["exit"], report["failures"]) == ("passed", 0, [])
    assert report["uid"] == str(Drill.objects.get().uid)


def test_a_drill_that_fails_has_an_exit_code(shell: Any, monkeypatch: Any):
    monkeypatch.setattr("memadmin.erasure.drills.checking.traces", lambda drill: 3)

    report = shell("drill")

    assert (report["state"], report["exit"]) == ("failed", 1)
    assert [each["code"] for each in report["failures"]] == ["traces_left"]
