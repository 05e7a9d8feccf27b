from datetime import timedelta

import pytest

from memadmin.audit.models import AuditEntry
from memadmin.store import configuration, drafts, policies
from memadmin.store.models import PolicyStatus, PolicyVersion
from retention.policy import InvalidPolicy
from tests.factories import ACTOR, NOON, make_container
from tests.runs import a_policy, switch_on

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)
OTHER = "person/00000000-0000-0000-0000-000000000002"


@pytest.fixture
def container(db):
    switch_on()
    return make_container()


def a_draft(container, most=5):
    return policies.save_draft(container, a_policy(relevance={"max_records": most}), actor=ACTOR, now=NOON)


def a_published(container, most=9):
    base = policies.number_in_force(container)
    return policies.publish(container, a_policy(relevance={"max_records": most}), actor=ACTOR, now=NOON, base=base)


def edited(container, draft, most, **details):
    given = {"revision": draft.revision, "actor": OTHER, "now": NOON + HOUR, **details}
    return drafts.edit(container, draft.number, a_policy(relevance={"max_records": most}), **given)


def scheduled(container, draft, *, at=NOON + HOUR, **details):
    given = {"base": policies.number_in_force(container), "seen": draft.digest, "actor": ACTOR, "now": NOON, **details}
    return drafts.schedule(container, draft.number, at=at, **given)


def last_action():
    entry = AuditEntry.objects.order_by("-seq").first()
    return entry.action, entry.outcome, entry.reason_code


def test_a_container_has_several_drafts_each_made_over_what_is_in_force(container):
    first = a_draft(container, 5)
    a_published(container)
    second = a_draft(container, 6)

    assert [(draft.number, draft.base) for draft in (first, second)] == [(1, None), (3, 2)]


def test_an_edited_draft_keeps_its_number_and_says_who_edited_it(container):
    draft = edited(container, a_draft(container), 7, note="more")

    assert (draft.number, draft.revision, draft.changed_by, draft.author, draft.note) == (1, 2, OTHER, ACTOR, "more")
    assert policies.parse(draft).relevance.max_records == 7
    assert last_action()[0] == "policy.edited"


def test_saving_a_draft_unchanged_is_no_edit(container):
    draft = edited(container, a_draft(container), 5)

    assert (draft.revision, last_action()[0]) == (1, "policy.drafted")


def test_the_second_of_two_editors_is_told_and_changes_nothing(container):
    draft = a_draft(container)
    edited(container, draft, 7)

    with pytest.raises(policies.DraftChanged) as conflict:
        edited(container, draft, 8)

    assert policies.parse(conflict.value.draft).relevance.max_records == 7
    assert PolicyVersion.objects.get().revision == 2


@pytest.mark.parametrize("status", [PolicyStatus.PUBLISHED, PolicyStatus.SCHEDULED, PolicyStatus.DROPPED])
def test_only_a_draft_can_be_edited(container, status):
    draft = a_draft(container)
    if status == PolicyStatus.PUBLISHED:
        policies.publish_draft(container, 1, actor=ACTOR, now=NOON, base=None)
    elif status == PolicyStatus.SCHEDULED:
        scheduled(container, draft)
    else:
        drafts.drop(container, 1, actor=ACTOR, now=NOON)

    with pytest.raises(policies.NoSuchVersion):
        edited(container, draft, 7)


def test_a_draft_that_was_edited_since_it_was_seen_is_not_published(container):
    draft = a_draft(container)
    edited(container, draft, 7)

    with pytest.raises(policies.DraftChanged):
        policies.publish_draft(container, 1, actor=ACTOR, now=NOON, base=None, seen=draft.digest)
    assert policies.published(container) is None


def test_a_dropped_draft_keeps_its_number_for_itself(container):
    a_draft(container)
    drafts.drop(container, 1, actor=ACTOR, now=NOON)

    assert a_draft(container).number == 2
    assert PolicyVersion.objects.get(number=1).status == PolicyStatus.DROPPED


