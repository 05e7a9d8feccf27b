"""Looks that are killed between two savings: what they find is counted once, wherever that was."""

from typing import Any

import pytest

from memadmin.access.actors import actor_of
from memadmin.erasure import rechecking
from memadmin.erasure.execution import resuming, steps
from memadmin.erasure.models import ErasureRequest, Recheck, Status
from memadmin.erasure.planting import plant_person
from memadmin.erasure.verification import looking
from memadmin.jobs import lease, queue
from memadmin.jobs.models import Job
from memadmin.jobs.runner import run_inline
from tests.erasure.executing import CANARY, with_a_residue
from tests.erasure.workflow import officer
from tests.factories import ACTOR, NOON, a_memory, days, make_container, make_memory, store
from tests.holds import hold

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def request_with_residue(monkeypatch: Any) -> ErasureRequest:
    """Something is left in the archive, something else is withheld, and something withheld has gone."""
    container = make_container()
    plant_person(container, CANARY, actor=ACTOR, now=NOON)
    hold(make_memory(container, "kept for a court", user_id=CANARY))
    return with_a_residue(monkeypatch)


def counted(look: Any) -> tuple[Any, ...]:
    findings = sorted(look.findings.values_list("kind", "table", "column", "rows"))
    return (look.outcome, look.controls, look.controls_seen, look.tables, look.expected, look.found, findings)


def dying(monkeypatch: Any, module: Any, name: str, *, every: int, after: bool) -> None:
    """Let a function kill its process at every so many calls, three times: before its work, or after it. A fourth would end the job."""
    real, calls = getattr(module, name), [0]

    def dies(*arguments: Any, **details: Any) -> Any:
        calls[0] += 1
        dead = calls[0] % every == 0 and calls[0] <= 3 * every
        if dead and not after:
            raise KeyboardInterrupt
        done = real(*arguments, **details)
        if dead:
            raise KeyboardInterrupt
        return done

    monkeypatch.setattr(module, name, dies)


def to_the_end(job: Job) -> int:
    """Run a job again and again, as after each kill, until it has ended; return how often it was killed."""
    for killed in range(200):
        try:
            run_inline(job, now=NOON + days(killed / 24))
        except KeyboardInterrupt:
            continue
        return killed
    raise AssertionError("it never ends")


@pytest.mark.parametrize(
    ("module", "name", "every", "after"),
    [
        (looking, "step", 7, True),
        (looking, "step", 7, False),
        (looking, "save", 2, True),
        (looking, "save", 2, False),
        (steps, "_saved", 2, True),
    ],
)
def test_a_look_that_is_killed_between_two_savings_counts_as_one_that_was_not(
    request_with_residue: ErasureRequest, monkeypatch: Any, module: Any, name: str, every: int, after: bool
):
    request = request_with_residue
    whole = request.verifications.get()
    assert (request.state, whole.expected > 0, whole.findings.exists()) == (Status.RESIDUE_FOUND, True, True)
    monkeypatch.setattr(steps, "MOMENT", 0)  # each step is saved, however fast the machine is
    resuming.look_again(request, actor=actor_of(officer()), now=NOON)
    with monkeypatch.context() as killing:
        dying(killing, module, name, every=every, after=after)
        killed = to_the_end(Job.objects.get(kind=steps.EXECUTE, state="queued"))

    request.refresh_from_db()
    assert killed > 1
    assert (request.state, request.verifications.count()) == (Status.RESIDUE_FOUND, 2)
    assert counted(request.verifications.get(number=2)) == counted(whole)


@pytest.mark.parametrize("after", [True, False])
def test_a_nightly_look_that_is_killed_counts_what_it_looked_at_once(monkeypatch: Any, after: bool, request_with_residue: ErasureRequest):
    monkeypatch.setattr(rechecking, "USERS_AT_ONCE", 1)
    store(make_container("other"), *(a_memory(user_id=f"user{number}") for number in range(4)))

    def look() -> Recheck:
        job = queue.enqueue(rechecking.NIGHTLY, requested_by=ACTOR, now=NOON)
        to_the_end(job)
        return Recheck.objects.latest("pk")

    whole = look().looked_at
    with monkeypatch.context() as killing:
        dying(killing, lease, "checkpoint", every=2, after=after)
        again = look().looked_at

    assert (again, Recheck.objects.count()) == (whole, 2)
