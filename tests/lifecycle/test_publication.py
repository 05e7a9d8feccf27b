"""The clock publishes scheduled policies: once, also with two workers at it, and against a person who publishes at the same moment."""

from datetime import timedelta

import pytest

from memadmin.audit.models import AuditEntry
from memadmin.jobs.models import Job
from memadmin.jobs.runner import run_inline
from memadmin.jobs.tasks import tick
from memadmin.lifecycle import publication
from memadmin.store import drafts, policies
from memadmin.store.models import PolicyStatus, PolicyVersion
from tests.factories import ACTOR, NOON, make_container
from tests.jobs.at_once import outcomes_at_once
from tests.runs import a_policy, switch_on

HOUR = timedelta(hours=1)


def a_scheduled(most=5):
    switch_on()
    container = make_container()
    draft = policies.save_draft(container, a_policy(relevance={"max_records": most}), actor=ACTOR, now=NOON)
    return drafts.schedule(container, draft.number, at=NOON + HOUR, base=None, seen=draft.digest, actor=ACTOR, now=NOON)


@pytest.mark.django_db
def test_before_its_time_the_tick_queues_nothing_and_then_one_job(time_machine):
    version = a_scheduled()
    time_machine.move_to(NOON + 0.9 * HOUR, tick=False)
    tick()
    early = Job.objects.filter(kind=publication.PUBLISH).count()
    time_machine.move_to(NOON + HOUR, tick=False)
    tick()
    tick()

    run_inline(Job.objects.get(kind=publication.PUBLISH), now=NOON + HOUR)
    tick()

    version.refresh_from_db()
    assert (early, version.status, Job.objects.filter(kind=publication.PUBLISH).count()) == (0, PolicyStatus.PUBLISHED, 1)


@pytest.mark.django_db(transaction=True)
@pytest.mark.slow
def test_two_workers_publish_it_once():
    version = a_scheduled()

    outcomes = outcomes_at_once(*[lambda: drafts.publish_due(version.pk, actor=publication.ACTOR, now=NOON + HOUR)] * 2)

    assert sorted(outcomes) == [False, True]
    assert AuditEntry.objects.filter(action="policy.published").count() == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.slow
def test_of_a_person_and_the_clock_one_publishes_and_the_other_is_told():
    version = a_scheduled()
    container, mine = version.container, a_policy(relevance={"max_records": 7})

    outcomes = outcomes_at_once(
        lambda: drafts.publish_due(version.pk, actor=publication.ACTOR, now=NOON + HOUR),
        lambda: policies.publish(container, mine, actor=ACTOR, now=NOON + HOUR, base=None),
    )

    version.refresh_from_db()
    in_force = PolicyVersion.objects.get(status=PolicyStatus.PUBLISHED)
    if in_force == version:
        assert any(isinstance(outcome, policies.Conflict) for outcome in outcomes)
    else:
        assert (version.status, version.refused_because) == (PolicyStatus.DRAFT, "base_changed")


@pytest.mark.django_db(transaction=True)
@pytest.mark.slow
def test_cancelling_against_the_clock_leaves_one_of_the_two():
    version = a_scheduled()

    outcomes_at_once(
        lambda: drafts.publish_due(version.pk, actor=publication.ACTOR, now=NOON + HOUR),
        lambda: drafts.unschedule(version.container, version.number, actor=ACTOR, now=NOON + HOUR),
    )

    version.refresh_from_db()
    assert version.status in {PolicyStatus.PUBLISHED, PolicyStatus.DRAFT}
    assert version.publish_at is None


@pytest.mark.django_db
def test_who_scheduled_a_policy_counts_as_its_publisher():
    version = a_scheduled()

    drafts.publish_due(version.pk, actor=publication.ACTOR, now=NOON + HOUR)

    version.refresh_from_db()
    entry = AuditEntry.objects.get(action="policy.published")
    assert (version.published_by, entry.actor) == (ACTOR, "job/publish-policy")
