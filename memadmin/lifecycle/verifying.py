"""The nightly look at the whole audit log, a stretch at a time, and what became of it.

Each night what came since the last good look is read, from the checkpoint that was written before it; once a week, and when somebody asks,
everything. How far a look is and what it found stands in a row of its own; that it ended is an entry of the log, which webhooks tell.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import connection, transaction

from memadmin.audit import anchors, checkpoints, log, stretches
from memadmin.audit.actions import Action
from memadmin.audit.findings import COULD_NOT_RUN, WORDS, Kind, Report, severity
from memadmin.audit.models import AuditEntry, AuditHead, Outcome, Stream, Verification
from memadmin.audit.stretches import Place
from memadmin.jobs import lease, queue
from memadmin.jobs.models import Job
from memadmin.jobs.registry import JobView, Step

VERIFY = "verify-audit"
WHOLE = "whole"  # the target of a job that reads everything
WHOLE_AFTER = timedelta(days=6, hours=12)
PUT_BACK = (Action.AUDIT_RESTORED, Action.LEDGER_REPLAYED, Action.LEDGER_LOSS_ACCEPTED)  # each accepts an older database
FINDINGS_KEPT = 20
LOOKS_KEPT = 400


@transaction.atomic
def ask(*, actor: str, now: datetime) -> Job:
    """Have a worker read the whole log; return the job, or the one that does so already."""
    job = queue.enqueue(VERIFY, target=WHOLE, requested_by=actor, now=now)
    log.append(Action.AUDIT_VERIFICATION_ASKED, actor=actor, target="audit/log", at=now)
    return job


def latest() -> Verification | None:
    """Return the last look that came to its end."""
    return Verification.objects.filter(ended_at__isnull=False).order_by("-pk").first()


def under_way() -> Job | None:
    return Job.objects.live().filter(kind=VERIFY).order_by("-pk").first()


def step(job: JobView, *, now: datetime) -> Step:
    """Begin a look, go on with it, or end it."""
    if job.cursor is None:
        return _begin(job, now=now)
    look = Verification.objects.get(pk=job.cursor["look"])
    if job.cursor["place"] is None:
        _end(look, actor=job.requested_by, now=now)
        return Step(finished=True, cursor=job.cursor, done=look.rows, total=job.total)
    report, place = stretches.advance(connection, Place.read(job.cursor["place"]), folder=checkpoints.folder())
    return _save(job, look, report, place, now=now)


def failed(job: JobView, *, error_code: str, now: datetime) -> None:
    """Say that a look could not be carried out: nothing is known about the log."""
    begun = Verification.objects.filter(pk=job.cursor["look"]).first() if job.cursor else None
    look = begun or Verification(whole=job.target == WHOLE, actor=job.requested_by, started_at=now)
    look.exit_code, look.ended_at = COULD_NOT_RUN, now
    look.save()
    _tell(look, actor=job.requested_by, code="could_not_run", now=now)


def _begin(job: JobView, *, now: datetime) -> Step:
    since = 0 if job.target == WHOLE else _begin_at(now)
    look = Verification(whole=not since, actor=job.requested_by, started_at=now, checkpoint=anchors.latest(checkpoints.folder()).lines)
    report, place = stretches.begin(connection, folder=checkpoints.folder(), since=since)
    return _save(job, look, report, place, now=now)


def _begin_at(now: datetime) -> int:
    """Return the checkpoint from which tonight's look may begin, 0 for the first row: after a week, after a look that was not good, and
    after an older database was put back, since nobody has read yet what it holds below its checkpoints.
    """
    ended = Verification.objects.filter(ended_at__isnull=False).order_by("-pk")
    last, last_whole = ended.first(), ended.filter(whole=True, exit_code=0).first()
    if last is None or last.exit_code or last_whole is None or last_whole.started_at <= now - WHOLE_AFTER:
        return 0
    return 0 if _put_back_since(last_whole) else last.checkpoint


def _put_back_since(look: Verification) -> bool:
    """Whether another database was accepted after a look: the row of the log that says so is newer than those that the look has read."""
    accepted = AuditEntry.objects.in_stream(Stream.GOVERNANCE).filter(action__in=PUT_BACK)
    seen = AuditEntry.objects.in_stream(Stream.GOVERNANCE).filter(action=Action.AUDIT_VERIFIED, at__gte=look.started_at).order_by("seq")
    first = seen.values_list("seq", flat=True).first()
    return first is None or accepted.filter(seq__gt=first).exists()


@transaction.atomic
def _save(job: JobView, look: Verification, report: Report, place: Place | None, *, now: datetime) -> Step:
    """Add what a stretch found, in the transaction of the job's place: a stretch that is repeated does not count twice."""
    look.rows += sum(part.rows for part in report.streams)
    look.redacted += report.redacted
    look.clock_went_back += report.clock_went_back
    for kind, number in report.found.items():
        look.found[str(int(kind))] = look.found.get(str(int(kind)), 0) + number
    said = [*look.first_findings, *(str(each) for each in report.worst_first[:FINDINGS_KEPT])]
    look.first_findings = sorted(said, key=severity)[:FINDINGS_KEPT]
    look.save()
    cursor = {"look": look.pk, "place": place and place.as_cursor()}
    total = sum(AuditHead.objects.values_list("seq", flat=True)) if look.whole else None
    return lease.save(job, Step(finished=False, cursor=cursor, done=look.rows, total=total), now=now)


@transaction.atomic
def _end(look: Verification, *, actor: str, now: datetime) -> None:
    look.exit_code = min(map(int, look.found), default=0)
    look.ended_at, look.unanchored = now, checkpoints.unanchored()
    look.save()
    keep = Verification.objects.order_by("-pk").values_list("pk", flat=True)[LOOKS_KEPT : LOOKS_KEPT + 1]
    Verification.objects.filter(pk__lte=next(iter(keep), 0)).delete()
    code = WORDS[Kind(look.exit_code)].replace(" ", "_") if look.exit_code else "whole"
    _tell(look, actor=actor, code=code, now=now)


def _tell(look: Verification, *, actor: str, code: str, now: datetime) -> None:
    counts = {"exit_code": look.exit_code or 0, "rows": look.rows, "findings": look.findings, "unanchored": look.unanchored}
    if look.clock_went_back:
        counts["clock_went_back"] = look.clock_went_back
    outcome = Outcome.FAILED if look.exit_code else Outcome.OK
    log.append(Action.AUDIT_VERIFIED, actor=actor, target="audit/log", at=now, outcome=outcome, reason_code=code, counts=counts)
