"""The lines, counts and digest of a manifest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any

from django.db.models import Count, Max, Min, Sum

from memadmin.erasure.models import Decision, Line, LocationAnswer, Manifest, ManifestItem, ScopeItem
from memadmin.erasure.models.manifests import Answer
from memadmin.store import locations, planner, refs
from memadmin.store.bulk import insert_rows
from memadmin.store.locations import Act, Found, ItemClass

SAMPLE = 5
LONG = 5_000  # things; shorter ones are gone through in no time, whatever the database believes
HELD = "hold"


def add(
    manifest: Manifest, location: str, found: Sequence[Found], *, item_class: ItemClass, act: Act, reason: str = "", waits: bool = False
) -> None:
    """Add things found in one place. What is held stays, whatever its class."""
    if not found:
        return
    insert_rows(
        ManifestItem,
        [
            {
                "manifest_id": manifest.pk,
                "location": location,
                "row_key": json.dumps(thing.key),
                "row_uid": thing.uid,
                "item_ref": ref,
                "subject_id": thing.subject_id,
                "item_class": item_class.value,
                "act": Act.WITHHOLD.value if thing.held else act.value,
                "reason_code": HELD if thing.held else reason,
                "review_on": None,
                "decision": Decision.WAITING.value if waits and not thing.held else Decision.NONE.value,
                "decided_by": "",
                "survivors": None,
                "size": thing.size,
                "dated_at": thing.at,
                "matched": thing.matched,
                "matched_at": thing.matched_at,
            }
            for thing, ref in zip(found, refs.item_refs(thing.uid for thing in found), strict=True)
        ],
    )


def look_anew(manifest: Manifest) -> None:
    """Let the database know how many things are in a long manifest before it is asked about them."""
    if manifest.items.order_by()[LONG : LONG + 1].exists():
        planner.look_anew(ManifestItem, ScopeItem)


def tell(manifest: Manifest, answers: Mapping[str, Answer], *, error_code: str = "") -> None:
    """Note what places said in the end."""
    LocationAnswer.objects.bulk_create(
        [LocationAnswer(manifest=manifest, location=name, answer=answer, error_code=error_code) for name, answer in answers.items()],
        update_conflicts=True,
        unique_fields=["manifest", "location"],
        update_fields=["answer", "error_code"],
    )


OPEN = "open"  # in place of a digest, while decisions are being made


def sum_up(manifest: Manifest) -> None:
    """Count the lines and compute the digest: after a discovery, and when the manifest is frozen."""
    recount(manifest)
    manifest.digest = digest_of(manifest)
    manifest.save(update_fields=["digest"])


def recount(manifest: Manifest) -> None:
    """Count the lines anew after a decision. The digest goes: it is computed when the manifest is frozen."""
    manifest.lines.all().delete()
    groups = manifest.items.values("location", "item_class", "act").annotate(
        n=Count("id"), characters=Sum("size"), oldest=Min("dated_at"), newest=Max("dated_at")
    )
    Line.objects.bulk_create([_line(manifest, group) for group in groups.order_by("location", "item_class", "act")])
    manifest.items_total = sum(manifest.lines.values_list("items", flat=True))
    manifest.undecided = manifest.items.filter(decision=Decision.WAITING).count()
    manifest.digest = OPEN
    manifest.save(update_fields=["items_total", "undecided", "digest"])


def _line(manifest: Manifest, group: Mapping[str, Any]) -> Line:
    of_group = {name: group[name] for name in ("location", "item_class", "act")}
    sample = manifest.items.filter(**of_group).order_by("id").values_list("row_uid", flat=True)[:SAMPLE]
    return Line(
        manifest=manifest,
        items=group["n"],
        size=group["characters"] or 0,
        oldest_at=group["oldest"],
        newest_at=group["newest"],
        sample=[str(uid) for uid in sample],
        **of_group,
    )


def digest_of(manifest: Manifest) -> str:
    """Return the SHA-256 of the manifest: one line of canonical JSON for each thing, by place and name.

    A line is [place, uid, class, act, reason code, review day]. Whatever changes what will be done changes the digest.
    """
    digest = hashlib.sha256()
    head = [str(manifest.request.uid), manifest.number, sorted(manifest.limits), sorted(manifest.answers.values_list("location", "answer"))]
    digest.update(_canonical(head))
    columns = ("row_uid", "item_class", "act", "reason_code", "review_on")
    for location in sorted(set(manifest.lines.values_list("location", flat=True))):
        rows = manifest.items.filter(location=location).order_by("row_uid").values_list(*columns)
        for uid, item_class, act, reason, review_on in rows.iterator(chunk_size=5_000):
            digest.update(_canonical([location, str(uid), item_class, act, reason, _day(review_on)]))
    return digest.hexdigest()


def order_of(names: Iterable[str]) -> list[str]:
    """Return places in the order of an erasure; one that is not registered any more comes last."""
    known = {location.name: place for place, location in enumerate(locations.in_order())}
    return sorted(names, key=lambda name: (known.get(name, len(known)), name))


def _canonical(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"


def _day(day: date | None) -> str:
    return day.isoformat() if day else ""
