"""What people here wrote (beside entries of the log, to policies, of containers) in the lines of a manifest, for who decides about it."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from memadmin.access.models import Person
from memadmin.access.rights import Right
from memadmin.audit.actions import Action
from memadmin.audit.models import AuditEntry
from memadmin.erasure import mentions
from memadmin.erasure.asking import looked_through, model_of, searched_in
from memadmin.erasure.models import ManifestItem
from memadmin.pages.auditing import closed_to
from memadmin.pages.erasure.shown_items import around
from memadmin.store import locations
from memadmin.store.locations import Act

LOG = "store.audit_payloads"


@dataclass(frozen=True, slots=True)
class ShownNote:
    """`of` says beside what it stands, where that is known; `address` is "" where the person may not see that."""

    said: str
    of: str = ""
    address: str = ""


def shown_notes(person: Person, items: Sequence[ManifestItem], *, words: Collection[str]) -> dict[int, ShownNote]:
    """Return what those of the lines say that people here wrote, by the key of the line. Nothing to who may not read memories."""
    if not person.may(Right.MEMORY_READ_TEXT):
        return {}
    by_place: dict[str, list[ManifestItem]] = {}
    for item in items:
        place = locations.LOCATIONS.get(item.location)
        if place is not None and place.act == Act.REDACT and place.find is not None:
            by_place.setdefault(item.location, []).append(item)
    return {key: note for name, part in by_place.items() for key, note in _of_place(person, name, part, words).items()}


def _of_place(person: Person, name: str, items: Sequence[ManifestItem], words: Collection[str]) -> dict[int, ShownNote]:
    place, keys = locations.get(name), {item.pk: row_key_of(item) for item in items}
    rows = model_of(place)._default_manager.filter(pk__in=list(keys.values())).values("pk", *looked_through(place))
    values = {row["pk"]: searched_in(place, row) for row in rows}
    said = {key: "\n".join(mentions.read(each)) for key, each in values.items()}
    passages = {item.pk: mentions.passage(values[keys[item.pk]], item.matched_at) for item in items if keys[item.pk] in values}
    entries = _entries(person, list(keys.values())) if name == LOG else {}
    return {
        pk: _note(person, around(said[key], [*words, passages[pk]] if passages[pk] else words), entries.get(key))
        for pk, key in keys.items()
        if key in said and (name != LOG or key in entries)
    }


def row_key_of(item: ManifestItem) -> Any:
    """Return the key of a row as the database gives it: one of several columns is a tuple."""
    key = json.loads(item.row_key)
    return tuple(key) if isinstance(key, list) else key


def _entries(person: Person, keys: Sequence[tuple[str, int]]) -> Mapping[Any, AuditEntry]:
    """Return the entries, but for those whose words the log does not show to this person either."""
    found: dict[Any, AuditEntry] = {}
    for stream in {stream for stream, _ in keys}:
        entries = list(AuditEntry.objects.filter(stream=stream, seq__in=[seq for each, seq in keys if each == stream]))
        closed = closed_to(person, entries)
        found |= {(stream, entry.seq): entry for entry in entries if entry.seq not in closed}
    return found


def _note(person: Person, said: str, entry: AuditEntry | None) -> ShownNote:
    if entry is None:
        return ShownNote(said)
    label = Action(entry.action).label if entry.action in Action.values else entry.action
    asked = urlencode({"stream": entry.stream, "action": entry.action, "target": entry.target})
    address = f"{reverse('pages:audit-list')}?{asked}" if person.may(Right.AUDIT_VIEW) else ""
    return ShownNote(said, f"{label}, {entry.at:%-d %b %Y}", address)
