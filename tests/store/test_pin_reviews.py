from datetime import date

import pytest

from memadmin.audit.models import AuditEntry, AuditPayload
from memadmin.store import pinning
from memadmin.store.models import LongTermMemory, Pin
from tests.factories import ACTOR, NOON, make_container, make_memory, make_session, subject_of
from tests.runs import assert_store_agrees

pytestmark = pytest.mark.django_db
JUNE = date(2026, 6, 1)


def pinned(reason="allergy", text="likes tea", container=None):
    return pinning.pin(make_memory(container or make_container(), text), reason=reason, actor=ACTOR, now=NOON)


def keep(pin, reason="still true", review_on=JUNE):
    pinning.keep(pin, reason=reason, actor=ACTOR, now=NOON, review_on=review_on)


def test_a_review_sets_the_next_day_and_keeps_who_pinned_and_why():
    pin = pinned()

    keep(pin)

    kept = Pin.objects.get()
    assert (kept.reason, kept.review_on, kept.reviewed_at, kept.revision) == ("allergy", JUNE, NOON, 2)
    assert AuditEntry.objects.filter(action="pin.reviewed", target=f"long-term/{pin.target_uid}").count() == 1
    assert "still true" in AuditPayload.objects.order_by("-seq").first().body
    assert "still true" not in AuditEntry.objects.order_by("-seq").first().leaf


@pytest.mark.parametrize("reason", ["pinned at the source", "pinned through the API", " Imported", "x", "??", "...", "N/A", "TODO"])
def test_a_review_gives_a_reason_to_a_pin_that_has_none(reason):
    pin = pinned(reason)
    assert Pin.objects.all().unreasoned().count() == 1

    keep(pin, "allergic to penicillin")

    assert Pin.objects.get().reason == "allergic to penicillin"
    assert not Pin.objects.all().unreasoned().exists()


@pytest.mark.parametrize("reason", ["allergy", "過敏", "GP said so", "VIP", "legal hold by court, case 12"])
def test_short_reasons_that_say_something_are_reasons(reason):
    pinned(reason)

    assert not Pin.objects.all().unreasoned().exists()


def test_a_pin_that_somebody_reviewed_meanwhile_is_left_as_it_is():
    pin = pinned()
    keep(Pin.objects.get(), review_on=date(2026, 9, 1))

    with pytest.raises(pinning.Changed):
        keep(pin)
    with pytest.raises(pinning.Changed):
        pinning.unpin_reviewed(pin, reason="not needed", actor=ACTOR, now=NOON)

    assert Pin.objects.get().review_on == date(2026, 9, 1)


def test_a_pin_that_was_taken_away_and_set_again_is_another_one():
    pin = pinned()
    memory = LongTermMemory.objects.get(uid=pin.target_uid)
    pinning.unpin(memory, actor=ACTOR, now=NOON)
    pinning.pin(memory, reason="new reason", actor=ACTOR, now=NOON)

    with pytest.raises(pinning.Changed):
        pinning.unpin_reviewed(pin, reason="not needed", actor=ACTOR, now=NOON)

    assert Pin.objects.get().reason == "new reason"


def test_unpinning_after_a_review_moves_flag_counter_and_log():
    container = make_container()
    pin = pinned(container=container)
    of_session = pinning.pin(make_session(container), reason="complaint", actor=ACTOR, now=NOON)

    pinning.unpin_reviewed(pin, reason="over", actor=ACTOR, now=NOON)
    pinning.unpin_reviewed(of_session, reason="over", actor=ACTOR, now=NOON)

    assert (subject_of(container).pinned_long_term, subject_of(container).pinned_sessions, Pin.objects.count()) == (0, 0, 0)
    assert list(AuditEntry.objects.order_by("seq").values_list("action", flat=True))[-2:] == ["memory.unpinned", "session.unpinned"]
    assert_store_agrees()


@pytest.mark.parametrize("verb", [pinning.keep, pinning.unpin_reviewed])
def test_a_review_needs_a_reason_that_can_be_seen(verb):
    pin = pinned()
    given = {"review_on": None} if verb is pinning.keep else {}

    with pytest.raises(pinning.NoReason):
        verb(pin, reason="\u200b ", actor=ACTOR, now=NOON, **given)

    assert Pin.objects.get().revision == 1
