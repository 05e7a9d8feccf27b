import pytest

from memadmin.audit import log
from memadmin.audit.models import AuditEntry
from memadmin.jobs import queue, registry
from memadmin.jobs.models import JobState
from memadmin.jobs.runner import run_inline
from memadmin.lifecycle import nightly, planning, runs
from memadmin.lifecycle.models import Run, RunState, RunVictim, Trigger
from memadmin.recall.touching import touch
from memadmin.store import configuration, recalls
from memadmin.store.models import Archived, PolicyVersion, RecallEvent
from memadmin.store.policies import opt_out
from tests.factories import ACTOR, NOON, days, make_container, make_memory, subject_of
from tests.holds import hold
from tests.runs import a_policy, assert_store_agrees, carry_out, fill, governed, memories_of, preview, switch_on

pytestmark = pytest.mark.django_db
KEEP_THREE = a_policy(relevance={"max_records": 3})


@pytest.fixture(autouse=True)
def naps(monkeypatch):
    """No test sleeps; what would have been slept is kept."""
    slept = []
    monkeypatch.setattr(nightly.time, "sleep", slept.append)
    return slept


def a_night(now=NOON):
    job = queue.reserve("nightly", requested_by="job/nightly", now=now)
    return run_inline(job, now=now)


def test_the_night_is_scheduled_at_three():
    assert registry.CRONS["nightly"] == "0 3 * * *"


def test_every_container_with_a_policy_gets_a_run_in_order(naps):
    containers = [governed(KEEP_THREE, name) for name in ("one", "two")]
    for container in containers:
        fill(container, 5)

    job = a_night()

    assert job.state == JobState.DONE
    assert [(run.container.name, run.trigger, run.state, run.removed) for run in Run.objects.order_by("number")] == [
        ("one", Trigger.NIGHTLY, RunState.FINISHED, 2),
        ("two", Trigger.NIGHTLY, RunState.FINISHED, 2),
    ]
    assert_store_agrees()


def test_a_night_leaves_a_preview_a_start_and_an_end_in_the_log():
    fill(governed(KEEP_THREE), 5)

    a_night()

    actions = [entry.action for entry in reversed(log.latest("governance", 3))]
    assert actions == ["run.previewed", "run.started", "run.finished"]
    assert log.latest("governance", 1)[0].actor == "job/nightly"


def test_the_pause_follows_a_container_that_lost_something_only(naps):
    fill(governed(KEEP_THREE, "one"), 5)
    governed(KEEP_THREE, "two")

    a_night()

    assert sum(naps) > 0
    assert len([nap for nap in naps if nap]) == 1


def test_while_retention_is_off_the_night_evicts_nothing():
    container = governed(KEEP_THREE)
    fill(container, 5)
    configuration.change("retention_enabled", False, actor=ACTOR, now=NOON)

    a_night()

    assert (Run.objects.count(), len(memories_of(container))) == (0, 5)


def test_with_multi_tenancy_the_night_evicts_nothing():
    fill(governed(KEEP_THREE), 5)
    configuration.change("multi_tenancy_enabled", True, actor=ACTOR, now=NOON)

    a_night()

    assert Run.objects.count() == 0


def test_containers_without_a_policy_in_force_are_left_alone():
    switch_on()
    fill(make_container("never set"), 5)
    opted_out = governed(KEEP_THREE, "opted out")
    fill(opted_out, 5)
    opt_out(opted_out, actor=ACTOR, now=NOON, base=1)

    a_night()

    assert Run.objects.count() == 0


def test_a_night_over_no_container_ends():
    switch_on()

    assert a_night().state == JobState.DONE


def test_a_container_that_fails_is_recorded_and_the_next_one_is_done():
    broken, sound = governed(KEEP_THREE, "broken"), governed(KEEP_THREE, "sound")
    fill(broken, 5)
    fill(sound, 5)
    PolicyVersion.objects.filter(container=broken).update(document='{"retention":{"working":{}},"relevance":null}')

    job = a_night()

    first, second = Run.objects.order_by("number")
    assert (first.container, first.state, first.error_code, first.removed) == (broken, RunState.FAILED, "InvalidPolicy", 0)
    assert (second.container, second.state, second.removed) == (sound, RunState.FINISHED, 2)
    assert job.state == JobState.DONE
    assert len(memories_of(broken)) == 5


