"""How transactions wait for SQLite's one write lock."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import OperationalError, connection, connections, transaction

from memadmin.sqlite import base
from tests.databases import is_sqlite

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(not is_sqlite(), reason="PostgreSQL has locks of rows, and queues for them"),
]


@contextmanager
def somebody_writes(until: threading.Event) -> Iterator[None]:
    """Another connection has the lock until it is told to let it go, and leaves all as it was."""
    has_it = threading.Event()

    def write() -> None:
        try:
            with transaction.atomic():
                has_it.set()
                until.wait(timeout=60)
        finally:
            connections.close_all()

    thread = threading.Thread(target=write)
    thread.start()
    assert has_it.wait(timeout=60)
    try:
        yield
    finally:
        until.set()
        thread.join(timeout=60)


def patience(milliseconds: int | None = None) -> int:
    connection.ensure_connection()
    if milliseconds is not None:
        connection.connection.execute(f"PRAGMA busy_timeout = {milliseconds}")
    return int(connection.connection.execute("PRAGMA busy_timeout").fetchone()[0])


def test_who_waits_asks_again_and_again_in_short_turns_and_then_has_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(base, "TURN_MS", 5)
    let_go, asked = threading.Event(), []

    def noting(execute: Any, sql: str, *given: Any) -> Any:
        if sql.startswith("BEGIN"):
            asked.append(patience())
            if len(asked) == 4:
                let_go.set()
        return execute(sql, *given)

    with somebody_writes(let_go), connection.execute_wrapper(noting), transaction.atomic():
        assert connection.in_atomic_block

    assert len(asked) >= 4
    assert set(asked) == {5}
    assert patience() == 20_000


def test_who_has_waited_for_as_long_as_the_connection_says_is_refused_and_has_done_nothing():
    patience(300)
    began = time.monotonic()

    with somebody_writes(threading.Event()), pytest.raises(OperationalError, match="locked"), transaction.atomic():
        pytest.fail("it has begun beside another one")

    assert time.monotonic() - began >= 0.29
    assert not connection.in_atomic_block
    assert patience() == 300


def test_who_will_not_wait_is_refused_at_once():
    patience(0)

    with somebody_writes(threading.Event()), pytest.raises(OperationalError, match="locked"), transaction.atomic():
        pytest.fail("it has begun beside another one")


def test_another_fault_is_not_waited_for(monkeypatch: pytest.MonkeyPatch):
    asked = []

    def broken(execute: Any, sql: str, *given: Any) -> Any:
        asked.append(sql)
        raise OperationalError("disk I/O error")

    with connection.execute_wrapper(broken), pytest.raises(OperationalError, match="disk"), transaction.atomic():
        pytest.fail("it has begun")

    assert asked == ["BEGIN IMMEDIATE"]
