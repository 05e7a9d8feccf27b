"""Plain functions for tests of retention runs."""

from datetime import datetime
from typing import Any

from memadmin.jobs.runner import run_inline
from memadmin.lifecycle import planning, runs
from memadmin.lifecycle.models import Run, RunVictim, Trigger
from memadmin.store import configuration, holding, pinning, policies
from memadmin.store.check import check
from memadmin.store.holding import Placing
from memadmin.store.models import Container, LongTermMemory, PolicyVersion, Session
from memadmin.store.models.holds import Authority, HoldKind
from retention.policy import RetentionPolicy, parse_policy
from tests.factories import ACTOR, NOON, a_memory, days, make_container, make_session, store


def switch_on(now: datetime = NOON) -> None:
    configuration.change("retention_enabled", True, actor=ACTOR, now=now)


def a_policy(*, relevance: dict[str, Any] | None = None, **rules: dict[str, Any]) -> RetentionPolicy:
    """The keywords are sessions, long_term and history; limits of `relevance` that are not given are off."""
    off = {"ttl_days": None, "max_records": None, "max_tokens": None}
    retention = {name.replace("_", "-"): rule for name, rule in rules.items()}
    return parse_policy({"retention": retention, "relevance": relevance and {**off, **relevance}})


def publish(container: Container, policy: RetentionPolicy, *, now: datetime = NOON) -> PolicyVersion:
    standing = policies.published(container)
    return policies.publish(container, policy, actor=ACTOR, now=now, base=standing.number if standing else None)


def governed(policy: RetentionPolicy, name: str = "pharmacy", **details: Any) -> Container:
    """A container with retention on and the policy in force."""
    switch_on()
    container = make_container(name)
    Container.objects.filter(pk=container.pk).update(**details)
    container.refresh_from_db()
    publish(container, policy)
    return container


def preview(container: Container, policy: RetentionPolicy | None = None, *, now: datetime = NOON, **details: Any) -> Run:
    version = policies.published(container)
    judged = policy or policies.current(container)
    assert judged is not None
    given = {"trigger": Trigger.PREVIEW, "actor": ACTOR, "policy_version": version if policy is None else None, **details}
    return planning.plan(container, judged, now=now, **given)


def carry_out(run: Run, *, now: datetime = NOON) -> Run:
    """Start a preview and run it to its end in this process."""
    run_inline(runs.start_reserved(run, actor=ACTOR, now=now), now=now)
    run.refresh_from_db()
    return run


def named_by(run: Run) -> set[int]:
    return set(RunVictim.objects.of_run(run).values_list("item_id", flat=True))


def memories_of(container: Container) -> set[int]:
    return set(LongTermMemory.objects.of_container(container).values_list("id", flat=True))


def fill(container: Container, number: int, *, user_id: str = "ann", **details: Any) -> None:
    """Store memories of ages 1, 2, 3 … days."""
    store(container, *(a_memory(f"fact {n}", user_id=user_id, days_old=n + 1, **details) for n in range(number)))


def assert_store_agrees() -> None:
    assert list(check()) == []


def keep(memory: LongTermMemory, *, now: datetime = NOON) -> None:
    """Place a hold on a memory."""
    what = Placing(kind=HoldKind.HOLD, authority=Authority.COURT_ORDER, reason="asked for by a court", review_on=(now + days(90)).date())
    holding.place(memory, what, actor=ACTOR, now=now)


def pin(memory: LongTermMemory, *, now: datetime = NOON) -> None:
    pinning.pin(memory, reason="allergy", actor=ACTOR, now=now)


def make_old_session(container: Container, name: str = "old", *, messages: int = 0, age: int = 100) -> Session:
    session = make_session(container, name, messages=messages)
    Session.objects.filter(pk=session.pk).update(last_updated_at=NOON - days(age))
    session.refresh_from_db()
    return session