def test_a_container_with_a_live_run_is_passed_over():
    container = governed(KEEP_THREE)
    runs.start(preview(container), actor=ACTOR, now=NOON)

    a_night()

    assert Run.objects.order_by("-number").first().error_code == "OtherRunLive"


def test_a_night_that_was_cut_off_goes_on_where_it_was():
    container = governed(KEEP_THREE)
    fill(container, 5)
    place = nightly.next_place(nightly.Place(), now=NOON)
    run = Run.objects.get()
    for _ in range(2):  # planned and started, then the worker dies
        place = nightly.next_place(place, now=NOON)
    run.refresh_from_db()
    assert run.state == RunState.RUNNING

    while place is not None:
        place = nightly.next_place(nightly.Place.read(place.as_cursor()), now=NOON + days(0.001))

    run.refresh_from_db()
    assert (Run.objects.count(), run.state, run.removed) == (1, RunState.FINISHED, 2)


def test_copies_go_for_good_after_their_last_day():
    container = governed(KEEP_THREE, archive_days=10)
    fill(container, 5)
    carry_out(preview(container))

    a_night(now=NOON + days(10))
    assert Archived.objects.count() == 2
    a_night(now=NOON + days(10.01))
    log.seal(actor="job/seal", now=NOON + days(11))

    assert Archived.objects.count() == 0
    assert_store_agrees()
    entry = AuditEntry.objects.get(action="archive.expired")
    assert (entry.actor, entry.target, entry.counts) == ("job/nightly", f"containers/{container.uid}", {"copies": 2})


def test_held_copies_that_would_have_expired_do_not_keep_the_others(monkeypatch):
    monkeypatch.setattr(nightly, "COPIES_AT_ONCE", 2)
    container = governed(KEEP_THREE, archive_days=10)
    fill(container, 5, user_id="held")
    fill(container, 5, user_id="free")
    carry_out(preview(container))
    hold(subject_of(container, "held"))

    a_night(now=NOON + days(20))

    assert set(Archived.objects.values_list("held", "subject__user_id")) == {(True, "held")}
    assert Archived.objects.count() == 2


def test_while_retention_is_off_copies_stay():
    container = governed(KEEP_THREE, archive_days=10)
    fill(container, 5)
    carry_out(preview(container))
    configuration.change("retention_enabled", False, actor=ACTOR, now=NOON)

    a_night(now=NOON + days(20))

    assert Archived.objects.count() == 2


def test_previews_that_nobody_started_are_dropped_after_their_time():
    container = make_container()
    fill(container, 5)
    old, young = preview(container, KEEP_THREE), preview(container, KEEP_THREE, now=NOON + days(10))
    planning.open_run(container, KEEP_THREE, now=NOON, trigger=Trigger.PREVIEW, actor=ACTOR)

    a_night(now=NOON + days(14.1))

    assert list(Run.objects.order_by("number").values_list("state", flat=True)) == ["discarded", "ready", "discarded"]
    assert set(RunVictim.objects.values_list("run_id", flat=True)) == {young.number}
    assert old.number < young.number


def test_the_night_drops_past_recalls_from_where_it_stopped_also_while_retention_is_off(monkeypatch):
    monkeypatch.setattr(recalls, "AT_ONCE", 2)
    monkeypatch.setitem(recalls.prune.__kwdefaults__, "seconds", 0.0)
    container = make_container()
    memory = make_memory(container)
    for age in (200, 150, 120, 100, 91, 5):
        touch([memory.pk], now=NOON - days(age))

    job = a_night()

    assert job.state == JobState.DONE
    assert [event.at for event in RecallEvent.objects.all()] == [NOON - days(5)]
