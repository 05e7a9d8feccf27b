import pytest

from memadmin.jobs import queue
from memadmin.jobs.runner import run_inline
from memadmin.lifecycle import approval, nightly
from memadmin.lifecycle.approval import NotSecondPerson
from memadmin.lifecycle.models import Run, RunState, RunVictim, Trigger
from memadmin.lifecycle.states import WrongState
from memadmin.store import configuration
from tests.factories import ACTOR, NOON, days, make_container
from tests.lifecycle.second_people import KEEP_THREE, digest_of, two_approvers
from tests.runs import a_policy, fill, governed

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _no_naps(monkeypatch):
    monkeypatch.setattr(nightly.time, "sleep", lambda _: None)


def a_night(now=NOON):
    return run_inline(queue.reserve("nightly", requested_by="job/nightly", now=now), now=now)


def test_a_run_of_the_night_waits_and_the_next_container_goes_on():
    two_approvers()
    large, small = governed(KEEP_THREE, "large"), governed(a_policy(relevance={"max_records": 19}), "small")
    fill(large, 10)
    fill(small, 20)

    job = a_night()

    states = {run.container.name: (run.state, run.removed) for run in Run.objects.all()}
    assert states == {"large": (RunState.WAITING, 0), "small": (RunState.FINISHED, 1)}
    assert job.state == "done"


def test_who_ran_the_nights_work_by_hand_caused_its_large_run_until_a_night_plans_it_anew():
    pia, piet = two_approvers()
    fill(governed(KEEP_THREE), 10)
    run_inline(queue.reserve("nightly", requested_by=pia, now=NOON), now=NOON)
    by_hand = Run.objects.get()

    with pytest.raises(NotSecondPerson, match="You caused run"):
        approval.may_decide(by_hand, pia)
    approval.may_decide(by_hand, piet)
    a_night(NOON + days(1))
    approval.may_decide(Run.objects.waiting().get(), pia)


def test_the_next_night_replaces_the_run_that_waits_with_fresh_numbers():
    _, piet = two_approvers()
    container = governed(KEEP_THREE)
    fill(container, 10)
    a_night()
    old = Run.objects.get()
    seen = digest_of(old)
    fill(container, 2, user_id="bob")
    fill(container, 3, user_id="cyd")
    fill(container, 4, user_id="dan")

    a_night(NOON + days(1))

    old.refresh_from_db()
    new = Run.objects.waiting().get()
    assert (old.state, old.outcome["superseded_by"], RunVictim.objects.of_run(old).count()) == (RunState.DISCARDED, new.number, 0)
    assert (new.planned, new.trigger) == (8, Trigger.NIGHTLY)
    with pytest.raises(WrongState, match=f"replaced by run {new.number}"):
        approval.approve(old, digest=seen, actor=piet, now=NOON + days(1))


def test_a_night_that_is_no_longer_large_runs_and_drops_the_one_that_waited():
    two_approvers()
    container = governed(KEEP_THREE)
    fill(container, 4)
    a_night()
    configuration.change("approval_percent", 50, actor=ACTOR, now=NOON)

    a_night(NOON + days(1))

    assert list(Run.objects.order_by("number").values_list("state", "removed")) == [(RunState.DISCARDED, 0), (RunState.FINISHED, 1)]


def test_the_policy_of_default_settings_and_of_an_import_waits_like_any_other():
    two_approvers()
    container = make_container()
    fill(container, 10)
    configuration.change("default_long_term_max_count", 3, actor=ACTOR, now=NOON)
    configuration.change("retention_enabled", True, actor=ACTOR, now=NOON)

    a_night()

    run = Run.objects.get()
    assert (run.container, run.state, run.planned) == (container, RunState.WAITING, 7)
