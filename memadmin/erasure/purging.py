"""The papers of requests that erased nothing: refused, withdrawn, nothing held, answered and closed.

Names, notes and letters go after a time for proof; what an erasure completed was purged in its last step. The request itself stays, with
codes and days: that something was asked and how it ended is proof, whom it was about is not.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.erasure.execution import physical
from memadmin.erasure.intake import target_of
from memadmin.erasure.models import ErasureRequest, Kind, ManifestItem, RequestItem, ScopeItem, Status
from memadmin.erasure.querysets import RequestQuerySet
from memadmin.jobs.registry import JobView, Step
from memadmin.store import configuration

PURGE = "erasure.purge"
ACTOR = f"job/{PURGE}"
AT_ONCE = 50
TABLES = (
    "erasure_requestsubject",
    "erasure_requestnote",
    "erasure_requestitem",
    "erasure_manifestitem",
    "erasure_scopeitem",
    "erasure_line",
    "erasure_correction",
    "erasure_wrongleft",
)
ERASING = [kind for kind in Kind if kind.erases]


def step(job: JobView, *, now: datetime) -> Step:
    """Some requests; the last step lets the database forget."""
    requests = list(due(now=now)[:AT_ONCE])
    for request in requests:
        purge(request, now=now)
    if not requests and job.done:
        physical.forget(TABLES)
    return Step(finished=not requests, done=job.done + len(requests))


def due(*, now: datetime) -> RequestQuerySet:
    """Return the requests that ended without an erasure, and whose time for proof is over."""
    before = now - timedelta(days=configuration.value("erasure_papers_days"))
    refused = Q(state__in=[Status.REFUSED, Status.CANCELLED, Status.NOTHING_HELD])
    answered = Q(state=Status.CLOSED) & ~Q(kind__in=ERASING)  # until then somebody still has to do something about those it names
    return ErasureRequest.objects.filter(refused | answered, purged_at=None, state_since__lt=before).order_by("pk")


@transaction.atomic
def purge(request: ErasureRequest, *, now: datetime) -> None:
    """Take names and words out of the papers of an ended request. What stays says in which containers it was, and no more."""
    notes = request.notes.count()
    request.subjects.update(user_id=None, subject_id=None, subject_uid=None)
    request.notes.all()._raw_delete(request.notes.db)
    RequestItem.objects.filter(request=request).update(item_uid=None, item_ref="", subject_id=0)
    request.corrections.all().delete()
    for manifest in request.manifests.all():
        ManifestItem.objects.filter(manifest=manifest)._raw_delete(request.notes.db)
        ScopeItem.objects.filter(manifest=manifest)._raw_delete(request.notes.db)
        manifest.lines.update(sample=[])
    ErasureRequest.objects.filter(pk=request.pk).update(purged_at=now)
    log.append(Action.ERASURE_PAPERS_PURGED, actor=ACTOR, target=target_of(request), at=now, counts={"notes": notes})
