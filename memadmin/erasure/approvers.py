"""Who may approve a request that waits for it, told before anybody tries."""

from __future__ import annotations

from django.conf import settings

from memadmin.access.actors import actor_of
from memadmin.access.humans import human_of
from memadmin.access.models import Person
from memadmin.access.rights import Right
from memadmin.erasure.models import ErasureRequest
from memadmin.erasure.visibility import visible_requests


def approvers(request: ErasureRequest) -> list[Person]:
    """Return the people whose approval would count, by login. Nobody's does for a drill: its own actor approves it."""
    if request.drill_id is not None:
        return []
    involved = involved_in(request)
    able = [person for person in Person.objects.filter(is_active=True).order_by("login", "pk") if person.may(Right.ERASURE_APPROVE)]
    return [person for person in able if human_of(actor_of(person)) not in involved and _sees(person, request)]


def involved_in(request: ErasureRequest) -> set[str]:
    """Return the humans who had a hand in the request, and so may not approve it as well; none where one person may do everything."""
    if settings.ERASURE_SINGLE_OPERATOR:
        return set()
    return {human_of(actor) for actor in (request.opened_by, request.reviewed_by, request.identity_by) if actor}


def _sees(person: Person, request: ErasureRequest) -> bool:
    return person.all_containers or visible_requests(person).filter(pk=request.pk).exists()
