"""The database that is kept between runs: several processes of one run make it at once."""

import os
import sqlite3

import pytest
from django.db import connection

from tests import migrated
from tests.jobs.forked import fork

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "sqlite", reason="only SQLite's is a file that can be kept"),
]


def test_processes_that_begin_at_once_leave_alone_what_the_others_are_making(tmp_path):
    processes = [fork(lambda: migrated.keep(tmp_path)) for _ in range(4)]

    assert [os.waitpid(process, 0)[1] for process in processes] == [0] * 4
    (kept,) = tmp_path.iterdir()
    assert sqlite3.connect(kept).execute("SELECT count(*) FROM store_longtermmemory").fetchone() == (0,)


def test_what_was_made_by_other_migrations_goes(tmp_path):
    (tmp_path / migrated.KEPT.format("0123")).touch()

    migrated.keep(tmp_path)
    migrated.keep(tmp_path)

    assert [file.name == migrated.KEPT.format("0123") for file in tmp_path.iterdir()] == [False]
