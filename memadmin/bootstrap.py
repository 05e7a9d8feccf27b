"""The virtual environment: made, filled with the exact versions of `requirements*.txt`, and entered.

Runs before anything is installed, so: standard library only. A stamp inside `.venv` says what it was filled from; without
one (never finished, or interrupted) everything is put in again, so a half-made environment repairs itself.
"""

import fcntl
import hashlib
import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "memadmin-stamp.json"
LOCK = ROOT / ".venv.lock"
PROGRAM = "requirements.txt"
WITH_TEST_TOOLS = "requirements-dev.txt"  # holds the program's own too
INSTALLER = "requirements-uv.txt"
NEEDS_TEST_TOOLS = {"test"}
NO_NETWORK = (
    "The packages come from the Python package index: is it reachable from here? Behind a proxy set HTTPS_PROXY; "
    "with a mirror of your own set PIP_INDEX_URL and UV_DEFAULT_INDEX. Then run the same command again: it goes on where it stopped."
)
NO_VENV_MODULE = "This Python cannot make virtual environments. On Debian and Ubuntu: apt-get install python3-venv"


class SetUpFailed(Exception):
    """The environment could not be made; the text says what to do."""


def enter_environment(arguments: list[str]) -> None:
    """Return at once inside `.venv`; outside make or refresh it and start the same command there."""
    if Path(sys.prefix).resolve() == VENV.resolve():
        return
    requirements = WITH_TEST_TOOLS if arguments[:1] and arguments[0] in NEEDS_TEST_TOOLS else PROGRAM
    try:
        prepare(requirements)
    except SetUpFailed as problem:
        sys.exit(f"memadmin could not be set up. {problem}")
    except KeyboardInterrupt:
        sys.exit("\nSet-up stopped. Run the same command again to finish it.")
    sys.stdout.flush()
    os.execv(PYTHON, [str(PYTHON), str(ROOT / "manage.py"), *arguments])


def prepare(requirements: str) -> None:
    """Fill `.venv` from a requirements file, unless its stamp says that it is."""
    if _is_filled_from(requirements):
        return
    if VENV.is_symlink() or (VENV.exists() and not VENV.is_dir()):
        raise SetUpFailed(f"{VENV} is not a folder of this checkout: delete it, or start with {PYTHON}.")
    with _alone():
        if _is_filled_from(requirements):  # the other start, that we waited for, did it
            return
        try:
            _fill(requirements)
        except OSError as problem:
            raise SetUpFailed(f"{problem.filename}: {problem.strerror}.") from problem


def _fill(requirements: str) -> None:
    began = time.monotonic()
    whole = _stamp().get("made_for") == _made_for() and _works()
    STAMP.unlink(missing_ok=True)
    if not _works():
        _say(f"Making the virtual environment {VENV} ...")
        _make()
    _say(f"Installing the exact versions of {requirements} ...")
    _install(requirements, again=not whole)
    done = [PROGRAM, requirements] if requirements == WITH_TEST_TOOLS else [requirements]
    draft = STAMP.with_suffix(".new")
    draft.write_text(json.dumps({"made_for": _made_for(), "digests": {name: _digest(name) for name in done}}), encoding="utf8")
    draft.replace(STAMP)
    _say(f"Installed in {time.monotonic() - began:.0f} s.")


def _make() -> None:
    if importlib.util.find_spec("ensurepip") is None:
        raise SetUpFailed(NO_VENV_MODULE)
    _run([sys.executable, "-m", "venv", "--clear", str(VENV)], hint=NO_VENV_MODULE)


def _install(requirements: str, *, again: bool) -> None:
    pip = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes", "--only-binary", ":all:"]
    _run([*pip, "--requirement", str(ROOT / INSTALLER)], hint=NO_NETWORK)
    uv = [str(VENV / "bin" / "uv"), "pip", "install", "--quiet", "--python", str(PYTHON), "--require-hashes", "--no-build"]
    try:
        _run([*uv, *(["--reinstall"] if again else []), "--requirement", str(ROOT / requirements)], hint=NO_NETWORK)
    except SetUpFailed:
        # pip may know of an index in its own configuration that uv does not read
        _say("uv could not do it; trying pip, which is slower ...")
        _run([*pip, *(["--force-reinstall"] if again else []), "--requirement", str(ROOT / requirements)], hint=NO_NETWORK)


def _run(command: list[str], *, hint: str) -> None:
    environment = {**os.environ, "PIP_USER": "0", "PYTHONNOUSERSITE": "1"}
    environment.pop("PYTHONHOME", None)
    try:
        # It inherits the lock: should this process be killed, another start waits until the installer has ended too.
        answer = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, close_fds=False
        )
    except OSError as problem:
        raise SetUpFailed(f"{command[0]} cannot be started: {problem.strerror}.") from problem
    if answer.returncode != 0:
        lines = [line for line in (answer.stdout + answer.stderr).strip().splitlines() if "Retrying" not in line]
        last_lines = "\n".join(lines[-6:])
        raise SetUpFailed(f"{Path(command[0]).name} said:\n{last_lines}\n\n{hint}")


def _works() -> bool:
    """Whether the environment's Python starts, is of this version and has pip."""
    check = "import sys, pip; print(*sys.version_info[:2])"
    try:
        answer = subprocess.run([str(PYTHON), "-c", check], capture_output=True, text=True, check=False)
    except OSError:
        return False
    return answer.stdout.split() == [str(part) for part in sys.version_info[:2]]


def _is_filled_from(requirements: str) -> bool:
    stamp = _stamp()
    return stamp.get("made_for") == _made_for() and stamp["digests"].get(requirements) == _digest(requirements)


def _stamp() -> dict[str, Any]:
    """Return what the last finished installation wrote; empty when there was none."""
    try:
        return dict(json.loads(STAMP.read_text(encoding="utf8")))
    except (OSError, ValueError):
        return {}


def _made_for() -> str:
    """What else the environment depends on: its place (scripts name it) and the version of Python."""
    return f"{VENV} {sys.version_info[0]}.{sys.version_info[1]}"


def _digest(name: str) -> str:
    return hashlib.sha256((ROOT / name).read_bytes() + (ROOT / INSTALLER).read_bytes()).hexdigest()


@contextmanager
def _alone() -> Iterator[None]:
    """Keep a second start waiting while the first one installs."""
    try:
        lock = open(LOCK, "w", encoding="utf8")  # noqa: SIM115 (closed below; the error needs its own words)
    except OSError as problem:
        raise SetUpFailed(f"{ROOT} cannot be written by this user ({problem.strerror}): run as the user that owns it.") from problem
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _say("Another start is installing; waiting for it ...")
            fcntl.flock(lock, fcntl.LOCK_EX)
        os.set_inheritable(lock.fileno(), True)
        yield


def _say(text: str) -> None:
    print(text, flush=True)
