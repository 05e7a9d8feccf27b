"""Runs in words and in JSON, for commands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from memadmin.lifecycle.drift import Drift, drift_of
from memadmin.lifecycle.models import Run, RunState
from memadmin.lifecycle.planning import policy_of
from memadmin.lifecycle.totals import TypeTotals
from memadmin.lifecycle.warnings import NOUNS, warnings_of
from memadmin.plurals import counted
from retention.rules import MemoryType


def lines_of(run: Run) -> Iterator[str]:
    """Yield what a person reads of a run: its victims by type and reason, the warnings, and what it did or would do."""
    yield f"{run.container.name}: run {run.number}, {_judged_by(run)}, as of {run.as_of:%d %b %Y %H:%M} UTC"
    for memory_type, totals in run.summary.by_type.items():
        if totals.total:
            yield f"  {NOUNS[memory_type]:<20} {totals.total:>12,}   {_reasons(totals)}{_along(memory_type, totals)}"
    if run.state == RunState.READY:
        for warned in warnings_of(run.container, policy_of(run), run.summary):
            yield f"  {'!!' if warned.loud else ' !'} {warned.text}"
    drift = drift_of(run)
    if drift:
        yield f"  since the preview: {_differences(drift)}"
    yield f"  {outcome_of(run)}"


def outcome_of(run: Run) -> str:
    """Return the last word on a run. What it would do and what it has done never sound alike."""
    if run.state == RunState.READY:
        return f"Would evict {run.planned:,} from {counted(run.summary.users, 'user')}." if run.planned else "Would evict nothing."
    kept = f", kept {run.kept:,}" if run.kept else ""
    if run.state == RunState.WAITING:
        return f"Waits for a second person: {run.planned:,} named, nothing evicted."
    if run.state == RunState.FINISHED:
        return f"Evicted {run.removed:,}{kept}."
    cause = f" ({run.error_code})" if run.error_code else ""
    return f"Is {run.get_state_display()}{cause}: evicted {run.removed:,} of {run.planned:,} so far{kept}."


def as_json(run: Run) -> dict[str, Any]:
    totals = run.summary
    warnings = warnings_of(run.container, policy_of(run), totals) if run.state == RunState.READY else ()
    return {
        "run": run.number,
        "container": run.container.name,
        "container_uid": str(run.container.uid),
        "state": run.state,
        "policy_version": run.policy_version.number if run.policy_version else None,
        "as_of": run.as_of.isoformat(),
        "planned": run.planned,
        "removed": run.removed,
        "kept": run.kept,
        "users": totals.users,
        "tokens": totals.tokens,
        **totals.as_json(),
        "since_preview": asdict(drift_of(run)),
        "warnings": [asdict(warned) for warned in warnings],
        "error_code": run.error_code,
    }


def _judged_by(run: Run) -> str:
    if run.policy_version:
        return f"policy version {run.policy_version.number}"
    return "without a policy" if run.is_without_policy else "a policy that is not in force"


def _reasons(totals: TypeTotals) -> str:
    return ", ".join(f"{reason} {number:,}" for reason, number in totals.by_reason.items())


def _along(memory_type: MemoryType, totals: TypeTotals) -> str:
    if memory_type is MemoryType.SESSIONS:
        return f"   with {totals.working:,} working memories, {totals.messages:,} messages"
    return f"   {totals.tokens:,} tokens" if totals.tokens else ""


def _differences(drift: Drift) -> str:
    return ", ".join(f"{number:,} {name}" for name, number in asdict(drift).items() if number)
