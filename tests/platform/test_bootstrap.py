import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from memadmin import bootstrap
from memadmin.bootstrap import SetUpFailed
from tests.sources import ROOT


class FakeVenv:
    """A checkout in a temporary folder, where every command that would be run is noted instead."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root, self.commands, self.works = root, list[list[str]](), False
        for name in (bootstrap.PROGRAM, bootstrap.WITH_TEST_TOOLS, bootstrap.INSTALLER):
            (root / name).write_text("django==5.2.19\n")
        paths = {"ROOT": root, "VENV": root / ".venv", "STAMP": root / ".venv" / "stamp.json", "LOCK": root / ".venv.lock"}
        for name, path in paths.items():
            monkeypatch.setattr(bootstrap, name, path)
        monkeypatch.setattr(bootstrap, "PYTHON", root / ".venv" / "bin" / "python")
        monkeypatch.setattr(bootstrap, "_run", self.run)
        monkeypatch.setattr(bootstrap, "_works", lambda: self.works)

    def run(self, command: list[str], *, hint: str) -> None:
        self.commands.append(command)
        if "venv" in command:
            (self.root / ".venv").mkdir(exist_ok=True)
            self.works = True

    def installations(self) -> list[str]:
        """Return what was installed since the last call, with + where everything was put in anew."""
        done = [
            Path(command[-1]).name + ("+" if "--reinstall" in command else "") for command in self.commands if "--requirement" in command
        ]
        self.commands.clear()
        return [name for name in done if not name.startswith(bootstrap.INSTALLER)]


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeVenv:
    return FakeVenv(tmp_path, monkeypatch)


def test_the_second_start_installs_nothing(checkout: FakeVenv):
    bootstrap.prepare(bootstrap.PROGRAM)
    first = checkout.installations()

    bootstrap.prepare(bootstrap.PROGRAM)

    assert (first, checkout.installations()) == (["requirements.txt+"], [])


def test_the_test_tools_bring_the_program_along(checkout: FakeVenv):
    bootstrap.prepare(bootstrap.WITH_TEST_TOOLS)
    checkout.installations()

    bootstrap.prepare(bootstrap.PROGRAM)

    assert checkout.installations() == []


def test_changed_requirements_are_installed_over_the_old_ones(checkout: FakeVenv):
    bootstrap.prepare(bootstrap.PROGRAM)
    checkout.installations()
    (checkout.root / bootstrap.PROGRAM).write_text("django==5.2.20\n")

    bootstrap.prepare(bootstrap.PROGRAM)

    assert checkout.installations() == ["requirements.txt"]


def test_an_interrupted_installation_is_done_again_from_the_start(checkout: FakeVenv, monkeypatch: pytest.MonkeyPatch):
    def interrupted(command: list[str], *, hint: str) -> None:
        checkout.run(command, hint=hint)
        if command[-1].endswith(bootstrap.PROGRAM):
            raise KeyboardInterrupt

    monkeypatch.setattr(bootstrap, "_run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        bootstrap.prepare(bootstrap.PROGRAM)
    monkeypatch.setattr(bootstrap, "_run", checkout.run)
    checkout.installations()

    bootstrap.prepare(bootstrap.PROGRAM)

    assert checkout.installations() == ["requirements.txt+"]


def test_a_moved_checkout_is_installed_anew_since_scripts_name_their_place(checkout: FakeVenv):
    bootstrap.prepare(bootstrap.PROGRAM)
    checkout.installations()
    stamp = json.loads(bootstrap.STAMP.read_text())
    bootstrap.STAMP.write_text(json.dumps({**stamp, "made_for": "/elsewhere/.venv 3.11"}))

    bootstrap.prepare(bootstrap.PROGRAM)

    assert checkout.installations() == ["requirements.txt+"]


def test_pip_takes_over_where_uv_finds_no_index(checkout: FakeVenv, monkeypatch: pytest.MonkeyPatch):
    def uv_fails(command: list[str], *, hint: str) -> None:
        if command[0].endswith("uv"):
            raise SetUpFailed("no index")
        checkout.run(command, hint=hint)

    monkeypatch.setattr(bootstrap, "_run", uv_fails)

    bootstrap.prepare(bootstrap.PROGRAM)

    assert "--require-hashes" in checkout.commands[-1]
    assert checkout.commands[-1][-1].endswith("requirements.txt")
    assert "pip" in checkout.commands[-1]


def test_a_python_without_venv_says_which_package_to_install(checkout: FakeVenv, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    with pytest.raises(SetUpFailed, match="apt-get install python3-venv"):
        bootstrap.prepare(bootstrap.PROGRAM)


def test_a_linked_environment_of_another_checkout_is_left_alone(checkout: FakeVenv, tmp_path: Path):
    (tmp_path / ".venv").symlink_to(tmp_path)

    with pytest.raises(SetUpFailed, match="delete it"):
        bootstrap.prepare(bootstrap.PROGRAM)


def test_a_failed_command_shows_its_last_lines_and_what_to_do():
    with pytest.raises(SetUpFailed, match=r"(?s)python\d* said:\nno route\n\nis it reachable") as failure:
        bootstrap._run([sys.executable, "-c", "print('Retrying ...'); print('no route'); raise SystemExit(1)"], hint="is it reachable?")

    assert "Retrying" not in str(failure.value)


def test_an_old_python_is_told_what_it_needs():
    old = "import runpy, sys; sys.version_info = (3, 9, 2, 'final', 0); runpy.run_path('manage.py', run_name='__main__')"

    answer = subprocess.run([sys.executable, "-c", old], cwd=ROOT, capture_output=True, text=True, check=False)

    assert answer.returncode != 0
    assert answer.stderr.startswith("memadmin needs Python 3.11 or newer; this is 3.9.")
    ast.parse((ROOT / "manage.py").read_text("utf8"), feature_version=(3, 4))


def test_a_checkout_that_this_user_cannot_write_is_said_to_be_somebody_elses(checkout: FakeVenv, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(bootstrap, "LOCK", Path("/dev/null/lock"))

    with pytest.raises(SetUpFailed, match="run as the user that owns it"):
        bootstrap.prepare(bootstrap.PROGRAM)
