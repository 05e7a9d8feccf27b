"""The jobs of this app: carry out one run, the night, putting back what a run evicted, and letting a model read what was said."""

from __future__ import annotations

from datetime import datetime

from memadmin.audit import checkpoints, log
from memadmin.audit.models import Outcome
from memadmin.jobs import queue
from memadmin.jobs.parts import BROKEN
from memadmin.jobs.registry import JobView, Step, every_minute, job, scheduled
from memadmin.lifecycle import embedding, nightly, publication, restoring, runs, sealing, verifying
from memadmin.lifecycle.inference import jobs as inference
from memadmin.lifecycle.inference import rederiving, summaries
from memadmin.lifecycle.models import Run
from memadmin.lifecycle.nightly import Place
from memadmin.lifecycle.stepping import advance, help_along
from memadmin.store import dropping, suppression
from memadmin.store.models import Archived


def run_failed(job: JobView, *, error_code: str, now: datetime) -> None:
    runs.give_up(runs.of_target(job.target), error_code=error_code, actor=f"job/{job.kind}", now=now)


def night_failed(job: JobView, *, error_code: str, now: datetime) -> None:
    number = Place.read(job.cursor).run
    if number is not None:
        runs.give_up(Run.objects.get(pk=number), error_code=error_code, actor=nightly.ACTOR, now=now)


@job(runs.RUN, on_failed=run_failed)
def carry_out(job: JobView, *, now: datetime) -> Step:
    """One batch of one run."""
    run = runs.of_target(job.target)
    ended = advance(run, actor=job.requested_by, now=now)
    run.refresh_from_db()
    return Step(finished=ended, done=run.cursor, total=run.planned)


@job(runs.BESIDE)
def beside(job: JobView, *, now: datetime) -> Step:
    """One batch of a large run that another job carries out."""
    run = runs.of_target(job.target)
    ended = help_along(run, now=now)
    run.refresh_from_db()
    return Step(finished=ended, done=run.cursor, total=run.planned)


@scheduled("nightly", default_cron="0 3 * * *", interval="retention_job_interval_hours")
@job("nightly", on_failed=night_failed)
def tonight(job: JobView, *, now: datetime) -> Step:
    """One step of the night: plan a container, evict a batch, or drop what has had its day."""
    before = Place.read(job.cursor)
    raising = BROKEN if job.attempt < job.max_attempts else ()  # of the last attempt the others must not suffer
    after = nightly.next_place(before, now=now, raising=raising)
    if after is None:
        reached = nightly.wind_up(before, now=now)
        return Step(finished=reached is None, cursor=(reached or before).as_cursor(), done=before.done)
    return Step(finished=False, cursor=after.as_cursor(), done=after.done)


@every_minute
def publish_policies(*, now: datetime) -> None:
    """Find the policies whose time has come."""
    publication.start_due(now=now)


@job(publication.PUBLISH)
def publish_policy(job: JobView, *, now: datetime) -> Step:
    """One scheduled policy."""
    return publication.publish_step(job, now=now)


def restore_failed(job: JobView, *, error_code: str, now: datetime) -> None:
    found = restoring.found_by(job)
    runs.note_restored(runs.of_target(job.target), found, actor=job.requested_by, now=now, outcome=Outcome.FAILED)


@job(runs.RESTORE, on_failed=restore_failed)
def put_back(job: JobView, *, now: datetime) -> Step:
    """Some of what a run evicted. A copy of an item that is in the store again stays in the archive."""
    run = runs.of_target(job.target)
    step = restoring.put_back(job, Archived.objects.of_run(run.number, run.container), now=now)
    if step.finished:
        runs.note_restored(run, step.cursor, actor=job.requested_by, now=now)
    return step


@job(restoring.RESTORE_USER, on_failed=restoring.user_failed)
def put_back_of_user(job: JobView, *, now: datetime) -> Step:
    """Some of what the archive has of one user."""
    return restoring.user_step(job, now=now)


@job(inference.INFER, on_failed=inference.inference_failed)
def infer(job: JobView, *, now: datetime) -> Step:
    """One strategy on one working memory."""
    return inference.infer_step(job, now=now)


@every_minute
def start_sealing(*, now: datetime) -> None:
    """Queue the job when entries wait to be sealed or anchored."""
    if sealing.is_due(now=now):
        queue.enqueue(sealing.SEAL, requested_by=sealing.ACTOR, now=now)


@job(sealing.SEAL)
def seal(job: JobView, *, now: datetime) -> Step:
    """Some of the entries that wait; when none are left, a checkpoint outside the database."""
    sealed = log.seal(actor=sealing.ACTOR, now=now)
    if not sealed and checkpoints.is_due(now=now):
        checkpoints.write(actor=sealing.ACTOR, now=now)
    return Step(finished=not sealed, done=job.done + sealed)


@scheduled(sealing.HOURLY, default_cron="7 * * * *")
@job(sealing.HOURLY)
def account(job: JobView, *, now: datetime) -> Step:
    """Note what containers hold by now, and let go of what is suppressed or set aside no longer."""
    changed = sealing.summarise(now=now)
    suppression.let_lapse(actor=sealing.HOURLY_ACTOR, now=now)
    dropped = dropping.drop_expired(actor=sealing.HOURLY_ACTOR, now=now)
    return Step(finished=not dropped, done=job.done + changed + dropped)


@scheduled(verifying.VERIFY, default_cron="40 4 * * *")
@job(verifying.VERIFY, on_failed=verifying.failed)
def verify_audit(job: JobView, *, now: datetime) -> Step:
    """A stretch of the audit log."""
    return verifying.step(job, now=now)


@every_minute
def start_embedding(*, now: datetime) -> None:
    """Find the memories that an import brought."""
    embedding.request_if_any_waits(now=now)


@job(embedding.EMBED)
def embed(job: JobView, *, now: datetime) -> Step:
    """Vectors for some of the memories that wait for one."""
    return embedding.embed_step(job)


@job(summaries.SUMMARISE)
def summarise(job: JobView, *, now: datetime) -> Step:
    """A summary for one session."""
    return summaries.summarise_step(job, now=now)


@scheduled(rederiving.REDERIVE, default_cron="37 * * * *")
@job(rederiving.REDERIVE)
def rederive(job: JobView, *, now: datetime) -> Step:
    """One summary that lost what it said with an erased person."""
    return rederiving.rederive_step(job, now=now)
