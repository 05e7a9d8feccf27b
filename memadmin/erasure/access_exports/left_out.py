"""What is not in an export, and why. The decision on each thing of the manifest is made here, and nowhere else.

In it is what is the person's own, or derived from that alone, whatever holds, restricts or withholds it *from an erasure*. Not in it is
what belongs to others: where it mentions the person, or was put together from what several people said. It is theirs (GDPR 15(4));
what the person contributed is in the export, as their own messages and memories.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.db.models import Q

from memadmin.erasure import manifests
from memadmin.erasure.access_exports.places import is_content
from memadmin.erasure.deciding import WITHHELD_FROM_ACCESS
from memadmin.erasure.models import Kind, ManifestItem
from memadmin.store import locations
from memadmin.store.locations import Act, ItemClass
from memadmin.store.models import HoldKind

MIXED, MENTION, NOT_ABOUT, COPY, OTHERS, HELD, GONE, NOTES = (
    "mixed_with_others",
    "mentioned_by_others",
    "not_about_you",
    "technical_copy",
    "belongs_to_others",
    "legal_hold",
    "gone_since",
    "notes_of_handling",
)
WORDS = {
    MIXED: "It was put together from what you and others said, and belongs to somebody else, whose rights it touches (GDPR 15(4)). "
    "What you said is in this export as your own messages and memories.",
    MENTION: "It belongs to somebody else and mentions you, or repeats some of your words. It would tell about them (GDPR 15(4)).",
    NOT_ABOUT: "A person looked at it and found that it is not about you.",
    COPY: "A technical copy or reference. What it is a copy of is in this export, or is about nobody.",
    OTHERS: "A link to something that belongs to somebody else (GDPR 15(4)).",
    HELD: "Something must be kept for a legal reason. What is kept is in this export; the note on the reason is not. Ask us about it.",
    GONE: "It has gone since the search: it was deleted, or its time was over.",
    NOTES: "A note of somebody who handles your requests. It can speak of others and of how we decide; ask us about it.",
    **WITHHELD_FROM_ACCESS,
}


def why_not(item: ManifestItem, kind: str, subjects: Collection[int]) -> str:
    """Return why a thing of the manifest is left out, "" for one that is in the export."""
    place = locations.LOCATIONS.get(item.location)
    if item.item_class == ItemClass.MIXED:
        return MIXED
    if item.item_class == ItemClass.MENTION:
        return NOT_ABOUT if item.act == Act.KEEP and item.reason_code == "not_about_them" else MENTION
    if place is None or not is_content(place):
        return COPY
    if item.subject_id is not None and item.subject_id not in subjects:
        return OTHERS
    is_withheld = kind == Kind.ACCESS and item.act == Act.WITHHOLD and item.reason_code != manifests.HELD
    return item.reason_code if is_withheld else ""


def withheld(kind: str) -> Q:
    """Return the condition that a reviewer withholds a thing from access, for queries."""
    return Q(act=Act.WITHHOLD) & ~Q(reason_code=manifests.HELD) if kind == Kind.ACCESS else Q(pk__in=[])


def why_not_row(record: dict[str, Any]) -> str:
    """Return why a row is left out that only its content tells about."""
    is_hold = record["place"] == "store.holds" and record.get("kind") == HoldKind.HOLD
    return HELD if is_hold else ""


def in_words(code: str) -> str:
    return WORDS.get(code, code)
