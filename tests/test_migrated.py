"""The migrated database that one process makes and the others copy."""

import os
import sqlite3
from pathlib import Path

import pytest
from django.db import connection

from tests import migrated
from tests.databases import server
from tests.jobs.forked import fork

pytestmark = pytest.mark.django_db(transaction=True)
on_sqlite = pytest.mark.skipif(connection.vendor != "sqlite", reason="on PostgreSQL a template database is copied")
on_postgres = pytest.mark.skipif(connection.vendor != "postgresql", reason="on SQLite a file is copied")
MIGRATED = "SELECT count(*) FROM store_longtermmemory"


def begin_and_leave(folder: Path) -> None:
    """Be a process of a run: `own` is its test database, `made` says that it had to make it."""
    own, copies = folder / f"own-{os.getpid()}", migrated.OnSqlite(folder)
    copies.begin({"NAME": str(own)})
    if not own.exists():
        (folder / f"made-{os.getpid()}").touch()
    copies.leave()


@on_sqlite
def test_of_processes_that_begin_at_once_one_migrates_and_the_others_copy_what_it_left(tmp_path):
    processes = [fork(lambda: begin_and_leave(tmp_path)) for _ in range(4)]

    assert [os.waitpid(process, 0)[1] for process in processes] == [0] * 4
    assert len(list(tmp_path.glob("made-*"))) == 1
    copied = list(tmp_path.glob("own-*"))
    assert [sqlite3.connect(each).execute(MIGRATED).fetchone() for each in copied] == [(0,)] * 3


@on_sqlite
def test_what_was_made_by_other_migrations_goes(tmp_path):
    (tmp_path / migrated.KEPT.format("0123")).touch()

    begin_and_leave(tmp_path)

    (kept,) = tmp_path.glob(migrated.KEPT.format("*"))
    assert kept.name != migrated.KEPT.format("0123")


@on_sqlite
def test_who_is_killed_while_it_migrates_leaves_its_turn_to_the_next(tmp_path):
    process = fork(lambda: migrated.OnSqlite(tmp_path).begin({"NAME": "unused"}))
    os.waitpid(process, 0)

    begin_and_leave(tmp_path)

    assert len(list(tmp_path.glob("made-*"))) == 1


@on_postgres
def test_the_first_process_of_a_run_leaves_a_template_for_the_others_which_goes_with_the_run(monkeypatch):
    monkeypatch.setenv(migrated.RUN, "of-a-test")
    tested = [{}, {}]
    first, second = (migrated.OnPostgres("of-a-test") for _ in tested)

    first.begin(tested[0])
    first.leave()
    second.begin(tested[1])
    second.leave()  # it copied, and has nothing to leave
    template = tested[1].get("TEMPLATE")
    with server(template) as copy:
        migrations = copy.execute(MIGRATED).fetchone()
    migrated.end_run()

    assert tested[0] == {}
    assert migrations == (0,)
    with server(connection.settings_dict["NAME"]) as other:
        assert other.execute("SELECT 1 FROM pg_database WHERE datname = %s", [template]).fetchone() is None
