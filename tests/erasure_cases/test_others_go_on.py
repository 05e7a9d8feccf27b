"""What everybody else can do while a person of many rows is erased. The number is that of the list of attacks.

How long somebody waits depends on the machine. What does not: whether anything of theirs is locked while a batch is open, or between two of
them; how many statements a batch takes; and how long a batch can become, whatever a row costs.
"""

import threading
from typing import Any

import pytest
from django.db import Error, connection, connections
from django.test.utils import CaptureQueriesContext

from memadmin.erasure.execution import batches, steps
from memadmin.erasure.models import Manifest, Status
from memadmin.jobs import lease
from memadmin.store import ingest, locations
from memadmin.store.locations import Act
from memadmin.store.models import LongTermMemory
from tests.databases import is_sqlite
from tests.erasure.executing import execute
from tests.erasure.workflow import approved, opened
from tests.factories import ACTOR, NOON, a_change, a_memory, a_message, a_session, make_container, store, subject_of
from tests.holds import hold

pytestmark = pytest.mark.django_db(transaction=True)
on_postgresql = pytest.mark.skipif(
    is_sqlite(), reason="SQLite has one writer at a time: how much one transaction does is all that counts there"
)
PLACES = ("sessions", "working memories", "long-term memories", "history")


class Bob:
    """Somebody else, who writes in a connection of his own and waits for nobody longer than a moment."""

    def __init__(self) -> None:
        self.container = make_container()
        self.written, self.failed = 0, list[str]()
        store(self.container, a_memory(user_id="bob"), a_session("bob's", user_id="bob"))

    def writes(self, when: str) -> None:
        thread = threading.Thread(target=self._write, args=(when,))
        thread.start()
        thread.join(timeout=60)

    def _write(self, when: str) -> None:
        try:
            with connection.cursor() as cursor:
                cursor.execute("PRAGMA busy_timeout = 0" if connection.vendor == "sqlite" else "SET lock_timeout = '2s'")
            said = [a_memory(f"memory {self.written}", user_id="bob"), a_message("hello", session_ref="bob's", user_id="bob")]
            ingest.write(self.container, [*said, a_change("other", user_id="bob")], actor=ACTOR, now=NOON)
            self.written += 1
        except Error as error:
            self.failed.append(f"{when}: {error}")
        finally:
            connections.close_all()


@pytest.fixture
def bob(monkeypatch: pytest.MonkeyPatch) -> Bob:
    """Beside him is Ann with more than two batches in each of the places in which people write."""
    monkeypatch.setattr(batches, "AT_ONCE", 2)
    made = Bob()
    for number in range(5):
        store(
            made.container,
            a_session(f"s{number}"),
            a_message("words", session_ref=f"s{number}"),
            a_memory(f"tea {number}"),
            a_change("tea"),
        )
    for memory in LongTermMemory.objects.filter(subject__user_id="ann")[:3]:
        hold(memory)  # what a list spares goes item by item
    return made


def test_22_between_any_two_batches_nothing_at_all_is_locked(bob: Bob, monkeypatch: pytest.MonkeyPatch):
    begun = list[str]()

    def writing(phase: str, does: Any) -> Any:
        def step(*at: Any) -> Any:
            begun.append(phase)
            bob.writes(phase)
            return does(*at)

        return step

    for phase, does in steps._STEPS.items():
        monkeypatch.setitem(steps._STEPS, phase, writing(phase, does))
    request = opened("ann")
    approved(request)

    execute(request)

    assert bob.failed == []
    assert (request.state, set(begun), bob.written) == (Status.COMPLETED, set(steps.PHASES), len(begun))
    assert begun.count("rows") > len(PLACES)
    assert subject_of(bob.container, "bob").long_term == 1 + bob.written


@on_postgresql
def test_22_while_a_batch_is_open_what_is_of_others_is_not_locked(bob: Bob, monkeypatch: pytest.MonkeyPatch):
    inside = list[str]()

    def after_writing(real: Any) -> Any:
        def saves(job: Any, step: Any, **details: Any) -> Any:
            if connection.in_atomic_block:
                inside.append((job.cursor or {}).get("phase", ""))
                bob.writes(inside[-1])
            return real(job, step, **details)

        return saves

    for name in ("save", "checkpoint"):
        monkeypatch.setattr(lease, name, after_writing(getattr(lease, name)))
    request = opened("ann")
    approved(request)

    execute(request)

    assert bob.failed == []
    assert {"words", "rows", "came", "look"} & set(inside) >= {"rows", "came", "look"}
    assert (request.state, bob.written) == (Status.COMPLETED, len(inside))


def test_22_a_batch_takes_as_many_statements_for_few_rows_as_for_many(bob: Bob, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(batches, "AT_ONCE", 200)
    asked = {number: statements_for(bob, number) for number in (3, 120)}

    assert asked[3] == asked[120] < 30


def statements_for(bob: Bob, number: int) -> int:
    user = f"user {number}"
    store(bob.container, *(a_memory(f"{number} {each}", user_id=user) for each in range(number)))
    request = opened(user)
    approved(request)
    manifest, place = Manifest.objects.get(request=request), locations.get("store.long_term")
    batch = batches.next_batch(manifest, place, acts=(Act.DELETE,), behind=0, size=number)
    assert batch is not None
    with CaptureQueriesContext(connection) as asked:
        done = batches.carry_out(request, batch, actor=ACTOR, now=NOON)
    assert done.items == number
    return len(asked)


@pytest.mark.parametrize("seconds_of_a_row", [10.0**-power for power in range(1, 9)])
def test_22_no_batch_takes_longer_than_its_growth_allows_whatever_a_row_costs(seconds_of_a_row: float):
    size, longest = batches.AT_ONCE, 0.0
    for _ in range(50):
        took = size * seconds_of_a_row
        longest = max(longest, took)
        size = batches.next_size(size, took=took)

    assert longest <= max(batches.SHORT * batches.GROWTH, batches.AT_ONCE * seconds_of_a_row)


@pytest.mark.parametrize("seconds_of_a_row", [10.0**-power for power in range(1, 7)])
def test_22_where_rows_become_dear_the_batches_become_small_again_at_once(seconds_of_a_row: float):
    size, taken = batches.MOST, list[float]()
    for _ in range(10):
        taken.append(size * seconds_of_a_row)
        size = batches.next_size(size, took=taken[-1])

    assert size == batches.AT_ONCE or taken[-1] <= batches.LONG[connection.vendor]
