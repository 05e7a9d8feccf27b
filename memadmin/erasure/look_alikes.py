"""Ids that look like the one a request names. They are listed for a person to tick and never taken along: two ids are two people.

Two looks: `canonical_id` is stored with every user (case, width, accents composed or not, blanks at the ends). `skeleton` is looser
(characters nobody sees, letters of other scripts that look the same, marks, `+tag`, leading zeros) and goes through all ids.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from uuid import UUID

from memadmin.erasure.models import Origin
from memadmin.store.identity import canonical_id
from memadmin.store.models import Subject

PARTS_AFTER = "#:/@|"  # signs behind which agents put a visit or thread: `pat#visit1` may be a part of `pat`, `patricia` is not
_LOOK = str.maketrans(
    "аеорсухіјѕһԁԛԝӏαοριυντκıłøđħ‐‑‒–—−﹣－",
    "aeopcyxijshdqwlaopiuvtkilodh--------",
)
NAMES_NOBODY = "This names nobody: ids are compared whole, and there are no wildcards."
_TAG = re.compile(r"\+[^@]*(?=@)")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A user that a request names or may mean."""

    container_id: int
    container_uid: UUID
    container_name: str
    subject_id: int
    subject_uid: UUID
    user_id: str
    origin: Origin
    memories: int  # sessions, working and long-term memories, history and archive, to tell an empty account from a full one


def skeleton(user_id: str) -> str:
    """Return a form in which ids are equal that a person may take for one another. For showing them, never for matching."""
    plain = unicodedata.normalize("NFKD", canonical_id(user_id)).translate(_LOOK)
    shown = "".join(char for char in plain if not unicodedata.combining(char) and unicodedata.category(char)[0] not in "CZ")
    name, sign, domain = _TAG.sub("", shown).rpartition("@")
    shown = f"{name.replace('.', '')}{sign}{domain}"
    return shown.lstrip("0") or shown if shown.isdecimal() else shown


def candidates(user_id: str, container_ids: Collection[int]) -> list[Candidate]:
    """Return the users of these containers with exactly this id, and those that look like it, the exact ones first."""
    if not container_ids:
        return []
    return sorted(_all(container_ids, user_id), key=lambda each: (list(Origin).index(each.origin), each.user_id, each.container_id))


def _all(container_ids: Collection[int], user_id: str) -> Iterator[Candidate]:
    canonical, look = canonical_id(user_id), skeleton(user_id)
    rows = Subject.objects.attributed().filter(container_id__in=list(container_ids)).values_list("id", "user_id", "canonical_id")
    origins = ((key, _origin(user_id, canonical, look, other, stored)) for key, other, stored in rows.iterator())
    wanted = {key: origin for key, origin in origins if origin}
    for subject in Subject.objects.filter(pk__in=wanted).select_related("container"):
        yield candidate_of(subject, wanted[subject.pk])


def candidate_of(subject: Subject, origin: Origin) -> Candidate:
    stored = subject.sessions + subject.working + subject.long_term + subject.history + subject.archived
    container = subject.container
    return Candidate(container.pk, container.uid, container.name, subject.pk, subject.uid, subject.user_id or "", origin, stored)


def _origin(user_id: str, canonical: str, look: str, other: str, other_canonical: str) -> Origin | None:
    if other == user_id:
        return Origin.GIVEN
    if other_canonical == canonical or (look and skeleton(other) == look):
        return Origin.LOOK_ALIKE
    is_part = bool(user_id) and other.startswith(user_id) and other[len(user_id)] in PARTS_AFTER
    return Origin.PART if is_part else None


def says_whom(user_id: str) -> bool:
    """False for an id that would be a wildcard or nothing elsewhere. Such a user can still be named by uid, from their page."""
    return bool(user_id.strip()) and not set(user_id.strip()) <= set("*%_?.") and any(_visible(user_id))


def _visible(text: Iterable[str]) -> Iterator[bool]:
    return (unicodedata.category(char)[0] not in "CZ" for char in text)
