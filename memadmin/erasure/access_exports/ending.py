"""The end of an export. Invariant: an export that has ended has no key, and its parts go with it.

One that was collected keeps its parts while they stream out, at most an hour: nobody has their key but the process that sends them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models.functions import Now

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.erasure.intake import target_of
from memadmin.erasure.models import AccessExport, ErasureRequest, ExportPart, ExportState, ExportSubject, Manifest, ManifestItem, Status
from memadmin.erasure.models.access_exports import LIVE
from memadmin.store.locations import Act

SENDING = timedelta(hours=1)  # the longest that a download may take
ENDED_WITH_REQUEST = (Status.REFUSED, Status.CANCELLED)
CHANGING = (Act.DELETE, Act.REDACT, Act.REDERIVE, Act.UNLINK)
PLACE = "access_exports.copies"
ACTOR = "job/erasure.access_export"
ACTIONS = {
    ExportState.EXPIRED: Action.ACCESS_EXPORT_EXPIRED,
    ExportState.WITHDRAWN: Action.ACCESS_EXPORT_WITHDRAWN,
    ExportState.FAILED: Action.ACCESS_EXPORT_FAILED,
}


@transaction.atomic
def end(export: AccessExport, state: ExportState, *, actor: str, now: datetime, reason_code: str = "") -> bool:
    """End a live export, and return whether it was one. Its parts and its key go."""
    live = AccessExport.objects.filter(pk=export.pk, state__in=LIVE)
    ended = live.update(state=state, ended_at=now, wrapped_key=None, code_digest="", error_code=reason_code)
    if ended:
        drop_parts([export.pk])
        target = target_of(export.request)
        log.append(ACTIONS[state], actor=actor, target=target, at=now, reason_code=reason_code.lower()[:64])
    return bool(ended)


@transaction.atomic
def drop_parts(exports: Collection[int]) -> int:
    """Remove what exports say, and of whom, and return how many users that names."""
    ExportPart.objects.filter(export__in=exports)._raw_delete(transaction.get_connection().alias)
    return ExportSubject.objects.filter(export__in=exports)._raw_delete(transaction.get_connection().alias)


def end_old(*, now: datetime) -> None:
    """End what has expired or whose request was refused or withdrawn, and drop what a broken download has left."""
    for export in AccessExport.objects.filter(state__in=LIVE, expires_at__lte=now).select_related("request").order_by("pk"):
        end(export, ExportState.EXPIRED, actor=ACTOR, now=now)
    left = AccessExport.objects.filter(state__in=LIVE, request__state__in=ENDED_WITH_REQUEST).select_related("request")
    for export in left.order_by("pk"):
        end(export, ExportState.WITHDRAWN, actor=ACTOR, now=now, reason_code="request_ended")
    sent = ExportSubject.objects.filter(export__state=ExportState.COLLECTED, export__ended_at__lte=now - SENDING)
    drop_parts(set(sent.values_list("export", flat=True)))


def erase_copies(links: Sequence[int]) -> int:
    """Erase the exports that these rows of `ExportSubject` belong to, whole, and return how many of the rows went."""
    exports = set(ExportSubject.objects.filter(pk__in=links).values_list("export", flat=True))
    return _erase(exports)


def erase_with(request: ErasureRequest, manifest: Manifest, *, actor: str, now: datetime) -> int:
    """Erase every export that could repeat what a request erases, and return how many. The caller has the transaction.

    Those are the person's, also made since the search, and those of other people of whom something was changed.
    """
    changed = ManifestItem.objects.filter(manifest=manifest, act__in=CHANGING, subject_id__isnull=False).order_by()
    meant = {key for key in request.subjects.filter(ticked=True).values_list("subject_id", flat=True) if key is not None}
    meant |= {key for key in changed.values_list("subject_id", flat=True).distinct() if key is not None}
    exports: set[int] = set()
    keys = sorted(meant)
    for at in range(0, len(keys), 500):
        exports |= set(ExportSubject.objects.filter(subject_id__in=keys[at : at + 500]).values_list("export", flat=True))
    if exports:
        _erase(exports)
        counts = {"items": len(exports)}
        log.note(Action.ERASURE_BATCH, actor=actor, target=target_of(request), at=now, reason_code=PLACE, counts=counts)
    return len(exports)


def _erase(exports: set[int]) -> int:
    """The entry in the log is the erasure's. What was collected stays so, without its parts."""
    live = AccessExport.objects.filter(pk__in=exports, state__in=LIVE)
    live.update(state=ExportState.ERASED, wrapped_key=None, code_digest="", ended_at=Now())
    return drop_parts(exports)
