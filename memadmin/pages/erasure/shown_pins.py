"""The pins that an erasure takes along: what each keeps, who wanted it kept, and why."""

from __future__ import annotations

from collections.abc import Sequence

from django.urls import reverse

from memadmin.access.actors import names_of
from memadmin.access.models import Person
from memadmin.access.rights import Right
from memadmin.access.visibility import visible_pins
from memadmin.erasure.deciding import PINS
from memadmin.erasure.models import ManifestItem
from memadmin.pages import text as texts
from memadmin.pages.erasure.shown_items import ADDRESSES, LENGTH, NOUNS, ShownItem
from memadmin.pages.erasure.shown_notes import row_key_of
from memadmin.store.models import ItemType


def shown_pins(person: Person, items: Sequence[ManifestItem]) -> dict[int, ShownItem]:
    """Return those of the lines that are pins which the person may see, by the key of the line."""
    keys = {item.pk: row_key_of(item) for item in items if item.location == PINS}
    pins = visible_pins(person).select_related("subject__container").in_bulk(list(keys.values())) if keys else {}
    names = names_of([pin.actor for pin in pins.values()])
    may_read = person.may(Right.MEMORY_READ_TEXT)
    found = {}
    for line, key in keys.items():
        if pin := pins.get(key):
            noun = NOUNS[pin.target_type]
            of = f"Keeps {noun} {str(pin.target_uid)[:8]}; pinned by {names[pin.actor]}, {pin.created_at:%-d %b %Y}"
            said = texts.excerpt(pin.reason, LENGTH) if may_read else ""
            name = f"{pin.target_type}/{pin.target_uid}"
            found[line] = ShownItem(name, noun, pin.subject, reverse(ADDRESSES[ItemType(pin.target_type)], args=[pin.target_uid]), said, of)
    return found
