"""What tests of the second person share: people who may approve, and a run that is large."""

from memadmin.access.actors import actor_of
from memadmin.access.roles import Role
from memadmin.lifecycle import approval, runs
from memadmin.lifecycle.models import Run, RunState
from memadmin.store import policies
from memadmin.store.models import Container
from retention.policy import RetentionPolicy
from tests.factories import ACTOR, NOON
from tests.people import make_person
from tests.runs import a_policy, fill, preview, switch_on

KEEP_THREE = a_policy(relevance={"max_records": 3})


def two_approvers() -> tuple[str, str]:
    """Store two policy editors and return them as actors."""
    return actor_of(make_person(Role.POLICY_EDITOR, login="pia")), actor_of(make_person(Role.POLICY_EDITOR, login="piet"))


def published_by(actor: str, container: Container, policy: RetentionPolicy = KEEP_THREE) -> None:
    switch_on()
    standing = policies.published(container)
    policies.publish(container, policy, actor=actor, now=NOON, base=standing.number if standing else None)


def a_large_run(container: Container, *, by: str = ACTOR, memories: int = 10) -> Run:
    """A run over most memories of the container, started by this actor."""
    fill(container, memories)
    run = preview(container, actor=by)
    runs.start(run, actor=by, now=NOON)
    run.refresh_from_db()
    assert run.state == RunState.WAITING
    return run


def digest_of(run: Run) -> str:
    return str(run.approval.digest)


def approved(run: Run, *, by: str) -> Run:
    approval.approve(run, digest=digest_of(run), actor=by, now=NOON)
    run.refresh_from_db()
    return run
