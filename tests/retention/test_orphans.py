from datetime import timedelta

from retention.orphans import SESSIONS_CAP, LostMemory, Sweep, Terms, WorkingFacts, first_of, sweep
from retention.victims import Reason
from tests.retention.facts import MICROSECOND, NOON

WEEK = timedelta(days=7)
WATCHED = Terms(orphan_age=WEEK, baseline_at=NOON - WEEK)


def said(key, *, days_old=60, **facts):
    created_at = None if days_old is None else NOON - timedelta(days=days_old)
    return WorkingFacts(key, **{"created_at": created_at, **facts})


def goes(*memories, terms=WATCHED, **options):
    return [(victim.key, victim.reason) for victim in sweep(memories, terms, now=NOON, **options).victims]


def test_what_is_as_old_as_its_limit_stays_and_a_microsecond_later_goes():
    exactly = WorkingFacts(1, created_at=NOON - WEEK, session_ref="s")
    older = WorkingFacts(2, created_at=NOON - WEEK - MICROSECOND, session_ref="s")

    assert goes(exactly, older) == [(2, Reason.ORPHAN)]
    assert goes(exactly, older, terms=Terms(ttl=WEEK)) == [(2, Reason.TTL)]


def test_without_a_date_nothing_goes():
    assert goes(said(1, days_old=None, session_ref="s"), said(2, days_old=None), terms=WATCHED) == []
    assert goes(said(1, days_old=None), terms=Terms(ttl=WEEK)) == []


def test_what_has_its_session_never_goes_alone():
    memory = said(1, session_ref="s", has_session=True)

    assert goes(memory) == goes(memory, terms=Terms(ttl=WEEK)) == []


def test_before_the_first_look_and_in_the_grace_after_it_no_orphan_goes():
    never = Terms(orphan_age=WEEK)
    young = Terms(orphan_age=WEEK, baseline_at=NOON - WEEK + MICROSECOND)

    assert goes(said(1, session_ref="s"), terms=never) == goes(said(1, session_ref="s"), terms=young) == []
    assert WATCHED.grace_is_over(NOON)


def test_what_names_nobody_goes_only_by_consent():
    memories = [said(1), said(2, names_somebody=True), said(3, session_ref="s")]
    consent = Terms(orphan_age=WEEK, baseline_at=NOON - WEEK, unattributed=True)

    assert goes(*memories) == [(3, Reason.ORPHAN)]
    assert goes(*memories, terms=consent) == [(1, Reason.UNATTRIBUTED), (3, Reason.ORPHAN)]


def test_the_cap_counts_sessions_and_takes_all_messages_of_one():
    memories = [said(key, session_ref=f"s{key % 3}") for key in range(9)]

    found = sweep(memories, WATCHED, now=NOON, cap=2, seed="x")

    assert len({victim.key % 3 for victim in found.victims}) == 2
    assert (len(found.victims), found.left_for_later) == (6, 1)


def test_h13_the_beginning_is_drawn_and_the_walk_goes_round():
    memories = [said(key, session_ref=f"s{key}") for key in range(10)]
    begins = {seed: first_of(10, seed=seed, cap=4) for seed in map(str, range(200))}
    wrapped = next(seed for seed, first in begins.items() if first == 8)

    assert set(begins.values()) == set(range(10))
    assert [victim.key for victim in sweep(memories, WATCHED, now=NOON, cap=4, seed=wrapped).victims] == [0, 1, 8, 9]
    assert sweep(memories, WATCHED, now=NOON, cap=4, seed=wrapped) == sweep(memories, WATCHED, now=NOON, cap=4, seed=wrapped)


def test_where_one_run_takes_all_of_them_nothing_is_drawn():
    assert first_of(SESSIONS_CAP, seed="any") == 0
    assert sweep([said(1, session_ref="s")], WATCHED, now=NOON) == Sweep((LostMemory(1, Reason.ORPHAN),), 0)


def test_no_rule_takes_nothing():
    assert goes(said(1), said(2, session_ref="s"), terms=Terms()) == []
