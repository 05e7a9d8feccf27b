import pytest

from memadmin.audit.actions import Action
from memadmin.audit.models import AuditEntry
from memadmin.demo import governing, loading
from memadmin.demo.loading import OtherDemo, load
from memadmin.demo.recipe import CLINIC, LOYALTY, MAIN, Recipe
from memadmin.lifecycle.models import ItemKind, Run, RunState, RunVictim
from memadmin.store import archive, configuration, ingest, policies
from memadmin.store.check import check
from memadmin.store.counts import store_counts
from memadmin.store.identity import item_uid
from memadmin.store.intake import IncomingHistory, IncomingMemory, IncomingSession
from memadmin.store.models import (
    Archived,
    Container,
    HistoryEntry,
    ItemType,
    LongTermMemory,
    Pin,
    PolicyState,
    PolicyStatus,
    PolicyVersion,
    Provenance,
    Session,
    Subject,
    WorkingMemory,
)
from memadmin.store.models.subjects import COUNTERS
from retention.policy import MemoryType, RelevanceRule
from retention.victims import Reason
from tests.factories import NOON, days, make_container

pytestmark = pytest.mark.django_db

SMALL = Recipe(40, 1_500, 1, NOON)  # the smallest with the worked example
TINY = Recipe(30, 120, 1, NOON)
TABLES = (Archived, Run, RunVictim, Session, WorkingMemory, LongTermMemory, HistoryEntry, Pin, Provenance)


def test_the_store_agrees_with_itself_and_no_table_is_empty():
    load(SMALL, now=NOON)

    assert list(check()) == []
    assert all(model.objects.exists() for model in TABLES)
    assert all(Subject.objects.filter(**{f"{name}__gt": 0}).exists() for name in COUNTERS)


def test_every_memory_asked_for_is_in_the_store_or_in_the_archive():
    load(TINY, now=NOON)

    counts = store_counts()
    evicted = Archived.objects.filter(item_type=ItemType.LONG_TERM).count()
    assert (counts["containers"], counts["subjects"], counts["long_term"] + evicted) == (3, 30, 120)
    assert evicted < 12


def test_loading_again_on_another_day_adds_and_changes_nothing():
    load(TINY, now=NOON)
    before, revisions = store_counts(), set(LongTermMemory.objects.values_list("uid", "revision", "created_at"))

    again = load(TINY, now=NOON + days(3))

    assert again.was_there
    assert again.new.total() == 0
    assert store_counts() == before
    assert set(LongTermMemory.objects.values_list("uid", "revision", "created_at")) == revisions


