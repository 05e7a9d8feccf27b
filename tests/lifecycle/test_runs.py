import pytest

from memadmin.audit import log
from memadmin.jobs.models import JobState
from memadmin.jobs.runner import run_inline
from memadmin.lifecycle import planning, runs
from memadmin.lifecycle.models import Run, RunState, RunVictim, Trigger
from memadmin.lifecycle.runs import NothingRuns, OtherRunLive, StalePolicy, TooOld
from memadmin.lifecycle.states import WrongState
from memadmin.store import archive, configuration, drafts, pinning, policies
from memadmin.store.intake import Source
from memadmin.store.models import Archived, ItemType, LongTermMemory, Provenance, Session, WorkingMemory
from tests.factories import ACTOR, NOON, days, make_container, make_memory, make_session, subject_of
from tests.runs import a_policy, assert_store_agrees, carry_out, fill, governed, make_old_session, memories_of, named_by, preview, publish

pytestmark = pytest.mark.django_db
KEEP_THREE = a_policy(relevance={"max_records": 3})


def last_action():
    return log.latest("governance", 1)[0].action


def test_a_started_run_waits_for_a_worker():
    run = preview(governed(KEEP_THREE))

    job = runs.start(run, actor=ACTOR, now=NOON)

    assert (run.state, run.started_by, run.started_at) == (RunState.QUEUED, ACTOR, NOON)
    assert (job.kind, job.target, job.state) == ("run", f"runs/{run.number}", JobState.QUEUED)
    assert last_action() == "run.started"


def test_a_preview_is_started_once():
    run = preview(governed(KEEP_THREE))
    carry_out(run)

    with pytest.raises(WrongState, match="finished"):
        runs.start(run, actor=ACTOR, now=NOON)


def test_while_retention_is_off_previews_work_and_nothing_starts():
    container = make_container()
    fill(container, 5)

    run = preview(container, KEEP_THREE)

    assert run.planned == 2
    with pytest.raises(NothingRuns, match="retention is off"):
        runs.start(run, actor=ACTOR, now=NOON)
    assert memories_of(container) == set(LongTermMemory.objects.values_list("id", flat=True))


@pytest.mark.parametrize("key", ["multi_tenancy_enabled"])
def test_with_multi_tenancy_nothing_starts(key):
    run = preview(governed(KEEP_THREE))
    configuration.change(key, True, actor=ACTOR, now=NOON)

    with pytest.raises(NothingRuns, match="multi-tenancy"):
        runs.start(run, actor=ACTOR, now=NOON)


def test_a_container_whose_policy_was_never_set_evicts_nothing():
    governed(KEEP_THREE)
    container = make_container("never")
    fill(container, 5)

    with pytest.raises(NothingRuns, match="no policy has been published"):
        runs.start(preview(container, KEEP_THREE), actor=ACTOR, now=NOON)


def test_a_container_that_opted_out_evicts_nothing():
    container = governed(KEEP_THREE)
    run = preview(container)
    policies.opt_out(container, actor=ACTOR, now=NOON, base=1)

    with pytest.raises(NothingRuns, match="opted out"):
        runs.start(run, actor=ACTOR, now=NOON)


def test_a_preview_under_an_earlier_policy_is_refused_with_both_versions():
    container = governed(KEEP_THREE)
    run = preview(container)
    publish(container, a_policy(relevance={"max_records": 4}))

    with pytest.raises(StalePolicy, match=r"version 1; version 2 is in force now. Make a new preview"):
        runs.start(run, actor=ACTOR, now=NOON)


def test_the_preview_of_a_draft_may_start_once_the_same_content_is_published():
    container = governed(a_policy(relevance={"max_records": 4}))
    run = preview(container, KEEP_THREE)
    with pytest.raises(StalePolicy, match="not in force"):
        runs.start(run, actor=ACTOR, now=NOON)

    publish(container, KEEP_THREE)

    assert runs.start(run, actor=ACTOR, now=NOON)


def test_an_old_preview_is_refused():
    run = preview(governed(KEEP_THREE))

    with pytest.raises(TooOld, match="24 hours"):
        runs.start(run, actor=ACTOR, now=NOON + days(1.01))


def test_a_second_run_of_a_container_is_refused_with_the_number_of_the_first():
    container = governed(KEEP_THREE)
    first, second = preview(container), preview(container)
    runs.start(first, actor=ACTOR, now=NOON)

    with pytest.raises(OtherRunLive, match=f"Run {first.number} "):
        runs.start(second, actor=ACTOR, now=NOON)


def test_a_cancelled_run_keeps_what_it_has_not_reached():
    container = governed(KEEP_THREE)
    fill(container, 5)
    run = preview(container)
    job = runs.start(run, actor=ACTOR, now=NOON)

    runs.cancel(run, actor=ACTOR, now=NOON)

    job.refresh_from_db()
    assert (run.state, job.state, len(memories_of(container))) == (RunState.CANCELLED, JobState.CANCELLED, 5)
    assert last_action() == "run.cancelled"


def test_a_discarded_preview_drops_its_list():
    container = governed(KEEP_THREE)
    fill(container, 5)
    run = preview(container)

    runs.discard(run, actor=ACTOR, now=NOON)

    assert (run.state, RunVictim.objects.count()) == (RunState.DISCARDED, 0)
    with pytest.raises(WrongState):
        runs.start(run, actor=ACTOR, now=NOON)


def test_numbers_never_come_back():
    container = governed(KEEP_THREE)
    first = preview(container)
    Run.objects.filter(pk=first.pk).delete()

    assert preview(container).number > first.number


