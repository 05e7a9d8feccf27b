import pytest

from memadmin.lifecycle.drift import drift_of
from memadmin.store import archive
from memadmin.store.models import Archived, LongTermMemory
from tests.factories import NOON, make_memory
from tests.runs import a_policy, carry_out, fill, governed, make_old_session, preview

pytestmark = pytest.mark.django_db


@pytest.fixture
def container(db):
    container = governed(a_policy(sessions={"retention_days": 90}, relevance={"max_records": 3}))
    fill(container, 5)
    make_old_session(container, messages=2)
    return container


def evict_and_restore(container, preview_between):
    """Carry out one preview and restore all of it, while another one of the same victims waits."""
    carry_out(preview_between)
    archive.restore(list(Archived.objects.values_list("id", flat=True)), now=NOON)


def test_what_went_and_was_restored_has_changed_and_is_neither_gone_nor_added(container):
    waiting, other = preview(container), preview(container)
    evict_and_restore(container, other)

    drift = drift_of(waiting)

    assert (drift.changed, drift.gone, drift.added) == (3, 0, 0)


def test_what_is_really_new_still_counts_as_added(container):
    waiting, other = preview(container), preview(container)
    evict_and_restore(container, other)
    make_memory(container, "really new")

    assert drift_of(waiting).added == 1


def test_a_run_keeps_what_was_restored_since_its_preview(container):
    waiting, other = preview(container), preview(container)
    evict_and_restore(container, other)

    run = carry_out(waiting)

    assert (run.removed, run.kept, run.outcome["added"]) == (0, 3, 0)
    assert drift_of(run).changed == 3
    assert LongTermMemory.objects.count() == 5


def test_what_is_gone_for_good_is_gone(container):
    waiting, other = preview(container), preview(container)
    carry_out(other)

    drift = drift_of(waiting)

    assert (drift.changed, drift.gone, drift.added) == (0, 3, 0)
