from retention.policy import MemoryType, RelevanceRule, RetentionPolicy, RetentionRule
from retention.victims import Reason, long_term_victims
from tests.retention.facts import NOON, memory

NO_LIMITS = {"ttl_days": None, "max_records": None, "max_tokens": None}


def policy(rule=None, **limits):
    rules = {MemoryType.LONG_TERM: rule} if rule else {}
    return RetentionPolicy(rules, RelevanceRule(**{**NO_LIMITS, **limits}))


def both(memories, of_policy, **changed):
    return [(v.key, v.reasons) for v in long_term_victims(memories, of_policy, now=NOON, **changed)]


def test_caps_are_per_user():
    memories = [memory(key, subject=key % 2) for key in range(6)]

    assert [key for key, _ in both(memories, policy(max_records=2))] == [0, 1]


def test_age_and_count_come_first_then_ttl_then_caps_on_the_remainder():
    memories = [
        memory(1, subject=2, days_old=50),
        memory(2, subject=2, days_old=40),
        memory(3, subject=1, days_old=30, last_updated_at=NOON),
    ]
    memories += [memory(key, subject=1, importance=key / 10) for key in (4, 5, 6)]

    chosen = both(memories, policy(RetentionRule(retention_days=45, max_count=4), ttl_days=20, max_records=2))

    assert chosen == [
        (1, (Reason.AGE, Reason.COUNT, Reason.TTL)),
        (2, (Reason.COUNT, Reason.TTL)),
        (3, (Reason.TTL,)),
        (4, (Reason.MAX_RECORDS,)),
    ]


def test_what_age_took_no_longer_fills_the_caps():
    memories = [memory(1, days_old=50), memory(2, importance=0.1), memory(3)]

    assert both(memories, policy(RetentionRule(retention_days=45), max_records=2)) == [(1, (Reason.AGE,))]


def test_what_the_cap_of_count_left_is_judged_by_relevance_in_the_same_run():
    memories = [memory(key, days_old=30 - key) for key in range(1, 5)]

    chosen = both(memories, policy(RetentionRule(max_count=1), ttl_days=10), count_cap=1)

    assert chosen == [(1, (Reason.COUNT, Reason.TTL)), (2, (Reason.TTL,)), (3, (Reason.TTL,)), (4, (Reason.TTL,))]


def test_with_a_relevance_rule_every_victim_shows_its_score():
    memories = [memory(1, days_old=50, last_updated_at=NOON), memory(2, days_old=50), memory(3, importance=0.1), memory(4)]

    chosen = long_term_victims(memories, policy(RetentionRule(retention_days=45), ttl_days=45, max_records=1), now=NOON)

    assert [(v.key, v.score) for v in chosen] == [(2, 262_996), (1, 262_996), (3, 240_000)]


def test_without_a_relevance_rule_only_age_and_count_judge():
    rules = RetentionPolicy({MemoryType.LONG_TERM: RetentionRule(max_count=1)})

    assert long_term_victims([memory(1, days_old=900), memory(2)], rules, now=NOON)[0].score is None


def test_a_policy_without_any_rule_evicts_nothing():
    assert long_term_victims([memory(1, days_old=9_000)], RetentionPolicy(), now=NOON) == []


def test_rules_of_other_types_do_not_touch_long_term_memories():
    others = RetentionPolicy({MemoryType.SESSIONS: RetentionRule(1, 1), MemoryType.HISTORY: RetentionRule(max_count=1)})

    assert long_term_victims([memory(1, days_old=9_000), memory(2, days_old=9)], others, now=NOON) == []
