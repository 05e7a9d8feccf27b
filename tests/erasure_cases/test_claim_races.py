"""Verbs at the same moment, in threads with connections of their own. The numbers are those of the list of attacks and faults."""

import pytest

from memadmin.access.actors import actor_of
from memadmin.erasure import approving, workflow
from memadmin.erasure.models import Approval, ErasureRequest, Status
from memadmin.erasure.moves import WrongState
from tests.erasure.workflow import a_word, approved, officer, opened, submitted
from tests.factories import NOON, a_memory, days, make_container, store
from tests.jobs.at_once import at_once, outcomes_at_once

pytestmark = pytest.mark.django_db(transaction=True)
ROUNDS = 100


def fresh() -> ErasureRequest:
    return ErasureRequest.objects.get()


def test_57_of_a_withdrawal_and_a_claim_at_the_same_moment_exactly_one_wins_a_hundred_times():
    store(make_container(), a_memory(), now=NOON - days(1))
    request = opened()
    approved(request)
    actor, digest, wins = actor_of(officer()), request.manifest_digest, {Status.CANCELLED: 0, Status.EXECUTING: 0}

    for _ in range(ROUNDS):
        ErasureRequest.objects.update(state=Status.APPROVED, manifest_digest=digest, attempt=0, outcome_code="", execution_token="")
        Approval.objects.update(voided_at=None, void_code="", used_at=None)
        withdrawn, claimed = outcomes_at_once(
            lambda: workflow.cancel(fresh(), actor=actor, now=NOON), lambda: approving.claim(fresh(), actor="job/erasure", now=NOON)
        )
        lost = [each for each in (withdrawn, claimed) if isinstance(each, Exception)]
        state = Status(fresh().state)
        assert [type(each) for each in lost] == [WrongState]
        assert state == (Status.EXECUTING if lost[0] is withdrawn else Status.CANCELLED)
        assert fresh().attempt == (state == Status.EXECUTING)
        wins[state] += 1

    assert sum(wins.values()) == ROUNDS


def test_51_approved_from_two_tabs_at_the_same_moment_it_is_approved_once():
    store(make_container(), a_memory(), now=NOON - days(1))
    request = opened()
    submitted(request)
    word, actor = a_word(request), actor_of(officer("carl"))

    outcomes = outcomes_at_once(*[lambda: approving.approve(fresh(), word, actor=actor, now=NOON)] * 4)

    assert [type(each) for each in outcomes if isinstance(each, Exception)] == [WrongState] * 3
    assert request.approvals.count() == 1


def test_51_claimed_by_two_workers_at_the_same_moment_it_is_executed_once():
    store(make_container(), a_memory(), now=NOON - days(1))
    request = opened()
    approved(request)

    def claim() -> str:
        try:
            return approving.claim(fresh(), actor="job/erasure", now=NOON).token
        except WrongState:
            return ""

    tokens = at_once(claim, times=3)

    assert len([each for each in tokens if each]) == 1
    assert fresh().attempt == 1
