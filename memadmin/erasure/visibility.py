"""Whose requests a person may see: those of which every container is one of theirs."""

from __future__ import annotations

from uuid import UUID

from django.shortcuts import get_object_or_404

from memadmin.access.actors import actor_of
from memadmin.access.models import Person
from memadmin.access.principals import Principal
from memadmin.access.visibility import Viewer, visible_containers
from memadmin.erasure.models import ErasureRequest, RequestItem, RequestSubject
from memadmin.erasure.querysets import RequestQuerySet


def visible_requests(viewer: Viewer) -> RequestQuerySet:
    """Return the requests that this viewer may know of. One that names no container is for those who see all, and for who opened it."""
    if _sees_all_containers(viewer):
        return ErasureRequest.objects.all()
    seen = visible_containers(viewer).values("pk")
    elsewhere_user = RequestSubject.objects.filter(container__isnull=False).exclude(container__in=seen).values("request")
    elsewhere_item = RequestItem.objects.exclude(container__in=seen).values("request")
    named = RequestSubject.objects.filter(container__in=seen).values("request")
    listed = RequestItem.objects.filter(container__in=seen).values("request")
    rows = ErasureRequest.objects.filter(pk__in=named) | ErasureRequest.objects.filter(pk__in=listed)
    rows |= ErasureRequest.objects.filter(opened_by=_actor(viewer))
    return rows.exclude(pk__in=elsewhere_user).exclude(pk__in=elsewhere_item)


def _sees_all_containers(viewer: Viewer) -> bool:
    if isinstance(viewer, Principal):
        return viewer.sees_everything
    return isinstance(viewer, Person) and viewer.is_active and viewer.all_containers


def _actor(viewer: Viewer) -> str:
    if isinstance(viewer, Principal):
        return viewer.actor
    return actor_of(viewer) if isinstance(viewer, Person) and viewer.is_active else ""  # nobody's


def get_request(viewer: Viewer, uid: UUID) -> ErasureRequest:
    """Return the request, or 404: one that the viewer may not see does not exist for them."""
    request: ErasureRequest = get_object_or_404(visible_requests(viewer), uid=uid)
    return request
