import pytest

from memadmin.audit.actions import Action
from memadmin.audit.models import AuditEntry
from memadmin.lifecycle import dropping, nightly, runs
from memadmin.lifecycle.drift import drift_of
from memadmin.lifecycle.models import RunKept, RunVictim
from memadmin.store import configuration
from memadmin.store.models import Archived, LongTermMemory
from tests.cases.seen import look
from tests.factories import ACTOR, NOON, days
from tests.people import editor
from tests.runs import a_policy, carry_out, fill, governed, pin, preview

pytestmark = pytest.mark.django_db
KEEP_THREE = a_policy(relevance={"max_records": 3})
LATER = NOON + days(365.1)


@pytest.fixture
def run(db):
    """A run that evicted four of five victims; the fifth was pinned after the preview."""
    container = governed(KEEP_THREE)
    fill(container, 8)
    run = preview(container)
    pin(LongTermMemory.objects.get(pk=RunVictim.objects.of_run(run).first().item_id))
    return carry_out(run)


def drop_all(now=LATER):
    rounds = 1
    while not dropping.drop_some(actor=ACTOR, now=now):
        rounds += 1
    return rounds


def test_a_list_goes_after_its_time_and_not_before(run):
    drop_all(NOON + days(364.9))
    assert RunVictim.objects.of_run(run).count() == 5
    drop_all()

    assert (RunVictim.objects.count(), RunKept.objects.count()) == (0, 0)


def test_the_run_keeps_its_numbers_and_what_it_passed_over(run):
    before, numbers = drift_of(run), (run.planned, run.removed, run.kept, run.totals)

    drop_all()

    run.refresh_from_db()
    assert (run.planned, run.removed, run.kept, run.totals) == numbers
    assert drift_of(run) == before
    assert drift_of(run).pinned == 1
    assert run.list_dropped_at == LATER


def test_a_setting_says_how_long_lists_are_kept(run):
    configuration.change("victims_keep_days", 30, actor=ACTOR, now=NOON)

    drop_all(NOON + days(30.1))

    assert RunVictim.objects.count() == 0


def test_a_long_list_goes_in_batches_and_one_that_was_cut_off_goes_on(run, monkeypatch):
    monkeypatch.setattr(dropping, "AT_ONCE", 2)

    first = dropping.drop_some(actor=ACTOR, now=LATER)
    run.refresh_from_db()

    assert (first, RunVictim.objects.count(), run.list_dropped_at) == (False, 3, None)
    assert drop_all() == 3


def test_it_is_logged_once_with_the_number(run):
    drop_all()
    drop_all()

    (entry,) = AuditEntry.objects.filter(action=Action.RUN_LIST_DROPPED)
    assert (entry.target, entry.counts) == (runs.target_of(run), {"victims": 5})


def test_previews_and_live_runs_keep_their_lists(db):
    container = governed(KEEP_THREE)
    fill(container, 5)
    run = preview(container)
    runs.start(run, actor=ACTOR, now=NOON)

    drop_all()

    assert RunVictim.objects.of_run(run).count() == 2


def test_the_page_says_when_the_list_was_dropped_and_the_archive_is_as_it_was(run):
    copies = Archived.objects.count()
    drop_all()

    page = look(editor(), "run-detail", run.number)

    assert "The list is no longer kept" in page.words
    assert "Dropped 2027-03-01 14:24:00 UTC." in page.flat
    assert "Names 5 items" in page.flat
    assert Archived.objects.count() == copies


def test_the_night_drops_them(run):
    configuration.change("retention_enabled", False, actor=ACTOR, now=NOON)

    while not nightly.prune(now=LATER):
        pass

    assert RunVictim.objects.count() == 0
