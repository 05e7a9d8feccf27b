"""The job that makes an export. Each step writes some pages of chapters, seals them, and saves them together with where it is.

After a kill at any place the step is done again, or not; nothing is in twice and nothing is missing. What is written is never on a disk
unsealed. An export that was called off meanwhile ends the job.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from django.db import transaction

from memadmin.erasure.access_exports import ending, finishing, sealing
from memadmin.erasure.access_exports.chapters import About, Chapter, chapters_of
from memadmin.erasure.access_exports.draft import Draft, Progress
from memadmin.erasure.access_exports.parts import write_part
from memadmin.erasure.models import AccessExport, ExportState, Manifest
from memadmin.jobs import lease
from memadmin.jobs.registry import JobView, Step

MOMENT = 0.5  # seconds of writing between two savings
ENOUGH = 4_000_000  # bytes of writing between two savings
ACTOR = "job/erasure.access_export"


class Gone(Exception):
    """What the export is made of, or the export itself, went while it was made."""


def export_of(target: str) -> AccessExport:
    """Return the export that a job is about. Raises AccessExport.DoesNotExist."""
    return AccessExport.objects.select_related("request").get(uid=UUID(target.rpartition("/")[2]))


def step(job: JobView, *, now: datetime) -> Step:
    """Write for a moment. The last step reads everything back, counts it, and makes the export ready."""
    export = export_of(job.target)
    if export.state != ExportState.BUILDING:
        return Step(finished=True, cursor=None, done=job.done)
    manifest = Manifest.objects.select_related("request").filter(request=export.request, number=export.manifest_number).first()
    if manifest is None:
        raise Gone
    about, progress = About(manifest), Progress.read(job.cursor)
    chapters = chapters_of(about)
    total = manifest.items_total
    if progress.chapter >= len(chapters):
        finishing.finish(export, about, progress, actor=ACTOR, now=now)
        return Step(finished=True, cursor=None, done=total, total=total)
    draft = Draft(progress)
    _write(about, draft, chapters)
    numbers = draft.number_parts()
    step = Step(finished=False, cursor=progress.as_cursor(), done=_done(progress), total=total)
    with transaction.atomic():
        _save(export, draft, numbers)
        return lease.save(job, step, now=now)


def failed(job: JobView, *, error_code: str, now: datetime) -> None:
    """Say that the export could not be made; what was written of it goes."""
    ending.end(export_of(job.target), ExportState.FAILED, actor=ACTOR, now=now, reason_code=error_code)


def _write(about: About, draft: Draft, chapters: list[Chapter]) -> None:
    progress, until = draft.progress, time.monotonic() + MOMENT
    while progress.chapter < len(chapters) and draft.size < ENOUGH and time.monotonic() < until:
        progress.after = chapters[progress.chapter].write(about, draft, progress.after)
        progress.chapter += progress.after is None


def _save(export: AccessExport, draft: Draft, numbers: Mapping[str, int]) -> None:
    """Raises Gone for an export that was called off meanwhile: it must not get parts any more."""
    live = AccessExport.objects.select_for_update().filter(pk=export.pk, state=ExportState.BUILDING).first()
    if live is None:
        raise Gone
    key = sealing.unwrap_by_server(bytes(live.wrapped_key or b""), live.uid)
    for file, texts in draft.texts.items():
        write_part(live, file, numbers[file], b"".join(texts), key)


def _done(progress: Progress) -> int:
    return sum(progress.included.values()) + sum(progress.left_out.values())
