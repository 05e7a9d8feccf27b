import ast
import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from memadmin.management.commands import test as module
from memadmin.management.temporary_postgres import NoServer
from tests import sources

COUNTS = {"passed": 3, "failed": 0, "skipped": 1}


class FakePytest:
    """Stands for the two pytest processes: notes how each is called and leaves its counts."""

    def __init__(self, code: int = 0) -> None:
        self.calls: list[tuple[list[str], dict[str, str]]] = []
        self.code = code

    def __call__(self, command: list[str], *, env: dict[str, str], **_: Any) -> subprocess.CompletedProcess[str]:
        self.calls.append((command, env))
        Path(env["MEMADMIN_TEST_COUNTS"]).write_text(json.dumps(COUNTS))
        return subprocess.CompletedProcess(command, self.code)


@pytest.fixture
def pytests(monkeypatch: pytest.MonkeyPatch, settings: Any) -> FakePytest:
    @contextmanager
    def server() -> Iterator[str]:
        yield "postgres://memadmin@/postgres?host=/tmp/x"

    fake = FakePytest()
    monkeypatch.setattr(module.subprocess, "run", fake)
    monkeypatch.setattr(module, "temporary_postgres", server)
    monkeypatch.setattr(module.signal, "signal", lambda *_: None)
    monkeypatch.delenv("CI", raising=False)
    settings.ON_SQLITE = True
    return fake


def run(*arguments: str) -> int:
    return module.Command().run_both(arguments)


def test_both_databases_are_tested_with_the_same_arguments(pytests: FakePytest, capsys: pytest.CaptureFixture[str]):
    assert run("tests/store", "-k", "pinned") == 0

    assert [command[3:] for command, _ in pytests.calls] == [["tests/store", "-k", "pinned"]] * 2
    assert [env.get("DATABASE_URL") for _, env in pytests.calls] == [None, "postgres://memadmin@/postgres?host=/tmp/x"]
    assert capsys.readouterr().out.splitlines()[-1] == "6 passed, 0 failed, 2 skipped"


def test_a_postgresql_server_of_ones_own_is_used(pytests: FakePytest, settings: Any, monkeypatch: pytest.MonkeyPatch):
    settings.ON_SQLITE = False
    monkeypatch.setenv("DATABASE_URL", "postgres://me@db/mine")

    run()

    assert [env.get("DATABASE_URL") for _, env in pytests.calls] == [None, "postgres://me@db/mine"]


def test_settings_of_the_installation_do_not_reach_the_tests(pytests: FakePytest, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ALLOWED_HOSTS", "memory.example.org")
    monkeypatch.setenv("SECRET_KEY_FILE", "/run/secrets/key")

    run()

    assert not {"ALLOWED_HOSTS", "SECRET_KEY_FILE"} & set(pytests.calls[0][1])


def test_a_failure_on_one_database_fails_both(pytests: FakePytest):
    pytests.code = 1

    assert run() == 1
    assert len(pytests.calls) == 2


def test_an_interrupted_run_is_not_followed_by_another(pytests: FakePytest):
    pytests.code = module.INTERRUPTED

    assert run() == module.INTERRUPTED
    assert len(pytests.calls) == 1


@pytest.mark.parametrize("beside_the_sources", [True, False])
def test_both_databases_share_what_was_compiled_also_where_nothing_may_be_left_beside_the_sources(
    beside_the_sources: bool, pytests: FakePytest, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module.sys, "dont_write_bytecode", not beside_the_sources)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "" if beside_the_sources else "1")
    monkeypatch.delenv("PYTHONPYCACHEPREFIX", raising=False)

    run()

    folders = [env.get("PYTHONPYCACHEPREFIX") for _, env in pytests.calls]
    assert [env["PYTHONDONTWRITEBYTECODE"] for _, env in pytests.calls] == ["", ""]
    assert folders[0] == folders[1]
    assert (folders[0] is None) == beside_the_sources
    assert beside_the_sources or not Path(folders[0]).exists()  # gone with the run


@pytest.mark.parametrize(("in_ci", "code"), [(False, 0), (True, 1)])
def test_a_missing_server_is_said_at_the_end_and_fails_in_ci_only(
    in_ci: bool, code: int, pytests: FakePytest, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def none() -> Any:
        raise NoServer("no pg_ctl on this machine")

    monkeypatch.setattr(module, "temporary_postgres", none)
    if in_ci:
        monkeypatch.setenv("CI", "true")

    assert run() == code
    assert "PostgreSQL: not run, no server could be started (no pg_ctl on this machine)" in capsys.readouterr().out


def test_every_variable_of_the_settings_is_kept_away_from_the_tests():
    tree = sources.tree_of(sources.ROOT / "memadmin" / "settings.py")
    read = {ast.literal_eval(call.args[0]) for call, chain in sources.calls(tree) if chain[-1].startswith("env_")}

    assert read == module.OWN_VARIABLES
