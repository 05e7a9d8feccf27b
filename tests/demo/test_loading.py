import pytest

from memadmin.audit.actions import Action
from memadmin.audit.models import AuditEntry
from memadmin.demo import loading
from memadmin.demo.loading import OtherDemo, load
from memadmin.demo.recipe import CLINIC, LOYALTY, MAIN, Recipe
from memadmin.store import configuration, ingest, policies
from memadmin.store.check import check
from memadmin.store.counts import store_counts
from memadmin.store.identity import item_uid
from memadmin.store.intake import IncomingHistory, IncomingMemory, IncomingSession, IncomingWorking
from memadmin.store.models import (
    Container,
    HistoryEntry,
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
from retention.records import MemoryFacts
from retention.victims import relevance_victims
from tests.factories import NOON, days, make_container

pytestmark = pytest.mark.django_db

SMALL = Recipe(40, 1_500, 1, NOON)  # the smallest with the worked example
TINY = Recipe(30, 120, 1, NOON)
INCOMING = {Session: IncomingSession, WorkingMemory: IncomingWorking, LongTermMemory: IncomingMemory, HistoryEntry: IncomingHistory}
TABLES = (Session, WorkingMemory, LongTermMemory, HistoryEntry, Pin, Provenance)


def test_the_store_agrees_with_itself_and_no_table_is_empty():
    load(SMALL, now=NOON)

    assert list(check()) == []
    assert all(model.objects.exists() for model in TABLES)
    assert all(Subject.objects.filter(**{f"{name}__gt": 0}).exists() for name in COUNTERS if name != "archived")


def test_there_are_as_many_users_and_memories_as_asked_for():
    load(TINY, now=NOON)

    counts = store_counts()
    assert (counts["containers"], counts["subjects"], counts["long_term"]) == (3, 30, 120)


def test_loading_again_on_another_day_adds_and_changes_nothing():
    load(TINY, now=NOON)
    before, revisions = store_counts(), set(LongTermMemory.objects.values_list("uid", "revision", "created_at"))

    again = load(TINY, now=NOON + days(3))

    assert again.was_there
    assert again.new.total() == 0
    assert store_counts() == before
    assert set(LongTermMemory.objects.values_list("uid", "revision", "created_at")) == revisions


def test_loading_again_does_not_bring_back_what_has_been_removed():
    load(TINY, now=NOON)
    Session.objects.all()._raw_delete("default")

    load(TINY, now=NOON)

    assert not Session.objects.exists()


def test_an_interrupted_load_is_completed_with_the_times_of_its_first_start(monkeypatch):
    stop_in_second_batch(monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        load(TINY, now=NOON)
    monkeypatch.undo()
    interrupted = store_counts()["long_term"]

    load(Recipe(30, 120, 1, NOON + days(2)), now=NOON + days(2))

    assert 0 < interrupted < 120
    assert store_counts()["long_term"] == 120
    assert list(check()) == []
    assert loading.standing() == TINY
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


def test_every_row_has_the_uid_that_follows_from_the_recipe():
    load(TINY, now=NOON)

    for container in Container.objects.all():
        for model in (Session, WorkingMemory, LongTermMemory, HistoryEntry):
            stored = set(model.objects.filter(container=container).values_list("uid", flat=True))
            assert stored == expected_uids(model, container)


def expected_uids(model, container):
    items = [item for item in TINY.items(container.name, actor=loading.ACTOR) if isinstance(item, INCOMING[model])]
    return {item_uid(TINY.uid(container.name), item.item_type, item.user_id, item.external_id) for item in items}


def test_the_worked_example_loses_four_memories_under_the_published_policy():
    load(SMALL, now=NOON)
    container = Container.objects.get(name=MAIN)
    columns = ("created_at", "last_updated_at", "last_accessed_at", "hits", "importance", "tokens", "pinned", "held")
    rows = LongTermMemory.objects.filter(container=container, subject__user_id="rosa.delgado").values("id", *columns)
    facts = [MemoryFacts(key=row.pop("id"), **row) for row in rows]

    victims = relevance_victims(facts, policies.current(container).relevance, now=NOON)

    assert len(facts) == 504
    assert set(LongTermMemory.objects.filter(id__in=[victim.key for victim in victims]).values_list("importance", flat=True)) == {0.1}
    assert len(victims) == 4


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


def test_the_log_says_what_was_loaded():
    load(TINY, now=NOON)

    entry = AuditEntry.objects.get(action=Action.DEMO_LOADED)
    assert entry.counts == {"users": 30, "memories": 120, "seed": 1}
    assert entry.actor == "command/make_demo"


def test_progress_adds_up_to_all_memories():
    steps = []

    load(TINY, now=NOON, on_batch=steps.append)

    assert sum(steps) == 120