def test_a_scheduled_version_comes_into_force_at_its_time_and_once(container):
    draft = scheduled(container, a_draft(container))

    assert not drafts.publish_due(draft.pk, actor="job/publish-policy", now=NOON)
    assert drafts.publish_due(draft.pk, actor="job/publish-policy", now=NOON + HOUR)
    assert not drafts.publish_due(draft.pk, actor="job/publish-policy", now=NOON + 2 * HOUR)

    version = policies.published(container)
    assert (version.number, version.published_by, version.published_at) == (1, ACTOR, NOON + HOUR)
    assert AuditEntry.objects.filter(action="policy.published").count() == 1


def test_at_its_time_it_is_refused_when_its_base_has_changed(container):
    draft = scheduled(container, a_draft(container))
    a_published(container)

    drafts.publish_due(draft.pk, actor="job/publish-policy", now=NOON + HOUR)

    draft.refresh_from_db()
    assert (draft.status, draft.refused_because, draft.refused_at, draft.publish_at) == ("draft", "base_changed", NOON + HOUR, None)
    assert last_action() == ("policy.not_published", "refused", "base_changed")
    assert policies.number_in_force(container) == 2


def test_at_its_time_it_is_refused_while_retention_is_off(container):
    draft = scheduled(container, a_draft(container))
    configuration.change("retention_enabled", False, actor=ACTOR, now=NOON)

    drafts.publish_due(draft.pk, actor="job/publish-policy", now=NOON + HOUR)

    assert PolicyVersion.objects.get().refused_because == "retention_off"
    assert drafts.edit(container, 1, a_policy(), revision=1, actor=ACTOR, now=NOON).refused_because == ""


def test_a_schedule_can_be_cancelled_before_its_time(container):
    draft = scheduled(container, a_draft(container))
    drafts.unschedule(container, draft.number, actor=ACTOR, now=NOON)

    assert not drafts.publish_due(draft.pk, actor="job/publish-policy", now=NOON + HOUR)
    assert PolicyVersion.objects.get().status == PolicyStatus.DRAFT
    with pytest.raises(policies.NoSuchVersion):
        drafts.unschedule(container, draft.number, actor=ACTOR, now=NOON)


def test_one_version_is_scheduled_at_a_time(container):
    scheduled(container, a_draft(container, 5))

    with pytest.raises(drafts.AlreadyScheduled, match="Version 1"):
        scheduled(container, a_draft(container, 6))


@pytest.mark.parametrize("at", [NOON, NOON - HOUR, NOON + timedelta(days=367)])
def test_the_time_is_still_to_come_and_within_a_year(container, at):
    with pytest.raises(drafts.BadTime):
        scheduled(container, a_draft(container), at=at)


def test_what_was_seen_must_be_what_is_scheduled(container):
    draft = a_draft(container)
    a_published(container)

    with pytest.raises(policies.Conflict):
        scheduled(container, draft, base=None)
    edited(container, draft, 7)
    with pytest.raises(policies.DraftChanged):
        scheduled(container, draft)


def test_a_copy_arrives_in_each_container_as_a_draft_and_names_its_source(container):
    source = a_published(container)
    others = [make_container("one"), make_container("two")]

    found = drafts.copy(source, others, actor=ACTOR, now=NOON)

    assert [(draft.container.name, draft.status, draft.digest, draft.copied_from) for draft in found] == [
        ("one", "draft", source.digest, source),
        ("two", "draft", source.digest, source),
    ]
    assert AuditEntry.objects.filter(action="policy.copied").count() == 2


def test_copying_twice_makes_one_draft(container):
    source, other = a_published(container), make_container("one")

    drafts.copy(source, [other], actor=ACTOR, now=NOON)
    drafts.copy(source, [other], actor=ACTOR, now=NOON)

    assert PolicyVersion.objects.filter(container=other).count() == 1


def test_a_policy_that_cannot_be_read_is_not_copied(container):
    source = a_published(container)
    PolicyVersion.objects.filter(pk=source.pk).update(document='{"retention":{"dreams":{}}}')
    source.refresh_from_db()

    with pytest.raises(InvalidPolicy):
        drafts.copy(source, [make_container("one")], actor=ACTOR, now=NOON)
    assert PolicyVersion.objects.count() == 1
