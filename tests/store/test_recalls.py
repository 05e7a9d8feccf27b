import uuid

import pytest

from memadmin.store import configuration, locations, recalls
from memadmin.store.models import Feedback, FeedbackKind, ItemType, LongTermMemory, Provenance, RecallEvent
from memadmin.store.recalls import prune, recalls_of
from memadmin.store.removal import remove_by_hand
from tests.factories import ACTOR, NOON, days, make_container, make_memory

pytestmark = pytest.mark.django_db


def event(memory, days_ago, session=None):
    where = {"container_id": memory.container_id, "subject_id": memory.subject_id}
    return RecallEvent.objects.create(
        memory_uid=memory.uid, fact_key=memory.fact_key, session_ref=session, at=NOON - days(days_ago), **where
    )


def left():
    return list(RecallEvent.objects.order_by("id").values_list("id", flat=True))


def prune_all(seconds=10.0):
    steps, place = 1, prune(now=NOON, seconds=seconds)
    while place is not None:
        steps, place = steps + 1, prune(now=NOON, after=place, seconds=seconds)
    return steps


def test_an_event_goes_when_it_is_older_than_the_days_that_are_kept():
    memory = make_memory(make_container())
    old, exact, young = event(memory, 90.001), event(memory, 90), event(memory, 1)

    prune_all()

    assert left() == [exact.pk, young.pk]
    assert old.pk not in left()


def test_the_last_sessions_of_a_user_stay_however_old_they_are():
    configuration.change("recall_keep_sessions", 2, actor=ACTOR, now=NOON)
    container = make_container()
    ann, bob = make_memory(container), make_memory(container, user_id="bob")
    event(ann, 200, "first")
    kept = [event(ann, 190, "second"), event(ann, 180, "second"), event(ann, 100, "third")]
    bobs = event(bob, 300, "first")
    event(ann, 100, None)

    prune_all()

    assert left() == [*(each.pk for each in kept), bobs.pk]


def test_pruning_in_small_steps_over_several_containers_ends_where_one_step_does(monkeypatch):
    monkeypatch.setattr(recalls, "AT_ONCE", 2)
    configuration.change("recall_keep_sessions", 1, actor=ACTOR, now=NOON)
    for name in ("one", "two"):
        memory = make_memory(make_container(name))
        for at in (200, 200, 200, 150, 1):
            event(memory, at, "last" if at != 150 else None)

    steps = prune_all(seconds=0.0001)

    assert steps > 2
    assert RecallEvent.objects.count() == 2 * 4
    assert not RecallEvent.objects.filter(session_ref=None).exists()


def test_the_recalls_of_a_fact_follow_its_key_when_it_is_built_anew():
    container = make_container()
    before = make_memory(container, "on plan basic", fact_key="plan")
    event(before, 5)
    remove_by_hand(ItemType.LONG_TERM, [before.pk])
    after, other = make_memory(container, "on plan pro", fact_key="plan"), make_memory(container, "likes tea")

    assert recalls_of(after).count() == 1
    assert recalls_of(other).count() == 0


def test_the_recalls_of_a_fact_without_a_key_follow_a_source_that_it_alone_has():
    container, source, shared = make_container(), uuid.uuid4(), uuid.uuid4()
    summary, sibling = make_memory(container, "summary"), make_memory(container, "sibling")
    event(summary, 5)
    remove_by_hand(ItemType.LONG_TERM, [summary.pk])
    again = make_memory(container, "summary again")
    links = [(summary, source), (again, source), (summary, shared), (again, shared), (sibling, shared)]
    for memory, source_uid in links:
        Provenance.objects.create(
            container=container,
            subject=memory.subject,
            derived_type=ItemType.LONG_TERM,
            derived_uid=memory.uid,
            source_type=ItemType.WORKING,
            source_uid=source_uid,
        )

    assert recalls_of(again).count() == 1
    assert recalls_of(LongTermMemory.objects.get(pk=sibling.pk)).count() == 0
    assert RecallEvent.objects.count() == 1  # the memory has gone, its recalls have not


class Everything:
    """A request about all that belongs to some users."""

    def __init__(self, *subjects):
        self.subjects, self.identifiers = {subject.pk for subject in subjects}, set()

    def uids(self):
        return LongTermMemory.objects.none().values("uid")

    def members(self, uids):
        return set()

    def named_in(self, text):
        return False


def test_an_erasure_finds_and_takes_a_users_recalls_and_leaves_the_neighbours():
    container = make_container()
    ann, bob = make_memory(container), make_memory(container, user_id="bob")
    mine, theirs = event(ann, 5, "s-1"), event(bob, 5, "s-1")
    place = locations.get("store.recalls")

    found = place.find(Everything(ann.subject), None, 10).found
    place.delete([each.key for each in found])

    assert [each.key for each in found] == [mine.pk]
    assert left() == [theirs.pk]


def test_an_erasure_finds_and_takes_reports_about_a_user():
    container = make_container()
    ann, bob = make_memory(container), make_memory(container, user_id="bob")
    for memory in (ann, bob):
        about = {"kind": FeedbackKind.FORGOT, "words": "forgot it", "noticed_at": NOON, "created_at": NOON, "actor": ACTOR}
        Feedback.objects.create(container=container, subject=memory.subject, **about)
    place = locations.get("store.feedback")

    found = place.find(Everything(ann.subject), None, 10).found
    place.delete([each.key for each in found])

    assert len(found) == 1
    assert [each.subject_id for each in Feedback.objects.all()] == [bob.subject_id]
