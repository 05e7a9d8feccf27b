"""No verb makes a counter drift, in any order, at any kill, from any number of writers."""

from collections.abc import Callable

import pytest
from django.db import transaction
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from memadmin.store import archive, pinning, removal
from memadmin.store.check import check
from memadmin.store.models import Archived, LongTermMemory, Session
from memadmin.store.removal import ArchiveNote, Chosen
from tests.factories import ACTOR, NOON, a_change, a_memory, a_message, a_pin, a_session, days, make_container, store
from tests.jobs.at_once import outcomes_at_once

USERS = st.sampled_from(["ann", "bob", "", None])
NUMBERS = st.integers(0, 3)
NOTES = st.sampled_from([None, ArchiveNote(run_number=1, now=NOON, expires_at=NOON + days(30))])


class Killed(Exception):
    """The process ends here, in the middle of a transaction."""


def everything(table: str) -> Chosen:
    seen = "last_accessed_at" if table == "store_longtermmemory" else "NULL"
    return Chosen(f"SELECT id, subject_id, revision, {seen} AS last_accessed_at, 'age' AS reason FROM {table}")


def kill_after(act: Callable[[], object]) -> None:
    """Do something and end before its transaction does."""
    try:
        with transaction.atomic():
            act()
            raise Killed
    except Killed:
        return


class CounterMachine(RuleBasedStateMachine):
    """Any sequence of the store's verbs, some of them cut off, leaves the counters equal to the rows."""

    @initialize()
    def begin(self) -> None:
        self.block = transaction.atomic()
        self.block.__enter__()
        self.container = make_container()

    def teardown(self) -> None:
        transaction.set_rollback(True)
        self.block.__exit__(None, None, None)

    @rule(user=USERS, number=NUMBERS, text=st.sampled_from(["tea", "coffee"]), pinned=st.booleans(), tokens=st.none() | st.integers(0, 9))
    def a_memory_arrives(self, user: str | None, number: int, text: str, pinned: bool, tokens: int | None) -> None:
        pin = a_pin() if pinned else None
        store(self.container, a_memory(text, user_id=user, external_id=f"f-{number}", tokens=tokens, pin=pin))

    @rule(user=USERS, number=NUMBERS, count=NUMBERS, pinned=st.booleans())
    def a_conversation_arrives(self, user: str | None, number: int, count: int, pinned: bool) -> None:
        messages = [{"role": "user", "content": str(index)} for index in range(count)]
        session = a_session(f"s-{number}", user_id=user, pin=a_pin() if pinned else None)
        store(self.container, session, a_message(user_id=user, session_ref=f"s-{number}", external_id=f"m-{number}", messages=messages))

    @rule(user=USERS, number=NUMBERS)
    def a_change_arrives(self, user: str | None, number: int) -> None:
        store(self.container, a_change(user_id=user, external_id=f"h-{number}"))

    @rule(user=USERS)
    def a_batch_is_killed(self, user: str | None) -> None:
        kill_after(lambda: store(self.container, a_memory(user_id=user), a_message(user_id=user, session_ref="s-x")))

    @precondition(lambda self: LongTermMemory.objects.exists())
    @rule(model=st.sampled_from([LongTermMemory, Session]), pick=st.integers(0, 9))
    def a_pin_is_turned(self, model: type, pick: int) -> None:
        rows = list(model.objects.order_by("id"))
        if rows:
            item = rows[pick % len(rows)]
            if item.pinned:
                pinning.unpin(item, actor=ACTOR, now=NOON)
            else:
                pinning.pin(item, reason="why", actor=ACTOR, now=NOON)

    @rule(note=NOTES)
    def exposed_memories_are_removed(self, note: ArchiveNote | None) -> None:
        exposed = LongTermMemory.objects.exposed().count()
        assert removal.remove_long_term(everything("store_longtermmemory"), archive=note).items == exposed
        assert not LongTermMemory.objects.exposed().exists()

    @rule(note=NOTES)
    def exposed_sessions_are_removed(self, note: ArchiveNote | None) -> None:
        removal.remove_sessions(everything("store_session"), archive=note)
        assert not Session.objects.exposed().exists()

    @rule()
    def history_is_removed(self) -> None:
        removal.remove_history(everything("store_historyentry"))

    @rule()
    def a_removal_is_killed(self) -> None:
        kill_after(lambda: removal.remove_long_term(everything("store_longtermmemory"), archive=None))

    @rule()
    def everything_is_restored(self) -> None:
        archive.restore(list(Archived.objects.values_list("id", flat=True)), now=NOON)

    @rule(pick=st.integers(0, 9))
    def a_copy_is_removed(self, pick: int) -> None:
        removal.remove_archived(list(Archived.objects.order_by("id").values_list("id", flat=True)[pick : pick + 1]))

    @invariant()
    def the_store_agrees_with_itself(self) -> None:
        assert list(check()) == []


@pytest.mark.django_db
class TestCounters(CounterMachine.TestCase):
    settings = settings(max_examples=15, stateful_step_count=15, deadline=None)


@pytest.mark.django_db(transaction=True)
def test_writers_that_cross_each_other_neither_lock_up_nor_drift():
    container = make_container()
    users = [f"user-{number}" for number in range(8)]

    def write(order: list[str]) -> Callable[[], None]:
        def task() -> None:
            for _ in range(5):
                store(container, *(a_memory(user_id=user) for user in order), a_message(user_id=order[0]))

        return task

    outcomes = outcomes_at_once(write(users), write(users[::-1]), write(users[4:] + users[:4]), write(users[::2]))

    assert outcomes == [None] * 4
    assert list(check()) == []
    assert LongTermMemory.objects.count() == 5 * (8 + 8 + 8 + 4)


@pytest.mark.django_db(transaction=True)
def test_writing_pinning_and_removing_at_once_never_drift():
    container = make_container()
    store(container, *(a_memory(user_id="ann", external_id=f"f-{number}") for number in range(40)))

    def write() -> None:
        for number in range(10):
            store(
                container, a_memory(user_id="ann", external_id=f"g-{number}"), a_memory("changed", user_id="ann", external_id=f"f-{number}")
            )

    def pin() -> None:
        for memory in LongTermMemory.objects.order_by("-id")[:20]:
            try:
                pinning.pin(memory, reason="why", actor=ACTOR, now=NOON)
            except (pinning.Gone, pinning.AlreadyPinned):
                continue

    def remove() -> None:
        for _ in range(5):
            removal.remove_long_term(everything("store_longtermmemory"), archive=None)

    outcomes = outcomes_at_once(write, pin, remove)

    assert outcomes == [None] * 3
    assert list(check()) == []