def test_a_failed_run_frees_the_container():
    container = governed(KEEP_THREE)
    run = preview(container)
    runs.start(run, actor=ACTOR, now=NOON)

    runs.fail(run, error_code="OperationalError", actor="job/run", now=NOON)

    assert (run.state, run.error_code, last_action()) == (RunState.FAILED, "OperationalError", "run.failed")
    assert runs.start(preview(container), actor=ACTOR, now=NOON)


def restore(run, *, now=NOON):
    run_inline(runs.restore_run(run, actor=ACTOR, now=now), now=now)
    run.refresh_from_db()


def test_restoring_a_run_brings_the_memories_back_as_they_were():
    container = governed(KEEP_THREE)
    session = make_session(container, messages=1)
    source = Source(item_type=ItemType.SESSION, uid=session.uid)
    make_memory(container, "oldest", days_old=50, hits=4, importance=0.1, tokens=9, sources=(source,))
    fill(container, 3)
    before = LongTermMemory.objects.get(text="oldest")
    counters = subject_of(container)
    run = carry_out(preview(container))
    assert not LongTermMemory.objects.filter(uid=before.uid).exists()

    restore(run)

    after = LongTermMemory.objects.get(uid=before.uid)
    assert (after.hits, after.importance, after.created_at, after.revision) == (4, 0.1, before.created_at, before.revision)
    assert subject_of(container).long_term == counters.long_term
    assert subject_of(container).tokens == counters.tokens
    assert Provenance.objects.filter(derived_uid=after.uid, source_uid=session.uid).exists()
    assert (run.restored, Archived.objects.count(), last_action()) == (1, 0, "run.restored")
    assert_store_agrees()


def test_restored_sessions_have_their_messages_and_no_run_evicts_a_pinned_one():
    container = governed(a_policy(sessions={"retention_days": 30}))
    pinned, old = make_old_session(container, "pinned"), make_old_session(container, "old", messages=3)
    pinning.pin(pinned, reason="complaint", actor=ACTOR, now=NOON)

    run = carry_out(preview(container))
    assert [session.external_id for session in Session.objects.all()] == ["pinned"]
    restore(run)

    assert set(Session.objects.values_list("uid", flat=True)) == {pinned.uid, old.uid}
    assert WorkingMemory.objects.of_session(Session.objects.get(uid=old.uid)).count() == 3
    assert_store_agrees()


def test_restoring_twice_restores_once():
    container = governed(KEEP_THREE)
    fill(container, 5)
    run = carry_out(preview(container))

    restore(run)
    restore(run)

    assert (run.restored, len(memories_of(container))) == (2, 5)


def test_a_copy_past_its_last_day_is_not_restored():
    container = governed(KEEP_THREE, archive_days=10)
    fill(container, 5)
    run = carry_out(preview(container))

    restore(run, now=NOON + days(10.1))

    assert (run.restored, len(memories_of(container))) == (0, 3)


def test_an_item_that_is_there_again_keeps_its_newer_form():
    container = governed(KEEP_THREE)
    fill(container, 4)
    run = preview(container)
    external = LongTermMemory.objects.get(pk=min(named_by(run)))
    carry_out(run)
    archive.restore(list(Archived.objects.values_list("id", flat=True)), now=NOON)
    LongTermMemory.objects.filter(uid=external.uid).update(text="newer")

    restore(run)

    assert LongTermMemory.objects.get(uid=external.uid).text == "newer"


def test_only_an_ended_run_can_be_restored():
    with pytest.raises(WrongState):
        runs.restore_run(preview(governed(KEEP_THREE)), actor=ACTOR, now=NOON)


@pytest.mark.parametrize(
    ("happens", "said"),
    [
        ("nothing", "was made for the draft 2; version 1 is in force now. Publish the draft, and this preview can be carried out."),
        ("edited", "for the draft 2 as it was before it was edited; version 1 is in force now. Preview the draft again."),
        ("dropped", "for version 2, a draft that was dropped; version 1 is in force now. Make a new preview."),
        ("scheduled", "for version 2, which has a time to come into force; version 1 is in force now. It can be carried out from then on."),
    ],
)
def test_the_preview_of_a_stored_draft_says_which_way_leads_on(happens, said):
    container = governed(a_policy(relevance={"max_records": 4}))
    draft = policies.save_draft(container, KEEP_THREE, actor=ACTOR, now=NOON)
    run = planning.plan(container, KEEP_THREE, now=NOON, trigger=Trigger.PREVIEW, actor=ACTOR, policy_version=draft)
    if happens == "edited":
        drafts.edit(container, draft.number, a_policy(relevance={"max_records": 9}), actor=ACTOR, now=NOON, revision=1)
    if happens == "dropped":
        drafts.drop(container, draft.number, actor=ACTOR, now=NOON)
    if happens == "scheduled":
        drafts.schedule(container, draft.number, at=NOON + days(1), base=1, seen=draft.digest, actor=ACTOR, now=NOON)
    run = Run.objects.get(pk=run.pk)

    with pytest.raises(StalePolicy) as refused:
        runs.start(run, actor=ACTOR, now=NOON)

    assert str(refused.value).endswith(said)


def test_the_preview_of_a_draft_is_carried_out_once_the_draft_is_in_force():
    container = governed(a_policy(relevance={"max_records": 4}))
    draft = policies.save_draft(container, KEEP_THREE, actor=ACTOR, now=NOON)
    run = planning.plan(container, KEEP_THREE, now=NOON, trigger=Trigger.PREVIEW, actor=ACTOR, policy_version=draft)

    policies.publish_draft(container, draft.number, seen=draft.digest, actor=ACTOR, now=NOON, base=1)

    assert runs.start(Run.objects.get(pk=run.pk), actor=ACTOR, now=NOON)
