import pytest

from memadmin.audit.models import AuditEntry
from memadmin.store import attribution, pinning
from memadmin.store.check import check
from memadmin.store.models import LongTermMemory, Pin, Session
from tests.factories import ACTOR, NOON, make_container, make_memory, make_session, subject_of

pytestmark = pytest.mark.django_db


def pin(item, reason="allergy"):
    return pinning.pin(item, reason=reason, actor=ACTOR, now=NOON)


def test_a_pin_says_who_when_and_why():
    memory = make_memory(make_container())

    made = pin(memory, reason="  allergy ")

    assert (made.reason, made.actor, made.created_at, made.target_uid) == ("allergy", ACTOR, NOON, memory.uid)
    assert memory.pinned
    assert subject_of(memory.container).pinned_long_term == 1


def test_pinning_does_not_change_the_age():
    memory = make_memory(make_container())
    before = memory.last_updated_at

    pin(memory)

    assert memory.last_updated_at == before


def test_a_pin_without_a_reason_is_refused_and_nothing_happens():
    memory = make_memory(make_container())

    with pytest.raises(pinning.NoReason):
        pin(memory, reason="  ")

    assert not LongTermMemory.objects.get().pinned


def test_the_second_pin_and_the_second_unpin_are_refused():
    memory = make_memory(make_container())
    pin(memory)

    with pytest.raises(pinning.AlreadyPinned):
        pin(memory)
    pinning.unpin(memory, actor=ACTOR, now=NOON)
    with pytest.raises(pinning.NotPinned):
        pinning.unpin(memory, actor=ACTOR, now=NOON)

    assert Pin.objects.count() == 0
    assert subject_of(memory.container).pinned_long_term == 0


def test_a_memory_that_has_gone_cannot_be_pinned():
    memory = make_memory(make_container())
    LongTermMemory.objects.filter(pk=memory.pk)._raw_delete("default")

    with pytest.raises(pinning.Gone):
        pin(memory)


def test_a_session_can_be_pinned_and_unpinned():
    session = make_session(make_container())

    pin(session)
    assert subject_of(session.container).pinned_sessions == 1
    pinning.unpin(session, actor=ACTOR, now=NOON)

    assert subject_of(session.container).pinned_sessions == 0
    actions = list(AuditEntry.objects.order_by("seq").values_list("action", flat=True))
    assert actions[-2:] == ["session.pinned", "session.unpinned"]


def test_the_chained_bytes_of_the_log_do_not_hold_the_reason():
    memory = make_memory(make_container())

    pin(memory, reason="canaryword")

    assert "canaryword" not in AuditEntry.objects.order_by("-seq").first().leaf


def test_undoing_an_unpin_brings_the_pin_back_with_its_reason():
    memory = make_memory(make_container())
    pinning.pin(memory, reason="allergy", review_on=NOON.date(), actor=ACTOR, now=NOON)
    pinning.unpin(memory, actor=ACTOR, now=NOON)

    again = pinning.pin_again(memory, actor=ACTOR, now=NOON)

    assert (again.reason, again.review_on, memory.pinned) == ("allergy", NOON.date(), True)


def test_there_is_nothing_to_undo_where_nothing_was_unpinned():
    with pytest.raises(pinning.NotPinned):
        pinning.pin_again(make_memory(make_container()), actor=ACTOR, now=NOON)


def test_a_session_that_has_become_another_users_is_not_pinned_for_the_former():
    container = make_container()
    session = make_session(container, user_id=None)
    attribution.give_session(Session.objects.get(), "bob", actor=ACTOR, now=NOON)

    with pytest.raises(pinning.Gone):
        pinning.pin(session, reason="allergy", actor=ACTOR, now=NOON)

    assert list(check()) == []
