"""What the page of a request says of the thing that is asked for, of what comes next, and of what has to be noted before."""

from __future__ import annotations

from typing import Any

from django.db.models import Count

from memadmin.access.models import Person
from memadmin.erasure import deciding
from memadmin.erasure.models import ErasureRequest, ExportState, Kind, Manifest, Status
from memadmin.pages.erasure.shown_items import NOUNS, shown_items

NAMED = 5  # items of a request that are shown one by one
LOOKING = "Every place is asked what it holds. Looking changes nothing."
ERASING = (
    "Decide about what belongs to others, then freeze the list. A second person approves it as it stands, and nothing is erased before."
)
AHEAD: dict[str, str] = {
    Kind.RECTIFY: "Correct what is wrong, item by item, then answer with a letter. "
    "Afterwards the wrong words are looked for in everything else of this person.",
    Kind.RESTRICT: "With your answer the users that are ticked are restricted: nothing of them is recalled, summarised, evicted or changed "
    "until somebody lifts it.",
    Kind.ACCESS: "Make the export, hand out its link, then answer with a letter. Nothing is changed or erased.",
    Kind.STORAGE_LIMIT: "Nobody has asked for this but the clock. Look through what was found, withhold what has to stay, then freeze the "
    "list. A second person approves it as it stands, and nothing is erased before.",
}
EXPORTING: dict[str, str] = {
    ExportState.READY: "The export is made. Make its link and hand it out, then answer with a letter.",
    ExportState.HANDED_OUT: "The link is made, and nobody has used it yet. Answer with a letter once the person has the link.",
    ExportState.COLLECTED: "The person has taken the export. Answer with a letter.",
}


def told_of(person: Person, found: ErasureRequest) -> dict[str, Any]:
    """Return what the page of a request says of what it is about, and of what comes next."""
    return {"ahead": what_comes_next(found), **named_in(person, found)}


def what_comes_next(found: ErasureRequest) -> str:
    """Say in one sentence what is done now, and what follows from it; "" where the page says it by itself."""
    if found.state == Status.RECEIVED:
        return LOOKING
    if found.state != Status.REVIEW:
        return ""
    newest = found.access_exports.order_by("-pk").values_list("state", flat=True).first() if found.kind == Kind.ACCESS else None
    return EXPORTING.get(newest or "", AHEAD.get(found.kind, ERASING))


def missing_before(found: ErasureRequest, manifest: Manifest | None, *, undecided: bool, not_asked: bool) -> list[str]:
    """Return, in sentences, what has to be done before a request in review goes on: its freezing, or its answer."""
    if found.state != Status.REVIEW or manifest is None or manifest.completed_at is None:
        return []
    return deciding.missing_of(found, manifest, undecided=undecided, not_asked=not_asked)


def named_in(person: Person, found: ErasureRequest) -> dict[str, Any]:
    """Return the items that a request names: the first ones as the person may see them, and how many there are of which kind."""
    if Kind(found.kind).is_about_people:
        return {}
    rows = found.items.filter(item_uid__isnull=False).order_by("id").values_list("item_type", "item_uid")[:NAMED]
    first = [(item_type, uid) for item_type, uid in rows if uid is not None]
    counted = list(found.items.order_by("item_type").values_list("item_type").annotate(Count("pk")))
    shown = shown_items(person, first)
    return {
        "named": [shown[each] for each in first if each in shown],
        "named_total": sum(number for _, number in counted),
        "named_kinds": [(NOUNS.get(item_type, item_type), number) for item_type, number in counted],
    }
