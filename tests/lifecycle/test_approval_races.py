"""A run that waits for a second person, and two who want something else of it at the same moment."""

from functools import partial

import pytest

from memadmin.access.actors import actor_of
from memadmin.access.roles import Role
from memadmin.audit.models import AuditEntry
from memadmin.jobs.models import Job
from memadmin.lifecycle import approval, runs, second_person
from memadmin.lifecycle.models import Approval, Run, RunState, Verdict
from tests.factories import NOON, make_container
from tests.jobs.at_once import outcomes_at_once
from tests.lifecycle.second_people import a_large_run, digest_of, published_by, two_approvers
from tests.people import make_person
from tests.runs import preview

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def again(run):
    return Run.objects.select_related("container").get(pk=run.pk)


def kinds(outcomes):
    return sorted(type(outcome).__name__ for outcome in outcomes)


def waiting_run():
    pia, piet = two_approvers()
    container = make_container()
    published_by(pia, container)
    return a_large_run(container, by=pia), pia, piet


def test_of_two_who_approve_at_once_one_does():
    run, _, piet = waiting_run()
    cora, digest = actor_of(make_person(Role.COMPLIANCE, login="cora")), digest_of(run)

    outcomes = outcomes_at_once(
        lambda: approval.approve(again(run), digest=digest, actor=piet, now=NOON),
        lambda: approval.approve(again(run), digest=digest, actor=cora, now=NOON),
    )

    assert kinds(outcomes) == ["Job", "WrongState"]
    assert (AuditEntry.objects.filter(action="run.approved").count(), Job.objects.filter(kind=runs.RUN).count()) == (1, 1)


def test_of_an_approval_and_a_refusal_one_counts():
    run, _, piet = waiting_run()
    cora, digest = actor_of(make_person(Role.COMPLIANCE, login="cora")), digest_of(run)

    outcomes = outcomes_at_once(
        lambda: approval.approve(again(run), digest=digest, actor=piet, now=NOON),
        lambda: approval.refuse(again(run), reason="too few", actor=cora, now=NOON),
    )

    assert "WrongState" in kinds(outcomes)
    verdict, state = Approval.objects.get().verdict, Run.objects.get().state
    assert (verdict, state) in {(Verdict.APPROVED, RunState.QUEUED), (Verdict.REFUSED, RunState.REFUSED)}


def test_approving_against_calling_off_ends_the_run_and_leaves_no_job_behind():
    pia, piet = two_approvers()
    for turn in range(15):
        container = make_container(f"pharmacy {turn}")
        published_by(pia, container)
        run = a_large_run(container, by=pia)
        approve = partial(approval.approve, again(run), digest=digest_of(run), actor=piet, now=NOON)

        outcomes = outcomes_at_once(approve, partial(runs.cancel, again(run), actor=pia, now=NOON))

        assert kinds(outcomes) in (["Job", "NoneType"], ["NoneType", "WrongState"]), outcomes
        assert (again(run).state, Approval.objects.get(run=run).verdict) == (RunState.CANCELLED, Verdict.VOID)
        assert not Job.objects.live().filter(kind=runs.RUN).exists()


def test_approving_against_the_next_plan_approves_the_old_list_or_leaves_one_that_waits():
    run, pia, piet = waiting_run()
    digest, newer = digest_of(run), preview(run.container, actor=pia)

    outcomes = outcomes_at_once(
        lambda: approval.approve(again(run), digest=digest, actor=piet, now=NOON),
        lambda: runs.start(again(newer), actor=pia, now=NOON),
    )

    states = set(Run.objects.values_list("state", flat=True))
    assert states in ({RunState.QUEUED, RunState.READY}, {RunState.DISCARDED, RunState.WAITING}), kinds(outcomes)
    assert second_person.why_void(again(run), now=NOON) in {"", "approval_void"}
