"""The containers this person, or the bearer of this token, may see. Every page, export and API reads through here and nowhere else.

Visibility says which rows; `Person.may`, or the scopes of the token, say what may be done with them. Both are asked.
"""

from __future__ import annotations

from typing import Any, TypeVar
from uuid import UUID

from django.contrib.auth.models import AnonymousUser
from django.db.models import QuerySet
from django.shortcuts import get_object_or_404

from memadmin.access.models import Person
from memadmin.access.principals import Principal
from memadmin.store.models import Archived, Container, Feedback, HistoryEntry, LongTermMemory, Pin, Session, Subject, WorkingMemory
from memadmin.store.querysets import (
    ContainerQuerySet,
    HistoryQuerySet,
    LongTermQuerySet,
    PinQuerySet,
    SessionQuerySet,
    SubjectQuerySet,
    WorkingQuerySet,
)

Viewer = Person | AnonymousUser | Principal
Rows = TypeVar("Rows", bound="QuerySet[Any]")


def visible_containers(person: Viewer) -> ContainerQuerySet:
    """Return the containers this viewer may see; none for somebody who is not signed in or no longer active."""
    if isinstance(person, Principal):
        return _usable(person)
    if not isinstance(person, Person) or not person.is_active:
        return Container.objects.none()
    if person.all_containers:
        return Container.objects.all()
    listed = Person.containers.through.objects.filter(person=person.pk).values("container")
    return Container.objects.filter(pk__in=listed)


def _usable(principal: Principal) -> ContainerQuerySet:
    """Say `principals.may_use` of every container at once, which a test holds equal."""
    rows: ContainerQuerySet = Container.objects.standing()
    if principal.tenancy and principal.tenant is None:
        return rows.none()
    if principal.tenant is not None:
        rows = rows.filter(tenant=principal.tenant)
    if principal.containers is not None:
        return rows.filter(pk__in=principal.containers)
    return rows if principal.all_access else rows.open_to(principal.name, principal.backend_roles)


def within(person: Viewer, rows: Rows, *, field: str = "container") -> Rows:
    """Narrow any rows with a container to those the viewer may see. For a person this costs no query of its own."""
    if isinstance(person, Principal):
        return rows.filter(**{f"{field}__in": visible_containers(person)})
    if not isinstance(person, Person) or not person.is_active:
        return rows.none()
    if person.all_containers:
        return rows
    return rows.filter(**{f"{field}__in": visible_containers(person)})


def visible_subjects(person: Viewer) -> SubjectQuerySet:
    return within(person, Subject.objects.all())


def visible_sessions(person: Viewer) -> SessionQuerySet:
    return within(person, Session.objects.all())


def visible_working(person: Viewer) -> WorkingQuerySet:
    return within(person, WorkingMemory.objects.all())


def visible_memories(person: Viewer) -> LongTermQuerySet:
    """Long-term memories; whether their text may be shown is `Right.MEMORY_READ_TEXT`."""
    return within(person, LongTermMemory.objects.all())


def visible_history(person: Viewer) -> HistoryQuerySet:
    return within(person, HistoryEntry.objects.all())


def visible_archive(person: Viewer) -> QuerySet[Archived]:
    return within(person, Archived.objects.all())


def visible_pins(person: Viewer) -> PinQuerySet:
    """Pins; whether their reasons may be shown is `Right.MEMORY_READ_TEXT`."""
    return within(person, Pin.objects.all())


def visible_feedback(person: Viewer) -> QuerySet[Feedback]:
    """Reports on what agents forgot; whether their words may be shown is `Right.MEMORY_READ_TEXT`."""
    return within(person, Feedback.objects.all())


def get_container(person: Viewer, uid: UUID) -> Container:
    """Return the container, or 404: one that the person may not see does not exist for them."""
    container: Container = get_object_or_404(visible_containers(person), uid=uid)
    return container
