"""The shapes of answers that hold no document."""

from __future__ import annotations

from typing import Any, Protocol

SHARDS = {"total": 1, "successful": 1, "failed": 0}  # one place, always there


class Revised(Protocol):
    revision: int


def position(row: Revised) -> dict[str, int]:
    """What tells versions of a document apart; for clients that compare them."""
    return {"_version": row.revision, "_seq_no": row.revision - 1, "_primary_term": 1}


def write_result(row: Revised, *, index: str, wire_id: str, result: str) -> dict[str, Any]:
    """The answer to a write of one document; `result` is "updated" or "deleted"."""
    return {"_index": index, "_id": wire_id, "result": result, "forced_refresh": True, "_shards": SHARDS, **position(row)}


def deleted_by_query(*, deleted: int, took: int) -> dict[str, Any]:
    """The answer to a deletion by query; `took` in milliseconds."""
    return {
        "took": took,
        "timed_out": False,
        "total": deleted,
        "updated": 0,
        "created": 0,
        "deleted": deleted,
        "batches": 1 if deleted else 0,
        "version_conflicts": 0,
        "noops": 0,
        "retries": {"bulk": 0, "search": 0},
        "throttled_millis": 0,
        "requests_per_second": -1.0,
        "throttled_until_millis": 0,
        "failures": [],
    }
