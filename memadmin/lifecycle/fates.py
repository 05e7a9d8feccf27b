"""What a policy would do now with some memories of a container, without looking at all the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from django.db import connection

from memadmin.lifecycle.cuts import NOBODY, cut_of
from memadmin.lifecycle.items import SOURCES
from memadmin.lifecycle.large_users import known_victims
from memadmin.lifecycle.models import ItemKind
from memadmin.lifecycle.selection import expired_sql, over_caps_sql
from memadmin.lifecycle.snapshot import one_snapshot
from memadmin.store.models import Container, LongTermMemory
from retention.rules import MemoryType, RelevanceRule, RetentionPolicy
from retention.victims import Reason


def reasons_among(
    container: Container, policy: RetentionPolicy, memories: Sequence[LongTermMemory], *, now: datetime
) -> dict[int, tuple[Reason, ...]]:
    """Return by key why the policy evicts which of the memories now; those that stay are left out. The meaning is a run's."""
    if not memories:
        return {}
    with one_snapshot():
        return {key: Reason.from_bits(bits) for key, bits in _found(container, policy, memories, now=now) if bits}


def _found(
    container: Container, policy: RetentionPolicy, memories: Sequence[LongTermMemory], *, now: datetime
) -> Iterator[tuple[int, int]]:
    source, rule = SOURCES[ItemKind.LONG_TERM], policy.relevance
    cut = cut_of(container, source, policy.rule(MemoryType.LONG_TERM), now=now)
    expired = expired_sql(rule, now=now)
    keys = ", ".join(str(memory.pk) for memory in memories)
    bits = " + ".join(
        f"CASE WHEN {condition} THEN {reason.bit} ELSE 0 END"
        for reason, condition in ((Reason.AGE, cut.aged), (Reason.COUNT, cut.counted), (Reason.TTL, expired))
    )
    yield from _rows(f"SELECT m.id, {bits} FROM {source.table} m WHERE m.id IN ({keys}) AND {source.exposed}")
    if rule is not None and (rule.max_records is not None or rule.max_tokens is not None):
        condemned = NOBODY if cut.takes_nothing and expired == NOBODY else f"{cut.either} OR {expired}"
        subjects = sorted({memory.subject_id for memory in memories})
        for sql in _over_caps(container, rule, subjects, condemned=condemned, now=now):
            yield from _rows(f"SELECT item_id, reasons FROM ({sql}) v WHERE item_id IN ({keys})")


def _over_caps(container: Container, rule: RelevanceRule, subjects: Sequence[int], *, condemned: str, now: datetime) -> Iterator[str]:
    large = known_victims(container, rule, condemned=condemned, now=now)
    if large.sql:
        yield large.sql
    others = sorted(set(subjects) - set(large.subjects))
    if others:
        yield over_caps_sql(container, rule, spared=f"({condemned}) IS NOT TRUE", now=now, among=others)


def _rows(sql: str) -> list[tuple[int, int]]:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return list(cursor.fetchall())
