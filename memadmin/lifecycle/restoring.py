"""Back out of the archive: one item, ticked ones, or all that a user has there. A whole run's worth is started by `runs.restore_run`.

Invariant: a copy and the item that comes out of it change places in one transaction, so that a killed worker leaves each item once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import F, Max, QuerySet

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.audit.models import Outcome
from memadmin.jobs import lease, queue
from memadmin.jobs.models import Job
from memadmin.jobs.registry import JobView, Step
from memadmin.lifecycle import embedding
from memadmin.lifecycle.models import Run
from memadmin.store import archive, arrivals
from memadmin.store.archive import Restored
from memadmin.store.models import Archived, Subject
from memadmin.store.querysets import still_restorable

RESTORE_USER = "restore-user"
AT_ONCE = 500
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class NothingToRestore(Exception):
    """The archive has nothing (any more) that was asked for."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What of a user's archive is to come back: all that was in it up to one copy, of those evicted at `since` or later."""

    user: UUID
    until: int
    since: datetime | None = None

    @property
    def target(self) -> str:
        """The wish as a job carries it: names and numbers of ours."""
        micros = 0 if self.since is None else (self.since - EPOCH) // timedelta(microseconds=1)
        return f"users/{self.user}/{self.until}/{micros}"

    @classmethod
    def of_target(cls, target: str) -> Wanted:
        _, user, until, micros = target.split("/")
        since = None if micros == "0" else EPOCH + timedelta(microseconds=int(micros))
        return cls(user=UUID(user), until=int(until), since=since)


def copies_of(subject: Subject, *, since: datetime | None = None) -> QuerySet[Archived]:
    """Return what of a user lies in the archive, evicted then or later."""
    copies: QuerySet[Archived] = Archived.objects.filter(subject=subject)
    return copies if since is None else copies.filter(archived_at__gte=since)


@transaction.atomic
def restore_items(copies: Sequence[Archived], *, actor: str, now: datetime) -> Restored:
    """Put archived items of one user back, as they were; each has its entry in the log.

    An item that is in the store again is left as it is there, and its copy stays. So does one whose last day has passed.
    """
    restorable = [copy for copy in copies if copy.expires_at is None or copy.expires_at >= now]
    restored = archive.restore([copy.pk for copy in restorable], actor=actor, now=now)
    _note_refused(restored, restorable, actor=actor, now=now)
    _count_in_runs(restored, restorable)
    left = set(Archived.objects.filter(pk__in=[copy.pk for copy in restorable]).values_list("pk", flat=True))
    for copy in restorable:
        if copy.pk not in left:
            target = f"{copy.item_type}/{copy.uid}"
            log.append(Action.ITEM_RESTORED, actor=actor, target=target, at=now, counts={"run": copy.run_number or 0})
    if restored.items:
        embedding.request(actor=actor, now=now)
    return restored


def restore_item(copy: Archived, *, actor: str, now: datetime) -> Restored:
    """Like `restore_items`, of one."""
    return restore_items([copy], actor=actor, now=now)


@transaction.atomic
def restore_user(subject: Subject, *, since: datetime | None = None, actor: str, now: datetime) -> Job:
    """Have a worker put back what the archive has of a user at this moment. Raises NothingToRestore."""
    return _asked_back(subject, queue.enqueue, since=since, actor=actor, now=now)


@transaction.atomic
def restore_user_reserved(subject: Subject, *, since: datetime | None = None, actor: str, now: datetime) -> Job:
    """Like `restore_user`, for a command that goes on with `run_inline`."""
    return _asked_back(subject, queue.reserve, since=since, actor=actor, now=now)


def _asked_back(subject: Subject, queued: Callable[..., Job], *, since: datetime | None, actor: str, now: datetime) -> Job:
    job = queued(RESTORE_USER, target=_wanted(subject, since=since, now=now).target, requested_by=actor, now=now)
    log.append(Action.USER_RESTORE_ASKED, actor=actor, target=f"users/{subject.uid}", at=now)
    return job


