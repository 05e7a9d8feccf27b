"""The short way in stores what the long way stores."""

import uuid
from typing import Any

import pytest

from memadmin.store import appending
from memadmin.store.check import check
from memadmin.store.intake import IncomingWorking
from memadmin.store.models import Container, Session, WorkingMemory
from tests.factories import NOON, a_message, a_session, days, make_container, make_session, store, subject_of

pytestmark = pytest.mark.django_db
LATER = NOON + days(1)
NOT_THE_SAME = {"id", "uid", "container_id", "subject_id", "session_id"}


def a_payload(**details: Any) -> IncomingWorking:
    given = {"uid": uuid.uuid4(), "created_at": LATER, "namespace": {"user_id": "ann"}, "tags": {"a": "b"}, "owner": "agent", **details}
    return a_message("Is it on its way?", **given)


def row_of(container: Container) -> dict[str, Any]:
    row = WorkingMemory.objects.filter(container=container).values().get()
    return {name: value for name, value in row.items() if name not in NOT_THE_SAME}


def standing(container: Container) -> tuple[Any, ...]:
    session, subject = Session.objects.get(container=container), subject_of(container)
    return (session.last_updated_at, session.revision, subject.working, subject.messages, subject.sessions)


def test_row_session_and_counters_are_those_of_the_long_way():
    short, long = make_container("short"), make_container("long")
    for container in (short, long):
        make_session(container)

    stored = appending.append(short, a_payload(), now=LATER)
    store(long, a_payload(), now=LATER)

    assert stored is not None
    assert WorkingMemory.objects.get(pk=stored.pk).uid == stored.uid
    assert row_of(short) == row_of(long)
    assert standing(short) == standing(long)
    assert list(check()) == []


@pytest.mark.parametrize("created_at", [NOON - days(400), None])
def test_an_old_or_undated_payload_leaves_the_session_as_young_as_it_is(created_at: Any):
    short, long = make_container("short"), make_container("long")
    for container in (short, long):
        make_session(container)

    appending.append(short, a_payload(created_at=created_at), now=LATER)
    store(long, a_payload(created_at=created_at), now=LATER)

    assert standing(short) == standing(long)


def test_a_payload_that_names_nobody_is_of_the_sessions_user():
    container = make_container()
    make_session(container, user_id="ann")

    stored = appending.append(container, a_payload(user_id=None), now=LATER)

    assert stored is not None
    assert stored.subject_id == subject_of(container, "ann").pk


@pytest.mark.parametrize("payload", [{"session_ref": "s-9"}, {"user_id": "bob"}])
def test_no_session_or_somebody_elses_is_left_to_the_long_way(payload: dict[str, Any]):
    container = make_container()
    make_session(container)

    assert appending.append(container, a_payload(**payload), now=LATER) is None
    assert WorkingMemory.objects.count() == 0


def test_a_name_that_two_users_have_is_left_to_the_long_way():
    container = make_container()
    store(container, a_session(user_id="ann"), a_session(user_id="bob"))

    assert appending.append(container, a_payload(user_id="ann"), now=LATER) is None


def test_the_same_name_in_another_container_is_another_session():
    container, other = make_container(), make_container("other")
    make_session(other)

    assert appending.append(container, a_payload(), now=LATER) is None
