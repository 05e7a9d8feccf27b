"""Who goes, at scale: the meaning of `retention.victims` in SQL, for both databases. A property test holds the two equal.

No row passes through Python: age, count and TTL are ranges of an index, the caps look only at users whose counters exceed one, and
only for a few users of very many memories is there a statement for each. Times and numbers are our own and stand in the text as
literals, so that the database plans with the real values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from memadmin.lifecycle.cuts import NOBODY, Cut, cut_of
from memadmin.lifecycle.housekeeping import terms_of
from memadmin.lifecycle.items import RULED, Source, moment_sql
from memadmin.lifecycle.large_users import known_victims
from memadmin.lifecycle.models import ItemKind
from memadmin.lifecycle.working import select_lost
from memadmin.store.models import Container
from memadmin.store.scoring import access_sql, score_sql
from retention.rules import MemoryType, RelevanceRule, RetentionPolicy
from retention.victims import COUNT_CAP, Reason

COLUMNS = "item_id, item_uid, subject_id, reasons, score, tokens, revision, last_accessed_at, dated_at"
# A rank is the score with two flags above it. Of the last to go the rank is highest: exempt rows, which fill the caps first.
NOT_OVERSIZED = 1 << 21
EXEMPT = 1 << 22


@dataclass(frozen=True, slots=True)
class Selection:
    """The victims of one type: a SELECT of COLUMNS, and how many more max_count leaves for the next run.

    `past_limit` is the condition for being past an age or a TTL, also among exempt rows.
    """

    kind: ItemKind
    sql: str
    past_limit: str
    left_for_later: int = 0


def select(container: Container, policy: RetentionPolicy, *, now: datetime, count_cap: int = COUNT_CAP) -> Iterator[Selection]:
    """Yield a selection for each type of which the policy takes some, in the order in which a run takes them.

    Looks up the places where the rules cut: run it and what it yields in one snapshot.
    """
    for source in RULED:
        memory_type = source.kind.memory_type
        cut = cut_of(container, source, policy.rule(memory_type), now=now, count_cap=count_cap)
        rule = policy.relevance if memory_type is MemoryType.LONG_TERM else None
        parts = list(_parts(container, source, cut, rule, now=now))
        if parts:
            past_limit = f"({cut.aged} OR {expired_sql(rule, now=now)})"
            yield Selection(source.kind, " UNION ALL ".join(parts), past_limit, cut.left_for_later)
    lost = select_lost(container, terms_of(container, policy), now=now, cap=count_cap)
    if lost:
        yield Selection(ItemKind.WORKING, lost.sql, NOBODY, lost.left_for_later)


def _parts(container: Container, source: Source, cut: Cut, rule: RelevanceRule | None, *, now: datetime) -> Iterator[str]:
    expired = expired_sql(rule, now=now)
    if not cut.takes_nothing:
        reasons = f"{_bit(Reason.AGE, cut.aged)} + {_bit(Reason.COUNT, cut.counted)} + {_bit(Reason.TTL, expired)}"
        yield _condemned(container, source, rule, now=now, condition=cut.either, reasons=reasons, dated=source.date)
    if rule is None:
        return
    if expired != NOBODY:
        condition = f"{expired} AND {cut.either} IS NOT TRUE"
        yield _condemned(container, source, rule, now=now, condition=condition, reasons=str(Reason.TTL.bit), dated="m.created_at")
    if rule.max_records is not None or rule.max_tokens is not None:
        taken = NOBODY if cut.takes_nothing and expired == NOBODY else f"{cut.either} OR {expired}"
        large = known_victims(container, rule, condemned=taken, now=now)
        if large.sql:
            yield large.sql
        spared = f"({cut.either}) IS NOT TRUE AND ({expired}) IS NOT TRUE"
        yield over_caps_sql(container, rule, spared=spared, now=now, known=large.subjects)


def expired_sql(rule: RelevanceRule | None, *, now: datetime) -> str:
    """Return the condition for rows past their TTL."""
    return NOBODY if rule is None or rule.ttl is None else f"m.created_at < {moment_sql(now - rule.ttl)}"


def _condemned(
    container: Container, source: Source, rule: RelevanceRule | None, *, now: datetime, condition: str, reasons: str, dated: str
) -> str:
    """Return the SELECT of exposed rows that a condition on their dates or their place in line takes."""
    long_term = source.kind == ItemKind.LONG_TERM
    score = "CAST(NULL AS integer)" if rule is None else score_sql(rule, now=now, alias="m")
    return (
        f"SELECT m.id AS item_id, m.uid AS item_uid, m.subject_id, {reasons} AS reasons, {score} AS score, "
        f"{'m.tokens' if long_term else '0'} AS tokens, m.revision, "
        f"{'m.last_accessed_at' if long_term else 'CAST(NULL AS timestamptz)'} AS last_accessed_at, {dated} AS dated_at "
        f"FROM {source.table} m WHERE m.container_id = {container.pk} AND {source.exposed} AND ({condition})"
    )


def over_caps_sql(
    container: Container, rule: RelevanceRule, *, spared: str, now: datetime, known: Sequence[int] = (), among: Sequence[int] = ()
) -> str:
    """Return the SELECT of what exceeds a user's caps among the rows that are spared so far. Exempt rows count and stay.

    Subjects that are `known` are left out; with `among` only those are looked at. A row's `remaining` and `weight` are what the user
    would hold if all that go before it were gone: it goes while they exceed a cap.
    """
    records, weight = _over("remaining", rule.max_records), _over("weight", rule.max_tokens)
    reasons = (
        f"{_bit(Reason.OVERSIZED, _over('r.tokens', rule.max_tokens))} + "
        f"{_bit(Reason.MAX_RECORDS, records)} + {_bit(Reason.MAX_TOKENS, weight)}"
    )
    candidates = (
        f"SELECT id FROM store_subject WHERE container_id = {container.pk} "
        f"AND ({_over('long_term', rule.max_records)} OR {_over('tokens', rule.max_tokens)})"
    )
    if among:
        candidates += f" AND id IN ({', '.join(map(str, among))})"
    if known:
        candidates += f" AND id NOT IN ({', '.join(map(str, known))})"
    return (
        f"SELECT r.item_id, r.item_uid, r.subject_id, {reasons} AS reasons, r.rank & {NOT_OVERSIZED - 1} AS score, "
        f"r.tokens, r.revision, r.last_accessed_at, r.created_at AS dated_at "
        f"FROM {ranked_of_each(container, rule, candidates, spared=spared, now=now)} WHERE NOT r.exempt AND ({records} OR {weight})"
    )


def ranked_of_each(container: Container, rule: RelevanceRule, candidates: str, *, spared: str, now: datetime) -> str:
    """One sort per user, not one over all: PostgreSQL sorts by the rank alone, which is twice as fast."""
    if connection.vendor == "postgresql":
        ranked = ranked_sql(container, rule, of_subject="= s.id", spared=spared, now=now)
        return f"({candidates}) s CROSS JOIN LATERAL ({ranked}) r"
    ranked = ranked_sql(container, rule, of_subject=f"IN ({candidates})", spared=spared, now=now, partition="PARTITION BY c.subject_id")
    return f"({ranked}) r"


def ranked_sql(container: Container, rule: RelevanceRule, *, of_subject: str, spared: str, now: datetime, partition: str = "") -> str:
    """Return the SELECT of users' rows with what would `remain` and `weigh` if all rows that go before were gone."""
    score = score_sql(rule, now=now, alias="m")
    oversized = _over("m.tokens", rule.max_tokens)
    rank = f"CASE WHEN m.pinned OR m.held THEN {EXEMPT} WHEN {oversized} THEN {score} ELSE {NOT_OVERSIZED} + {score} END"
    rows = (
        "SELECT m.id AS item_id, m.uid AS item_uid, m.subject_id, m.tokens, m.revision, m.last_accessed_at, m.created_at, "
        f"(m.pinned OR m.held) AS exempt, {rank} AS rank, {access_sql(rule, alias='m')} AS access "
        f"FROM store_longtermmemory m WHERE m.container_id = {container.pk} AND m.subject_id {of_subject} "
        f"AND (m.pinned OR m.held OR ({spared}))"
    )
    last_to_go_first = f"{partition} ORDER BY c.rank DESC, c.access DESC NULLS FIRST, c.item_id DESC ROWS UNBOUNDED PRECEDING"
    return f"SELECT c.*, row_number() OVER w AS remaining, SUM(c.tokens) OVER w AS weight FROM ({rows}) c WINDOW w AS ({last_to_go_first})"


def _over(column: str, limit: int | None) -> str:
    return NOBODY if limit is None else f"{column} > {limit}"


def _bit(reason: Reason, condition: str) -> str:
    return "0" if condition == NOBODY else f"CASE WHEN {condition} THEN {reason.bit} ELSE 0 END"
