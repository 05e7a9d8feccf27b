"""What retention would evict, and starting it. The same estimate as on the policy page; nothing here deletes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memadmin.access.scopes import Scope
from memadmin.access.visibility import visible_containers
from memadmin.api.opensearch import documents
from memadmin.api.opensearch.containers import MAY_NOT_USE
from memadmin.api.opensearch.endpoints import Call, check_enabled, check_tenant, endpoint
from memadmin.api.opensearch.errors import bad_argument, forbidden
from memadmin.api.opensearch.reach import container_of
from memadmin.jobs import schedules
from memadmin.jobs.queue import AlreadyLive
from memadmin.lifecycle import housekeeping, nightly, planning
from memadmin.lifecycle.models import ItemKind, RunVictim
from memadmin.lifecycle.totals import Totals, TypeTotals
from memadmin.store import configuration, defaults, policies
from memadmin.store.models import Container, PolicyState
from retention.policy import to_document
from retention.rules import MemoryType, RetentionPolicy
from retention.victims import Reason

MOST_CONTAINERS = 1_000
SWITCHED_OFF = "Memory retention is disabled: nothing would be deleted. Enable plugins.ml_commons.memory.retention_enabled first."
TENANCY = "Multi-tenancy is enabled: retention does not run, and nothing would be deleted."
NO_POLICY = "This container has no retention policy and there are no defaults: nothing would be deleted."
ONLY_WORKING = "This container has no retention policy and there are no defaults: only working memories past their age would be deleted."
NO_BASELINE = "Orphans have not been looked for in this container yet: the next run starts the clock."
IN_GRACE = "Orphans are not deleted yet: the first orphan_ttl_days since they were first looked for are not over."
ADMINISTRATORS_ONLY = "Only administrators (all_access) may trigger the memory retention job on demand."
BODY = "request [POST /_plugins/_ml/memory_containers/_retention/_execute] does not support having a body"
WIRE_REASONS = {Reason.AGE: "retention_days", Reason.COUNT: "max_count"}  # the others are ours
WIRE_TYPES = {MemoryType.SESSIONS: "sessions", MemoryType.LONG_TERM: "long_term", MemoryType.HISTORY: "history"}
SAID_OTHERWISE = {"retention_off", "multi_tenancy", "opted_out", "never_set"}


@dataclass(frozen=True, slots=True)
class Effective:
    """The policy that a run would go by, and where it comes from."""

    source: str  # "stored", "default" or "none"
    policy: RetentionPolicy | None


@endpoint(Scope.RETENTION_PREVIEW)
def dry_run(call: Call, cid: str) -> dict[str, Any]:
    missing = f"Failed to find memory container with the provided memory container id: {cid}"
    container = container_of(call.principal, cid, denied=MAY_NOT_USE, missing=missing)
    return preview(container, now=call.now)


@endpoint(Scope.RETENTION_PREVIEW)
def dry_run_all(call: Call) -> dict[str, Any]:
    """Of the containers that the token reaches; how many others there are is not told."""
    check_enabled(call.principal)
    check_tenant(call.principal)
    reached = visible_containers(call.principal).order_by("id")
    results = [preview(container, now=call.now) for container in reached[:MOST_CONTAINERS]]
    left_out = max(0, reached.count() - len(results))
    answer = {"results": results, "skipped_count": left_out, "truncated": left_out > 0}
    return {**answer, "warning": f"Only the first {MOST_CONTAINERS} containers are listed."} if left_out else answer


@endpoint(Scope.RETENTION_RUN)
def execute(call: Call) -> dict[str, Any]:
    check_enabled(call.principal)
    principal = call.principal
    if not principal.all_access or principal.containers is not None or (principal.tenant is not None and not principal.tenancy):
        raise forbidden(ADMINISTRATORS_ONLY)
    if call.document is not None:
        raise bad_argument(BODY)
    if why_off := _why_off():
        return _outcome("retention_disabled", why_off)
    try:
        schedules.run_now(nightly.KIND, actor=call.principal.actor, now=call.now)
    except AlreadyLive as refusal:
        under_way = nightly.under_way_as(refusal.job)
        numbers = {"job": under_way.job, "run": under_way.run}
        return {**_outcome("already_running", f"The memory retention job is running already. {under_way.text}"), **numbers}
    return _outcome("triggered", "The memory retention job has been triggered.")


def preview(container: Container, *, now: datetime) -> dict[str, Any]:
    """Return what the next run would delete in the container, in numbers, with the first victims by id."""
    effective, off = effective_policy(container), _why_off()
    counted = {name: _nothing() for name in (*WIRE_TYPES.values(), "working_memory")}
    judged_by = effective.policy or (housekeeping.NO_POLICY if housekeeping.acts_without_a_policy(container) else None)
    said = [off] if off else [] if effective.policy else [ONLY_WORKING if judged_by else NO_POLICY]
    skipped = 0
    first: tuple[RunVictim, ...] = ()
    if judged_by and not off:
        estimate = planning.estimate(container, judged_by, now=now)
        totals = estimate.totals
        counted |= {name: _counted(totals.of(kind), judged_by, kind) for kind, name in WIRE_TYPES.items()}
        counted["working_memory"] = _working(totals)
        skipped, first = totals.exempt_past_limit, estimate.first
        said += [warned.text for warned in estimate.warnings if warned.code not in SAID_OTHERWISE] + _about_orphans(
            container, judged_by, now=now
        )
    return {
        "container_id": documents.wire_id(container),
        "evaluated_at": documents.millis(now),
        "policy_source": effective.source,
        "effective_policy": _effective_document(effective.policy),
        "would_delete": counted,
        "total_would_delete": sum(each["total"] for each in counted.values()),
        "pinned_would_skip": skipped,
        "warnings": said,
        "first_victims": [_victim(victim) for victim in first],
    }


def effective_policy(container: Container) -> Effective:
    """Return what is in force, or what the defaults would put in force."""
    if container.policy_state == PolicyState.NEVER_SET:
        policy = defaults.default_policy()
        return Effective("default" if policy else "none", policy)
    policy = policies.current(container)
    return Effective("stored" if policy else "none", policy)


def _why_off() -> str | None:
    if configuration.value("multi_tenancy_enabled"):
        return TENANCY
    return None if configuration.value("retention_enabled") else SWITCHED_OFF


def _nothing() -> dict[str, Any]:
    return {"total": 0, "by_reason": {}}


def _counted(totals: TypeTotals, policy: RetentionPolicy, kind: MemoryType) -> dict[str, Any]:
    """The two reasons of OpenSearch are there wherever the type has a rule, ours where they take something."""
    expected: Mapping[str, int] = dict.fromkeys(WIRE_REASONS.values(), 0) if kind in policy.rules else {}
    if kind is MemoryType.HISTORY:
        expected = {name: 0 for name in expected if name != "retention_days"}
    found = {WIRE_REASONS.get(reason, reason.value): number for reason, number in totals.by_reason.items()}
    return {"total": totals.total, "by_reason": {**expected, **found}}


def _working(totals: Totals) -> dict[str, Any]:
    """Working memories that go with their sessions, and those that go without one. What names nobody is only named where some goes."""
    alone = {reason.value: number for reason, number in totals.of(MemoryType.WORKING).by_reason.items()}
    by_reason = {"cascade": totals.of(MemoryType.SESSIONS).working, "ttl": 0, "orphan": 0, **alone}
    return {"total": sum(by_reason.values()), "by_reason": by_reason}


def _effective_document(policy: RetentionPolicy | None) -> dict[str, Any]:
    days = configuration.value("working_memory_ttl_days")
    rules: Any = to_document(policy)["retention"] if policy else {}
    found = {WIRE_TYPES[MemoryType(name)]: rule for name, rule in rules.items()}
    return {**found, "working_memory_ttl_days": days} if days > 0 else found


def _about_orphans(container: Container, policy: RetentionPolicy, *, now: datetime) -> list[str]:
    terms = housekeeping.terms_of(container, policy)
    if terms.orphan_age is None or terms.grace_is_over(now):
        return []
    return [IN_GRACE if terms.baseline_at else NO_BASELINE]


def _victim(victim: RunVictim) -> dict[str, Any]:
    reasons = [WIRE_REASONS.get(reason, reason.value) for reason in Reason.from_bits(victim.reasons)]
    return {"type": ItemKind(victim.item_kind).memory_type.value, "uid": str(victim.item_uid), "reasons": reasons}


def _outcome(status: str, message: str) -> dict[str, Any]:
    triggered = status == "triggered"
    return {"acknowledged": triggered, "triggered": triggered, "status": status, "message": message}
