"""What changes when something arrives that is already there. Hits, pins, importance and history always stay."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from datetime import datetime
from typing import Any

from memadmin.store.intake import IncomingMemory, IncomingSession, IncomingWorking

WORKING_CONTENT = (
    "namespace",
    "payload_type",
    "messages",
    "message_id",
    "structured_data",
    "structured_data_blob",
    "binary_data",
    "metadata",
    "tags",
    "parameters",
    "infer",
    "checkpoint_id",
    "event_id",
    "invocation_id",
    "author",
    "event",
    "created_at",
)
MEMORY_CONTENT = (
    "namespace",
    "text",
    "parts",
    "author",
    "strategy_id",
    "strategy_type",
    "tags",
    "metadata",
    "created_at",
    "fact_key",
    "fact_version",
    "superseded_by",
)
SESSION_DETAILS = ("summary", "state", "metadata", "agents", "additional_info", "namespace", "owner")

Changes = dict[str, Any]
SessionKey = tuple[str | None, str | None]  # the user, and the id that the agent gave the session


def fold_sessions(given: Iterable[IncomingSession]) -> dict[SessionKey, IncomingSession]:
    """Make one arrival of several for the same session."""
    items: dict[SessionKey, IncomingSession] = {}
    for item in given:
        key = (item.user_id, item.external_id)
        if key in items:
            earlier = items[key]
            stored = {column.name: getattr(earlier, column.name) for column in fields(earlier)}
            item = replace(earlier, **session_changes(stored, item), pin=earlier.pin or item.pin)
        items[key] = item
    return items


def session_changes(stored: Mapping[str, Any], incoming: IncomingSession) -> Changes:
    """Return what a session takes over: details that are given, the earlier creation, the later content change."""
    changes = {name: value for name in SESSION_DETAILS if (value := getattr(incoming, name)) and value != stored[name]}
    created = _extreme(min, stored["created_at"], incoming.created_at)
    updated = _extreme(max, stored["last_updated_at"], incoming.last_updated_at)
    if created != stored["created_at"]:
        changes["created_at"] = created
    if updated != stored["last_updated_at"]:
        changes["last_updated_at"] = updated
    return changes


def working_changes(stored: Mapping[str, Any], incoming: IncomingWorking) -> Changes:
    return _content_changes(stored, incoming, WORKING_CONTENT)


def memory_changes(stored: Mapping[str, Any], incoming: IncomingMemory) -> Changes:
    return _content_changes(stored, incoming, MEMORY_CONTENT)


def later(first: datetime | None, second: datetime | None) -> datetime | None:
    """Return the later of two times; a missing one counts for nothing."""
    return _extreme(max, first, second)


def _content_changes(stored: Mapping[str, Any], incoming: IncomingWorking | IncomingMemory, names: Iterable[str]) -> Changes:
    changes = {name: getattr(incoming, name) for name in names if getattr(incoming, name) != stored[name]}
    if changes:
        changes["last_updated_at"] = later(stored["last_updated_at"], incoming.last_updated_at)
    return changes


def _extreme(choose: Any, first: datetime | None, second: datetime | None) -> datetime | None:
    given = [time for time in (first, second) if time is not None]
    return choose(given) if given else None