def test_an_interrupted_load_is_completed_with_the_times_of_its_first_start(monkeypatch):
    stop_in_second_batch(monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        load(TINY, now=NOON)
    monkeypatch.undo()
    interrupted = store_counts()["long_term"]

    loaded = load(Recipe(30, 120, 1, NOON + days(2)), now=NOON + days(2))

    assert 0 < interrupted < 100
    assert loaded.recipe == TINY
    assert list(check()) == []
    assert rows_and_copies(LongTermMemory) == expected_uids(IncomingMemory)
    assert not LongTermMemory.objects.filter(revision__gt=1).exists()


def stop_in_second_batch(monkeypatch):
    monkeypatch.setattr(loading, "BATCH", 100)
    batches = iter([ingest.write])

    def write(*args, **options):
        try:
            return next(batches)(*args, **options)
        except StopIteration:
            raise KeyboardInterrupt from None

    monkeypatch.setattr(loading.ingest, "write", write)


def test_a_demo_of_another_size_is_refused_with_the_way_out():
    load(TINY, now=NOON)

    with pytest.raises(OtherDemo, match=r"30 users, 120 memories, seed 1.*DATABASE_URL"):
        load(Recipe(31, 120, 1, NOON), now=NOON)


@pytest.mark.parametrize(
    ("model", "incoming"), [(Session, IncomingSession), (LongTermMemory, IncomingMemory), (HistoryEntry, IncomingHistory)]
)
def test_every_row_has_the_uid_that_follows_from_the_recipe(model, incoming):
    load(TINY, now=NOON)

    assert rows_and_copies(model) == expected_uids(incoming)


def rows_and_copies(model):
    copies = Archived.objects.filter(item_type={Session: ItemType.SESSION, LongTermMemory: ItemType.LONG_TERM}.get(model, ""))
    return set(model.objects.values_list("uid", flat=True)) | set(copies.values_list("uid", flat=True))


def expected_uids(incoming):
    return {
        item_uid(TINY.uid(name), item.item_type, item.user_id, item.external_id)
        for name in (MAIN, CLINIC, LOYALTY)
        for item in TINY.items(name, actor=loading.ACTOR)
        if isinstance(item, incoming)
    }


def test_the_waiting_preview_names_exactly_four_old_notes_of_the_worked_example():
    load(SMALL, now=NOON)
    preview = Run.objects.get(state=RunState.READY)

    named = RunVictim.objects.filter(run=preview, subject__user_id="rosa.delgado", item_kind=ItemKind.LONG_TERM)

    texts = LongTermMemory.objects.filter(uid__in=named.values_list("item_uid", flat=True)).values_list("text", flat=True)
    assert sorted(text[:24] for text in texts) == [
        "Asked once how long the ",
        "Asked whether the Mill L",
        "Mentioned that the bus w",
        "Said that the new colour",
    ]


def test_the_waiting_preview_has_victims_for_every_reason_of_the_policy():
    load(SMALL, now=NOON)

    totals = Run.objects.get(state=RunState.READY).summary
    reasons = {reason for each in totals.by_type.values() for reason in each.by_reason}
    assert reasons == {Reason.AGE, Reason.COUNT, Reason.TTL, Reason.MAX_RECORDS, Reason.MAX_TOKENS, Reason.OVERSIZED}
    assert totals.exempt_past_limit > 0


def test_what_the_finished_run_evicted_can_be_restored():
    load(SMALL, now=NOON)
    run = Run.objects.get(state=RunState.FINISHED)
    copies = Archived.objects.filter(run_number=run.number)

    assert run.removed == copies.count() > 0
    assert set(copies.values_list("item_type", flat=True)) == {ItemType.SESSION, ItemType.LONG_TERM}

    restored = archive.restore(list(copies.values_list("id", flat=True)), now=NOON)

    assert restored.items == run.removed
    assert list(check()) == []


def test_a_load_that_stops_after_the_first_policy_goes_on_with_the_run(monkeypatch):
    monkeypatch.setattr(governing, "advance", interrupt)
    with pytest.raises(KeyboardInterrupt):
        load(TINY, now=NOON)
    monkeypatch.undo()

    load(TINY, now=NOON + days(1))

    assert list(Run.objects.order_by("number").values_list("state", flat=True)) == [RunState.FINISHED, RunState.READY]
    assert list(PolicyVersion.objects.order_by("number").values_list("status", flat=True)) == ["superseded", "published"]
    assert list(check()) == []


def test_a_load_that_stops_before_the_preview_brings_nothing_back_that_was_evicted(monkeypatch):
    monkeypatch.setattr(governing.planning, "plan", interrupt)
    with pytest.raises(KeyboardInterrupt):
        load(TINY, now=NOON)
    monkeypatch.undo()
    before = store_counts()

    load(TINY, now=NOON)

    assert store_counts() == before
    assert list(Run.objects.order_by("number").values_list("state", flat=True)) == [RunState.FINISHED, RunState.READY]


def interrupt(*args, **options):
    raise KeyboardInterrupt


def test_the_containers_show_all_three_states_of_a_policy():
    load(TINY, now=NOON)

    states = dict(Container.objects.values_list("name", "policy_state"))
    assert states == {MAIN: PolicyState.SET, CLINIC: PolicyState.NEVER_SET, LOYALTY: PolicyState.OPTED_OUT}


def test_retention_is_on_and_the_policy_has_both_kinds_of_rules():
    load(TINY, now=NOON)

    policy = policies.current(Container.objects.get(name=MAIN))
    assert configuration.value("retention_enabled") is True
    assert policy.rule(MemoryType.SESSIONS).retention_days == 180
    assert policy.rule(MemoryType.LONG_TERM).max_count is None
    assert policy.rule(MemoryType.HISTORY).max_count == 120
    assert policy.relevance == RelevanceRule()


def test_beside_other_containers_retention_stays_off_and_the_policy_a_draft():
    make_container("the agents of somebody else")

    loaded = load(TINY, now=NOON)

    assert not loaded.in_force
    assert configuration.value("retention_enabled") is False
    assert PolicyVersion.objects.get().status == PolicyStatus.DRAFT
    assert Run.objects.get().state == RunState.READY


def test_the_log_says_what_was_loaded():
    load(TINY, now=NOON)

    entry = AuditEntry.objects.get(action=Action.DEMO_LOADED)
    assert entry.counts == {"users": 30, "memories": 120, "seed": 1}
    assert entry.actor == "command/make_demo"


def test_progress_adds_up_to_all_memories():
    steps = []

    load(TINY, now=NOON, on_batch=steps.append)

    assert sum(steps) == 120
