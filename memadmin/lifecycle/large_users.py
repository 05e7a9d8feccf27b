"""Users of very many memories who are a little over a cap: their victims are found among their lowest scores, not by ranking them all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import ceil
from typing import Any

from django.db import connection
from django.db.models import Q

from memadmin.lifecycle.cuts import NOBODY
from memadmin.store.lowest import EXPOSED, Crowd, Lowest, by_threshold, has_indexes
from memadmin.store.models import Container, Subject
from retention.rules import RelevanceRule
from retention.victims import Reason

LARGE = 10_000  # memories
USERS = 100  # looked at one by one; ranking more of them at once costs less
CONDEMNED = 10_000  # rows that other rules take of them: with more, ranking costs less
WORTH_RANKING = 50  # parts of what a user has: with more than one to go, ranking costs less
LARGE_MEMORY = 4_000  # tokens; the index of larger ones is all but empty


@dataclass(frozen=True, slots=True)
class LargeUsers:
    """Subjects whose victims are known, and the SELECT of those victims; "" where there are none."""

    subjects: list[int] = field(default_factory=list)
    sql: str = ""


@dataclass(frozen=True, slots=True)
class _Victim:
    id: int
    reasons: int
    score: int


def known_victims(container: Container, rule: RelevanceRule, *, condemned: str, now: datetime) -> LargeUsers:
    """Return what the caps take of large users, as far as it can be found without ranking. `condemned` is what other rules take before.

    Its meaning is that of `selection.over_caps_sql`. Run it in the snapshot of the selection.
    """
    over = Q(long_term__gt=rule.max_records) if rule.max_records is not None else Q(pk__in=[])
    over |= Q(tokens__gt=rule.max_tokens) if rule.max_tokens is not None else Q(pk__in=[])
    large = list(Subject.objects.of_container(container).filter(over, long_term__gt=LARGE).order_by("id")[: USERS + 1])
    if not large or len(large) > USERS or not has_indexes(Crowd(container, large[0])):
        return LargeUsers()
    gone = _condemned(container, large, condemned)
    if gone is None:
        return LargeUsers()
    found = {subject.pk: _victims_of(Crowd(container, subject), rule, gone[subject.pk], now=now) for subject in large}
    known = {key: victims for key, victims in found.items() if victims is not None}
    return LargeUsers(list(known), _as_sql([victim for victims in known.values() for victim in victims]))


def _condemned(container: Container, large: Sequence[Subject], condition: str) -> defaultdict[int, dict[int, int]] | None:
    """Return the tokens of each condemned memory by subject, or None when there are too many."""
    gone: defaultdict[int, dict[int, int]] = defaultdict(dict)
    if condition == NOBODY:
        return gone
    subjects = ", ".join(str(subject.pk) for subject in large)
    rows = _rows(
        f"SELECT m.subject_id, m.id, m.tokens FROM store_longtermmemory m WHERE m.container_id = {container.pk} "
        f"AND m.subject_id IN ({subjects}) AND {EXPOSED} AND ({condition}) LIMIT {CONDEMNED + 1}"
    )
    for subject, key, tokens in rows:
        gone[subject][key] = tokens
    return gone if len(rows) <= CONDEMNED else None


def _victims_of(crowd: Crowd, rule: RelevanceRule, gone: Mapping[int, int], *, now: datetime) -> list[_Victim] | None:
    """Return whom the caps take of one user when the condemned have gone; None: ranking all of them is better."""
    subject = crowd.subject
    if subject is None:
        raise TypeError("caps are for users")
    held = subject.long_term - len(gone), subject.tokens - sum(gone.values())
    needed = _needed(*held, rule)
    if needed == 0:
        return []
    if needed > subject.long_term // WORTH_RANKING or _may_have_oversized(crowd, rule):
        return None
    count = needed + len(gone)
    while (found := by_threshold(crowd, rule, now=now, count=count)) is not None:
        victims, fits = _taken([row for row in found if row.id not in gone], *held, rule)
        if fits or len(found) < count:
            return victims
        count *= 2
    return None


def _needed(records: int, tokens: int, rule: RelevanceRule) -> int:
    """Return about how many have to go, exactly where only their number counts."""
    over = 0 if rule.max_records is None else records - rule.max_records
    weight = 0 if rule.max_tokens is None else tokens - rule.max_tokens
    return max(0, over, ceil(weight / max(tokens / records, 1)) if weight > 0 else 0)


def _may_have_oversized(crowd: Crowd, rule: RelevanceRule) -> bool:
    """Whether memories may be larger than the whole cap: those go first, whatever their score."""
    if rule.max_tokens is None:
        return False
    large = f"m.tokens > {LARGE_MEMORY} AND m.tokens > {rule.max_tokens}"
    return rule.max_tokens < LARGE_MEMORY or bool(
        _rows(f"SELECT 1 FROM store_longtermmemory m WHERE {crowd.condition} AND {large} LIMIT 1")
    )


def _taken(found: Sequence[Lowest], records: int, tokens: int, rule: RelevanceRule) -> tuple[list[_Victim], bool]:
    """Return the first of them until the caps hold, and whether they do then."""
    weights = _tokens_of(found) if rule.max_tokens is not None else {}
    victims: list[_Victim] = []
    for row in found:
        reasons = list(_exceeded(records, tokens, rule))
        if not reasons:
            return victims, True
        victims.append(_Victim(row.id, sum(reasons), row.score))
        records, tokens = records - 1, tokens - weights.get(row.id, 0)
    return victims, not list(_exceeded(records, tokens, rule))


def _exceeded(records: int, tokens: int, rule: RelevanceRule) -> Iterator[int]:
    if rule.max_records is not None and records > rule.max_records:
        yield Reason.MAX_RECORDS.bit
    if rule.max_tokens is not None and tokens > rule.max_tokens:
        yield Reason.MAX_TOKENS.bit


def _tokens_of(found: Sequence[Lowest]) -> dict[int, int]:
    keys = ", ".join(str(row.id) for row in found) or "NULL"
    return dict(_rows(f"SELECT m.id, m.tokens FROM store_longtermmemory m WHERE m.id IN ({keys})"))


def _as_sql(victims: Sequence[_Victim]) -> str:
    if not victims:
        return ""
    known = ", ".join(f"({victim.id}, {victim.reasons}, {victim.score})" for victim in victims)
    return (
        "SELECT m.id AS item_id, m.uid AS item_uid, m.subject_id, k.column2 AS reasons, k.column3 AS score, m.tokens, m.revision, "
        f"m.last_accessed_at, m.created_at AS dated_at FROM (VALUES {known}) k JOIN store_longtermmemory m ON m.id = k.column1"
    )


def _rows(sql: str) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return list(cursor.fetchall())
