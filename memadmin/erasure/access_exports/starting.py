"""Before an export is made: what must hold. And calling one off."""

from __future__ import annotations

from datetime import datetime, timedelta

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.erasure.access_exports import ending, sealing
from memadmin.erasure.intake import target_of
from memadmin.erasure.models import AccessExport, ErasureRequest, ExportState, ExportSubject, Kind, Manifest, Status
from memadmin.erasure.models.access_exports import LIVE
from memadmin.erasure.models.manifests import Answer
from memadmin.erasure.moves import Refusal, WrongState
from memadmin.erasure.refusals import audited
from memadmin.erasure.scope import scope_of
from memadmin.jobs import queue
from memadmin.store.models import Mode, Subject

BUILD = "erasure.access_export"
NEWEST = timedelta(days=7)  # how old a search may be: what came since is not in the export
STATES = {Kind.ACCESS: {Status.REVIEW}, Kind.SUBJECT: {Status.REVIEW, Status.AWAITING_APPROVAL}}


class NotExportable(Refusal):
    """No export can be made for this request (yet); the message says what is missing."""

    code = "not_exportable"


class NoExport(Refusal):
    """The request has no export that this could be done with."""

    code = "no_export"


def is_for(request: ErasureRequest) -> bool:
    """Whether requests of this kind can have an export: those of a person for access, and before everything of them is erased."""
    return request.kind in STATES


def what_is_missing(request: ErasureRequest, manifest: Manifest | None, *, now: datetime) -> list[str]:
    """Return, in sentences, what keeps an export from being made."""
    if not is_for(request):
        return ["An export is made for a request of a person for access, or before everything of the person is erased."]
    if request.state not in STATES[Kind(request.kind)] or manifest is None or manifest.completed_at is None:
        return [f"The request is {Status(request.state).label}: an export is made while somebody reviews what was found."]
    subjects = Subject.objects.filter(pk__in=scope_of(manifest).subjects)
    sentences = {
        "Note first how it is known that the request comes from the person.": request.identity_level is None,
        "Decide which of the ids that look alike are meant.": request.subjects.filter(ticked=None).exists(),
        "A place could not be asked. Search again once it answers.": manifest.answers.filter(
            answer__in=[Answer.UNREACHABLE, Answer.FAILED]
        ).exists(),
        "The search is more than a week old. Search again: what came since would not be in it.": now - manifest.cutoff_at > NEWEST,
        "No container knows this person: there is nothing to export.": not subjects.exists(),
        "The person is being erased: nothing is handed out any more.": subjects.filter(suppressed=Mode.FENCE).exists(),
    }
    return [sentence for sentence, holds in sentences.items() if holds]


@audited(Action.ACCESS_EXPORT_STARTED)
def start(request: ErasureRequest, *, actor: str, now: datetime) -> AccessExport:
    """Queue the making of an export out of the request's manifest. One that is live is called off. Raises NotExportable."""
    locked = ErasureRequest.objects.select_for_update().get(pk=request.pk)
    manifest = locked.manifests.filter(number=locked.manifest_number or 0).first()
    missing = what_is_missing(locked, manifest, now=now)
    if missing or manifest is None:
        raise NotExportable(" ".join(missing))
    for live in locked.access_exports.filter(state__in=LIVE):
        ending.end(live, ExportState.WITHDRAWN, actor=actor, now=now, reason_code="replaced")
    export = AccessExport(request=locked, manifest_number=manifest.number, started_by=actor, started_at=now)
    export.wrapped_key = sealing.wrap_for_server(sealing.new_key(), export.uid)
    export.save(force_insert=True)
    subjects = Subject.objects.filter(pk__in=scope_of(manifest).subjects).order_by("pk")
    ExportSubject.objects.bulk_create([ExportSubject(export=export, subject=subject) for subject in subjects])
    queue.enqueue(BUILD, target=str(export), requested_by=actor, now=now)
    log.append(Action.ACCESS_EXPORT_STARTED, actor=actor, target=target_of(request), at=now, counts={"manifest": manifest.number})
    return export


@audited(Action.ACCESS_EXPORT_WITHDRAWN)
def withdraw(request: ErasureRequest, *, actor: str, now: datetime) -> None:
    """Call the request's live export off: its link opens nothing any more. Raises NoExport, WrongState."""
    live = live_of(request)
    if live is None:
        raise NoExport(f"Request {request.number} has no export that could be called off.")
    if not ending.end(live, ExportState.WITHDRAWN, actor=actor, now=now):
        raise WrongState("The export was collected or called off this moment.")


def live_of(request: ErasureRequest) -> AccessExport | None:
    """Return the export of a request that is being made, waits, or is handed out."""
    return request.access_exports.filter(state__in=LIVE).first()