def _wanted(subject: Subject, *, since: datetime | None, now: datetime) -> Wanted:
    last = copies_of(subject, since=since).filter(still_restorable(now)).aggregate(last=Max("pk"))["last"]
    if last is None:
        raise NothingToRestore("The archive has nothing of this user that can be restored.")
    return Wanted(user=subject.uid, until=last, since=since)


def under_way(subject: Subject) -> Job | None:
    """Return the job that is putting back what a user had in the archive."""
    return Job.objects.live().filter(kind=RESTORE_USER, target__startswith=f"users/{subject.uid}/").first()


def latest(subject: Subject) -> Job | None:
    """Return the last job that put back, or puts back, what a user had in the archive."""
    return Job.objects.filter(kind=RESTORE_USER, target__startswith=f"users/{subject.uid}/").order_by("-pk").first()


def user_step(job: JobView, *, now: datetime) -> Step:
    """Some of what a user has in the archive."""
    wanted = Wanted.of_target(job.target)
    subject = Subject.objects.filter(uid=wanted.user).first()
    if subject is None:  # erased meanwhile
        step = Step(finished=True, cursor=job.cursor, done=job.done)
    else:
        step = put_back(job, copies_of(subject, since=wanted.since).filter(pk__lte=wanted.until), now=now)
    if step.finished:
        with transaction.atomic():
            _log_user(wanted, job, now=now)
    return step


def user_failed(job: JobView, *, error_code: str, now: datetime) -> None:
    """Write down what had come back when the job was given up."""
    _log_user(Wanted.of_target(job.target), job, outcome=Outcome.FAILED, now=now)


def found_by(job: JobView) -> dict[str, int]:
    """Return how much a job that puts back has come to by now, and where it goes on."""
    return {"items": 0, "already_there": 0, "refused": 0, **(job.cursor or {})}


def put_back(job: JobView, copies: QuerySet[Archived], *, now: datetime) -> Step:
    """Put the next copies back. What this does and a repetition of it come to the same: what is back has left the archive."""
    at = {"last": 0, **found_by(job)}
    waiting = copies.filter(still_restorable(now), pk__gt=at["last"]).order_by("id")
    page = list(waiting[:AT_ONCE])
    if not page:
        return Step(finished=True, cursor=at, done=at["items"], total=job.total)
    total = waiting.count() if job.total is None else job.total
    with transaction.atomic():
        restored = archive.restore([copy.pk for copy in page], actor=job.requested_by, now=now)
        _note_refused(restored, page, actor=job.requested_by, now=now)
        _count_in_runs(restored, page)
        if restored.items:
            embedding.request(actor=job.requested_by, now=now)
        for name in ("items", "already_there", "refused"):
            at[name] += getattr(restored, name)
        step = Step(finished=False, cursor={**at, "last": page[-1].pk}, done=at["items"], total=total)
        return lease.save(job, step, now=now)  # so that the numbers of a worker that is killed after this are right


def _note_refused(restored: Restored, copies: Sequence[Archived], *, actor: str, now: datetime) -> None:
    """The copies of one restoring are of one container: they are of one user, or of one run."""
    if restored.refused:
        arrivals.note_refused(copies[0].container, arrivals.Way.ARCHIVE, restored.refused, actor=actor, now=now)


def _count_in_runs(restored: Restored, copies: Sequence[Archived]) -> None:
    """A run says how much of it has come back, whichever way."""
    containers = {copy.container_id for copy in copies}
    for number, items in restored.by_run.items():
        Run.objects.filter(pk=number, container_id__in=containers).update(restored=F("restored") + items)


def _log_user(wanted: Wanted, job: JobView, *, now: datetime, outcome: Outcome = Outcome.OK) -> None:
    found = found_by(job)
    counts = {name: found[name] for name in ("items", "already_there", "refused")}
    log.append(Action.USER_RESTORED, actor=job.requested_by, target=f"users/{wanted.user}", at=now, counts=counts, outcome=outcome)
