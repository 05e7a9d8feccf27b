"""What is past a limit of a policy and stays all the same, for a pin or a hold alone."""

from __future__ import annotations

from datetime import datetime

from django.db.models.expressions import RawSQL

from memadmin.lifecycle.cuts import NOBODY, aged_sql
from memadmin.lifecycle.items import SOURCES
from memadmin.lifecycle.models import ItemKind
from memadmin.lifecycle.selection import expired_sql
from memadmin.store.models import Container, LongTermMemory, Session
from memadmin.store.querysets import LongTermQuerySet, SessionQuerySet
from retention.rules import MemoryType, RetentionPolicy
from retention.victims import Reason


def spared_sql(container: Container, kind: ItemKind, past_limit: str) -> str:
    """Return the SELECT of the row numbers. Pinned sessions are found through their pins, pinned memories have an index."""
    table = SOURCES[kind].table
    pins = f"store_pin p JOIN {table} m ON m.uid = p.target_uid AND m.subject_id = p.subject_id"
    of_type = f"p.container_id = {container.pk} AND p.target_type = '{kind.memory_type}'"
    pinned = f"{table} m WHERE m.container_id = {container.pk}" if kind is ItemKind.LONG_TERM else f"{pins} WHERE {of_type}"
    held = f"{table} m WHERE m.container_id = {container.pk} AND m.held AND NOT m.pinned"
    return f"SELECT m.id FROM {pinned} AND m.pinned AND {past_limit} UNION ALL SELECT m.id FROM {held} AND {past_limit}"


def spared_memories(container: Container, policy: RetentionPolicy, *, as_of: datetime) -> LongTermQuerySet:
    """Return the long-term memories that were past an age or their time to live at `as_of`, and are pinned or held now."""
    rule = policy.relevance
    past_limit = f"({_aged(ItemKind.LONG_TERM, policy, as_of=as_of)} OR {expired_sql(rule, now=as_of)})"
    return LongTermMemory.objects.filter(pk__in=RawSQL(spared_sql(container, ItemKind.LONG_TERM, past_limit), []))


def spared_sessions(container: Container, policy: RetentionPolicy, *, as_of: datetime) -> SessionQuerySet:
    """The same of sessions."""
    past_limit = _aged(ItemKind.SESSION, policy, as_of=as_of)
    if past_limit == NOBODY:
        return Session.objects.none()
    return Session.objects.filter(pk__in=RawSQL(spared_sql(container, ItemKind.SESSION, past_limit), []))


def limits_past(item: LongTermMemory | Session, policy: RetentionPolicy, *, as_of: datetime) -> list[Reason]:
    """Return which limits the item was past at `as_of`, whatever keeps it."""
    memory_type = MemoryType.SESSIONS if isinstance(item, Session) else MemoryType.LONG_TERM
    age, found = policy.rule(memory_type).age_limit, []
    if age is not None and item.last_updated_at and item.last_updated_at < as_of - age:
        found.append(Reason.AGE)
    ttl = policy.relevance.ttl if policy.relevance and isinstance(item, LongTermMemory) else None
    if ttl is not None and item.created_at and item.created_at < as_of - ttl:
        found.append(Reason.TTL)
    return found


def _aged(kind: ItemKind, policy: RetentionPolicy, *, as_of: datetime) -> str:
    return aged_sql(SOURCES[kind], policy.rule(kind.memory_type), now=as_of)
