"""What a policy would have lost: by hand, and against a replay that asks the reference meaning every night."""

from dataclasses import replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from retention.backtest import Loss, Past, PastMemory, replay
from retention.records import MemoryFacts
from retention.rules import MemoryType, RelevanceRule, RetentionPolicy, RetentionRule
from retention.victims import long_term_victims
from tests.retention import strategies
from tests.retention.facts import NOON, memory

DAY = timedelta(days=1)
START = NOON - 10 * DAY
NIGHTS = [START + number * DAY for number in range(10)]


def caps(**limits):
    return RetentionPolicy(relevance=RelevanceRule(**{"ttl_days": None, "max_records": None, "max_tokens": None, **limits}))


def recalled(key, *days_ago, **details):
    """A memory 40 days old whose only recalls were so many days before NOON."""
    times = tuple(NOON - days * DAY for days in sorted(days_ago, reverse=True))
    return PastMemory(memory(key, days_old=40, read_days_ago=min(days_ago), hits=len(times), **details), times)


def test_a_memory_over_the_cap_is_lost_and_so_is_its_later_recall():
    weak, strong = recalled(1, 3, importance=0.1), recalled(2, 4, importance=0.9)

    loss = replay(Past([weak, strong]), caps(max_records=1), nights=NIGHTS, until=NOON)

    assert loss == Loss(recalls=2, lost=1, memories=1, records=1, tokens=0, users=1)


def test_what_was_recalled_before_a_memory_was_made_that_pushes_it_out_is_not_lost():
    old = recalled(1, 9, 2, importance=0.1)
    newcomer = PastMemory(memory(2, days_old=5, importance=1.0))

    loss = replay(Past([old, newcomer]), caps(max_records=1), nights=NIGHTS, until=NOON)

    assert (loss.recalls, loss.lost) == (2, 1)


def test_a_recall_keeps_a_memory_as_it_did_then_and_not_before():
    read = recalled(1, 8, 2, importance=0.5)  # recalled eight days ago: from then on stronger than its rival
    rival = PastMemory(memory(2, days_old=40, importance=0.52))

    kept = replay(Past([read, rival]), caps(max_records=1), nights=NIGHTS[3:], until=NOON)
    lost = replay(Past([read, rival]), caps(max_records=1), nights=NIGHTS, until=NOON)

    assert (kept.lost, kept.recalls) == (0, 1)
    assert (lost.lost, lost.recalls) == (2, 2)


def test_a_memory_past_its_time_to_live_is_hidden_before_the_night_that_takes_it():
    past = recalled(1, 1.4)
    limit_of_38_6_days = 38

    assert replay(Past([past]), caps(ttl_days=limit_of_38_6_days), nights=NIGHTS[:1], until=NOON).lost == 1
    assert replay(Past([past]), caps(ttl_days=limit_of_38_6_days + 1), nights=NIGHTS[:1], until=NOON).lost == 0


def test_pinned_and_held_memories_are_never_lost_but_count():
    exempt = [recalled(1, 1, pinned=True), recalled(2, 1, held=True)]
    third = recalled(3, 1, importance=1.0)

    loss = replay(Past([*exempt, third]), caps(max_records=2, ttl_days=1), nights=NIGHTS, until=NOON)

    assert (loss.recalls, loss.lost, loss.records) == (3, 1, 2)


def test_recalls_before_the_first_night_and_from_the_end_on_are_not_replayed():
    edge = recalled(1, 10.5, 10, 0)

    assert replay(Past([edge]), caps(), nights=NIGHTS, until=NOON).recalls == 1


instants = st.integers(-2 * 24, 11 * 24).map(lambda hours: START + timedelta(hours=hours))
pasts = st.builds(
    lambda store, times: [PastMemory(facts, tuple(sorted(times[at]))) for at, facts in enumerate(store)],
    strategies.stores,
    st.lists(st.lists(instants, max_size=4), min_size=12, max_size=12),
)
policies = st.builds(
    RetentionPolicy,
    rules=st.sampled_from((None, 2, 9, 30)).map(lambda days: {MemoryType.LONG_TERM: RetentionRule(days)}),
    relevance=st.none() | strategies.relevance_rules,
)


@given(memories=pasts, policy=policies)
def test_the_replay_is_the_reference_asked_every_night(memories, policy):
    memories = [replace(each, facts=replace(each.facts, subject=1)) for each in memories]

    assert replay(Past(memories), policy, nights=NIGHTS, until=NOON) == _asked_every_night(memories, policy)


def _asked_every_night(memories, policy):
    gone = {}
    for night in NIGHTS:
        there = [facts for each in memories if each.facts.key not in gone and (facts := _as_of(each, night))]
        gone.update({victim.key: night for victim in long_term_victims(there, policy, now=night)})
    missed = {each.facts.key: [_is_missed(each.facts, at, gone, policy) for at in each.recalls if START <= at < NOON] for each in memories}
    left = [each.facts for each in memories if each.facts.key not in gone]
    return Loss(
        recalls=sum(map(len, missed.values())),
        lost=sum(map(sum, missed.values())),
        memories=sum(map(any, missed.values())),
        records=len(left),
        tokens=sum(facts.tokens for facts in left),
        users=int(any(map(any, missed.values()))),
    )


def _is_missed(facts, at, gone, policy):
    ttl = policy.relevance.ttl if policy.relevance else None
    hidden = ttl is not None and not facts.exempt and facts.created_at is not None and facts.created_at < at - ttl
    return hidden or gone.get(facts.key, NOON) <= at


def _as_of(past, moment) -> MemoryFacts | None:
    """What was known of a memory just before a moment; None when it was not there yet."""
    facts = past.facts
    if facts.created_at is not None and facts.created_at > moment:
        return None
    reads = [at for at in (*past.recalls, facts.last_accessed_at) if at is not None and at < moment]
    later = sum(at >= moment for at in past.recalls)
    updated = facts.created_at if facts.last_updated_at and facts.last_updated_at > moment else facts.last_updated_at
    return replace(facts, hits=max(0, facts.hits - later), last_accessed_at=max(reads, default=None), last_updated_at=updated)


def test_one_past_can_be_replayed_again_and_again():
    past = Past([recalled(1, 3, importance=0.1), recalled(2, 4, importance=0.9)])

    first = replay(past, caps(max_records=1), nights=NIGHTS, until=NOON)
    other = replay(past, caps(), nights=NIGHTS, until=NOON)

    assert (first.lost, other.lost) == (1, 0)
    assert replay(past, caps(max_records=1), nights=NIGHTS, until=NOON) == first
