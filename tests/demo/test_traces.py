import pytest
from django.db.models import Count, Max

from memadmin.demo.loading import load
from memadmin.demo.recipe import Recipe
from memadmin.store.models import Feedback, LongTermMemory, RecallEvent
from tests.factories import NOON, days

pytestmark = pytest.mark.django_db
SMALL = Recipe(40, 1_500, 1, NOON)
EVENTS = RecallEvent.objects.values("memory_uid")


def test_recalls_of_the_last_weeks_agree_with_the_hits_of_their_memories():
    load(SMALL, now=NOON)

    events = list(EVENTS.annotate(n=Count("id"), last=Max("at")).order_by("memory_uid"))
    memories = {memory.uid: memory for memory in LongTermMemory.objects.filter(uid__in=[event["memory_uid"] for event in events])}
    assert len(events) > 20
    assert all(event["n"] <= memories[event["memory_uid"]].hits for event in events)
    assert all(event["last"] == memories[event["memory_uid"]].last_accessed_at for event in events)


def test_two_reports_wait_to_be_seen_and_of_one_the_cause_was_found():
    load(SMALL, now=NOON)

    assert list(Feedback.objects.order_by("id").values_list("kind", "state")) == [("forgot", "matched"), ("wrong", "open")]
    assert Feedback.objects.order_by("id")[0].policy_version.number == 1


def test_loading_again_leaves_no_second_trace():
    load(SMALL, now=NOON)
    before = RecallEvent.objects.count(), Feedback.objects.count()

    load(SMALL, now=NOON + days(1))

    assert (RecallEvent.objects.count(), Feedback.objects.count()) == before
