"""Our rows as the JSON of our own API."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from memadmin.api.opensearch.documents import wire_id
from memadmin.lifecycle import explain
from memadmin.lifecycle.models import Approval, ItemKind, Run, RunVictim
from memadmin.store import policies
from memadmin.store.models import Archived, Container, HistoryEntry, LongTermMemory, Pin, PolicyVersion, Provenance, Subject
from retention import scoring
from retention.rules import RelevanceRule
from retention.victims import Reason

USER_COUNTERS = ("sessions", "working", "messages", "long_term", "pinned_long_term", "tokens", "history", "archived")
MEMORY_COLUMNS = (
    *("owner", "text", "tags", "metadata", "namespace", "strategy_id", "strategy_type", "fact_key", "importance", "tokens", "hits"),
    *("created_at", "last_updated_at", "last_accessed_at", "pinned", "held", "revision"),
)
MILLION = 1_000_000
MOST_SOURCES = 1_000


def memory(row: LongTermMemory) -> dict[str, Any]:
    names = {"uid": str(row.uid), "id": wire_id(row), "container": wire_id(row.container), "user_id": row.subject.user_id}
    return {**names, **{name: getattr(row, name) for name in MEMORY_COLUMNS}}


def memory_detail(row: LongTermMemory, *, now: datetime) -> dict[str, Any]:
    found = Pin.objects.filter(target_uid=row.uid, subject_id=row.subject_id).first() if row.pinned else None
    sources = Provenance.objects.filter(derived_uid=row.uid, subject_id=row.subject_id).order_by("id").values("source_type", "source_uid")
    came_from = [{"type": source["source_type"], "uid": str(source["source_uid"])} for source in sources[:MOST_SOURCES]]
    return {**explained([row], row.subject, now=now)[0], "pin": pin(found), "sources": came_from}


def explained(rows: Sequence[LongTermMemory], subject: Subject, *, now: datetime) -> list[dict[str, Any]]:
    """Return memories of one user, each with its score added up and what the policy in force would do with it now."""
    policy = policies.current(subject.container)
    rule = (policy.relevance if policy else None) or RelevanceRule()
    line = explain.cut_line(subject, policy, now=now) if policy else None
    reasons = explain.reasons_of(rows, subject, policy, now=now) if policy else {}
    return [{**memory(row), "explanation": _explanation(row, rule, line, reasons.get(row.pk, ()), now=now)} for row in rows]


def _explanation(row: LongTermMemory, rule: RelevanceRule, line: int | None, reasons: Iterable[Reason], *, now: datetime) -> dict[str, Any]:
    facts = explain.facts_of(row)
    score = scoring.score(facts, weights=rule.weights, half_life=rule.half_life, now=now)
    terms = [{"name": term.name, "raw": term.raw, "weight": term.weight, "points": term.points} for term in score.terms]
    below = explain.falls_below(facts, line, rule, now=now) if line is not None and not (row.pinned or row.held) else None
    return {
        "score": score.millionths / MILLION,
        "terms": terms,
        "basis": str(score.basis),
        "reasons": [str(reason) for reason in reasons],
        "falls_below_at": below,
    }


def pin(row: Pin | None) -> dict[str, Any] | None:
    return None if row is None else {"reason": row.reason, "actor": row.actor, "created_at": row.created_at, "review_on": row.review_on}


def history(row: HistoryEntry) -> dict[str, Any]:
    columns = ("memory_uid", "action", "before", "after", "created_at", "actor")
    return {"uid": row.uid, "user_id": row.subject.user_id, **{name: getattr(row, name) for name in columns}}


def container(row: Container, version: PolicyVersion | None) -> dict[str, Any]:
    columns = (
        *("name", "description", "policy_state", "sessions_enabled", "history_enabled", "archive_days", "summarise_from"),
        "hard_limit_days",
        *("created_at", "revision"),
    )
    number = version.number if version else None
    return {"uid": row.uid, "id": wire_id(row), "policy_version": number, **{name: getattr(row, name) for name in columns}}


def user(row: Subject) -> dict[str, Any]:
    return {"uid": row.uid, "user_id": row.user_id, **{name: getattr(row, name) for name in USER_COUNTERS}}


def victim(row: RunVictim, user_uid: Any, kept: str | None = None) -> dict[str, Any]:
    return {
        "type": str(ItemKind(row.item_kind).memory_type),
        "uid": row.item_uid,
        "user_uid": user_uid,
        "reason": str(row.reason),
        "reasons": [str(reason) for reason in row.all_reasons],
        "score": None if row.score is None else int(row.score) / MILLION,  # an estimate has them as the database gave them
        "tokens": int(row.tokens),
        "dated_at": row.dated_at,
        "kept": kept,
    }


def run(row: Run) -> dict[str, Any]:
    columns = (
        *("number", "uid", "state", "trigger", "as_of", "created_at", "started_at", "finished_at"),
        *("planned", "removed", "kept", "restored", "error_code"),
    )
    return {
        **{name: getattr(row, name) for name in columns},
        "container": wire_id(row.container),
        "policy_version": row.policy_version.number if row.policy_version else None,
        "totals": row.summary.as_json(),
        "approval": approval(row),
    }


def policy_version(row: PolicyVersion) -> dict[str, Any]:
    columns = (
        *("number", "status", "digest", "note", "base", "revision", "created_at", "changed_at"),
        *("publish_at", "refused_at", "refused_because", "published_at"),
    )
    return {**{name: getattr(row, name) for name in columns}, "policy": json.loads(row.document)}


def approval(row: Run) -> dict[str, Any] | None:
    asked: Approval | None = getattr(row, "approval", None)  # lists bring it along
    columns = ("verdict", "items", "digest", "asked_at", "expires_at", "decided_at", "reason")
    return None if asked is None else {name: getattr(asked, name) for name in columns}


def archived(row: Archived) -> dict[str, Any]:
    columns = ("uid", "reason", "run_number", "archived_at", "expires_at")
    return {**{name: getattr(row, name) for name in columns}, "type": row.item_type, "user_uid": row.subject.uid}
