"""What to call a container beside others: those whose names look alike bear the beginning of their uid, on forms and in lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from uuid import UUID

from memadmin.access.models import Person
from memadmin.access.visibility import visible_containers
from memadmin.pages.text import shown_id
from memadmin.store.identity import canonical_id
from memadmin.store.models import Container

SHOWN = 60  # characters
Alike = Counter[str]


def names_told_apart(containers: Iterable[Container]) -> dict[int, str]:
    """Return what to call each container among these, by its key."""
    listed = list(containers)
    alike = _counted(container.name for container in listed)
    return {container.pk: name_among(alike, container.name, container.uid) for container in listed}


def alike_for(person: Person) -> Alike:
    """Return how many of the containers that the person sees have a name that looks the same."""
    return _counted(visible_containers(person).values_list("name", flat=True))


def name_among(alike: Alike, name: str, uid: UUID) -> str:
    shown = shown_id(name, SHOWN)
    return f"{shown} ({str(uid)[:8]}…)" if alike[canonical_id(shown)] > 1 else shown


def _counted(names: Iterable[str]) -> Alike:
    """Count them as they are shown: what is cut off tells nobody apart."""
    return Counter(canonical_id(shown_id(name, SHOWN)) for name in names)
