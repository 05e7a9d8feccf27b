"""What a second person does with a large run: approve the very list that they saw, or refuse it with a reason."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta

from django.db import transaction

from memadmin.access.actors import actor_of
from memadmin.access.humans import human_of, human_with
from memadmin.access.models import Person
from memadmin.audit.actions import Action
from memadmin.audit.models import Outcome
from memadmin.jobs import queue
from memadmin.jobs.models import Job
from memadmin.lifecycle.causes import people_behind, person_behind
from memadmin.lifecycle.models import Approval, Run, RunState, Verdict
from memadmin.lifecycle.moves import move, record, target_of
from memadmin.lifecycle.runs import RUN, cancel
from memadmin.lifecycle.second_person import holders, list_digest
from memadmin.lifecycle.starting import may_start
from memadmin.lifecycle.states import WrongState
from memadmin.store import configuration
from memadmin.store.models import Container
from memadmin.store.text import clean

LONGEST_REASON = 2_000


class NotSecondPerson(Exception):
    """This actor cannot decide about the run; the message says why, and who can."""


class OtherList(Exception):
    """The list of victims is not the one that was seen."""


class NoReason(ValueError):
    """A refusal needs a reason."""


@transaction.atomic
def approve(run: Run, *, digest: str, actor: str, now: datetime) -> Job:
    """Let a worker carry out a run that waits. `digest` is that of the list that was seen.

    Raises WrongState, NotSecondPerson, OtherList, and CannotStart where nothing could be carried out now.
    """
    Container.objects.select_for_update().get(pk=run.container_id)
    approval = _open_question(run, actor=actor, now=now)
    may_start(run, now=now)
    if not digest == approval.digest == list_digest(run):
        raise OtherList(f"The list of run {run.number} is not the one that you saw. Look at it again.")
    expires_at = now + timedelta(hours=configuration.value("approval_valid_hours"))
    decided = {"verdict": Verdict.APPROVED, "decided_by": actor, "decided_at": now, "expires_at": expires_at}
    Approval.objects.filter(pk=approval.pk).update(**decided)
    move(run, RunState.WAITING, to=RunState.QUEUED, started_at=now)
    payload = {"digest": digest, "asked_by": approval.asked_by}
    record(Action.RUN_APPROVED, run, actor=actor, now=now, counts={"planned": run.planned}, payload=payload)
    record(Action.RUN_STARTED, run, actor=actor, now=now, counts={"planned": run.planned}, payload={"policy_digest": run.policy_digest})
    return queue.enqueue(RUN, target=target_of(run), requested_by=actor, now=now)


@transaction.atomic
def refuse(run: Run, *, reason: str, actor: str, now: datetime) -> None:
    """End a run that waits; nothing is evicted. Raises WrongState, NotSecondPerson, NoReason."""
    reason = clean(reason.strip())
    if not reason or len(reason) > LONGEST_REASON:
        raise NoReason(f"Say why in 1 to {LONGEST_REASON:,} characters: whoever changes the policy reads it.")
    approval = _open_question(run, actor=actor, now=now)
    decided = {"verdict": Verdict.REFUSED, "decided_by": actor, "decided_at": now, "reason": reason}
    Approval.objects.filter(pk=approval.pk).update(**decided)
    move(run, RunState.WAITING, to=RunState.REFUSED, finished_at=now)
    payload = {"digest": approval.digest, "reason": reason}
    record(Action.RUN_REFUSED, run, actor=actor, now=now, counts={"planned": run.planned}, outcome=Outcome.REFUSED, payload=payload)


def may_decide(run: Run, actor: str) -> None:
    """Raise NotSecondPerson where this actor cannot be the second person of the run."""
    person, causing = person_behind(actor), people_behind(run)
    if not person:
        raise NotSecondPerson("A second person is wanted here, and nobody knows who made this token. Sign in to approve or refuse.")
    if person not in {actor_of(holder) for holder in holders(run.container)}:
        raise NotSecondPerson("Whoever you are here, or whoever made this token, may not approve runs of this container.")
    if human_of(person) in causing:
        who = "Somebody else has to." if deciding(run) else "Nobody else may either: give the right to one more person."
        raise NotSecondPerson(f"You caused run {run.number} yourself, so you cannot be its second person. {who}")


def deciding(run: Run) -> list[Person]:
    """Return who can be the second person of the run."""
    causing = people_behind(run)
    return [holder for holder in holders(run.container) if human_with(holder) not in causing]


def expire_one(*, actor: str, now: datetime) -> bool:
    """Call off a run that has waited too long for a second person, and return True when there is none."""
    over = Approval.objects.filter(verdict=Verdict.ASKED, run__state=RunState.WAITING, expires_at__lt=now).order_by("run").first()
    if over is None:
        return True
    with suppress(WrongState):  # somebody decides this very moment
        cancel(over.run, actor=actor, now=now, cause="approval_expired")
    return False


def _open_question(run: Run, *, actor: str, now: datetime) -> Approval:
    """Return the question that a run waits with; locks the run, as whoever moves one does. Raises WrongState and NotSecondPerson."""
    run.refresh_from_db(from_queryset=Run.objects.select_for_update(of=("self",)))
    approval = Approval.objects.filter(run=run).first()
    if run.state != RunState.WAITING or approval is None:
        replaced = run.outcome.get("superseded_by")
        said = f"Run {run.number} was replaced by run {replaced}." if replaced else f"Run {run.number} is {run.get_state_display()}."
        raise WrongState(said)
    if approval.expires_at < now:
        raise WrongState(f"Run {run.number} has waited too long for a second person. Make a new preview.")
    may_decide(run, actor)
    return approval
