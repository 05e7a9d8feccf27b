"""The end of the making: heads and ends of the files, their SHA-256, and whether everything is there."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.template.loader import render_to_string
from django.utils.safestring import mark_safe

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.erasure.access_exports import left_out, papers, sealing
from memadmin.erasure.access_exports.chapters import About
from memadmin.erasure.access_exports.circumstances import circumstances_of
from memadmin.erasure.access_exports.draft import DATA, FIRST_PAGE, MANIFEST, Progress, page_name
from memadmin.erasure.access_exports.parts import read_parts, write_part
from memadmin.erasure.access_exports.records import plain
from memadmin.erasure.intake import target_of
from memadmin.erasure.models import AccessExport, ExportState
from memadmin.erasure.models.manifests import Answer
from memadmin.store import configuration, locations
from memadmin.store.locations import ItemClass

VERSION = 1
STYLE = "access_export.css"  # among the static files: the page takes it along
LIMITS = {
    "ids_too_short": "Your id is so short that it stands in every second text: what others wrote was not searched for it.",
    "common_words": "Forms of words that several others use as well were not searched for as words of yours.",
    "plain_ids": "An id of yours is plain words or a number: the program's own records, which say such words too, were not searched.",
    "copies_cut": "You said more than can be searched for at once: others' texts were searched for copies of your newest ones.",
}


class NotWhole(Exception):
    """The manifest lists more, or less, than the export has and names as left out. Nothing is handed out."""


@dataclass(frozen=True, slots=True)
class File:
    """A file before it is closed: its head and end, between them the parts that are there."""

    name: str
    head: bytes
    parts: int
    end: bytes


def finish(export: AccessExport, about: About, progress: Progress, *, actor: str, now: datetime) -> None:
    """Close all files and make the export ready. Raises NotWhole. May be repeated: all is written in one transaction."""
    _check_whole(about, progress)
    key = sealing.unwrap_by_server(bytes(export.wrapped_key or b""), export.uid)
    whole = _told(export, about, progress, now=now)
    files = [_data(progress, whole), *(_page(number, progress, whole) for number in range(1, progress.page + 1))]
    sums = [_summed(export, file, key) for file in files]
    manifest = _manifest(progress, whole, sums)
    sums.append(_summed(export, manifest, key))
    with transaction.atomic():
        days = configuration.value("access_export_days")
        values = {"files": sums, "included": progress.included, "left_out": progress.left_out, "made_at": now}
        live = AccessExport.objects.filter(pk=export.pk, state=ExportState.BUILDING)
        if not live.update(state=ExportState.READY, expires_at=now + timedelta(days=days), **values):
            return  # called off this moment
        for file in [*files, manifest]:
            write_part(export, file.name, 0, file.head, key)
            write_part(export, file.name, file.parts + 1, file.end, key)
        counts = {"included": sum(progress.included.values()), "left_out": sum(progress.left_out.values())}
        log.append(Action.ACCESS_EXPORT_MADE, actor=actor, target=target_of(export.request), at=now, counts=counts)


def _check_whole(about: About, progress: Progress) -> None:
    listed = Counter(dict.fromkeys(progress.included, 0))
    for name, items in about.manifest.lines.values_list("location", "items"):
        listed[name] += items
    found = Counter(progress.included)
    for name, things in progress.left_out.items():
        found[name.split(" ")[0]] += things
    for name in (papers.PLACE, papers.NOTES_PLACE):  # not in the manifest: they are its papers
        listed.pop(name, None)
        found.pop(name, None)
    if +listed != +found:
        raise NotWhole


def _told(export: AccessExport, about: About, progress: Progress, *, now: datetime) -> dict[str, Any]:
    """Return all that the heads and ends of the files say."""
    manifest = about.manifest
    groups: Counter[tuple[str, str, str]] = Counter()
    for name, things in progress.left_out.items():
        place, item_class, reason = name.split(" ")
        groups[place, item_class, reason] += things
    missing = [
        {
            "place": place,
            "title": _titled(place),
            "class": item_class,
            "reason": reason,
            "why": left_out.in_words(reason),
            "things": things,
        }
        for (place, item_class, reason), things in sorted(groups.items())
    ]
    return {
        "made_at": plain(now),
        "as_of": plain(manifest.cutoff_at),
        "request": export.request.number,
        "about": circumstances_of(manifest),
        "included": progress.included,
        "left_out": missing,
        "not_searched": _not_searched(about),
        "limits": [LIMITS[code] for code in manifest.limits if code in LIMITS],
    }


def _titled(name: str) -> str:
    """Return what a place is called where its things are not the person's: never “about you”."""
    known = locations.LOCATIONS.get(name)
    return known.title if known else name


def _not_searched(about: About) -> list[dict[str, str]]:
    """Return the places that answer for themselves: copies that have no rows of their own, and backups."""
    cleared = set(about.manifest.answers.filter(answer=Answer.CLEARED).values_list("location", flat=True))
    places = [place for place in locations.in_order() if place.name in cleared and place.app != "erasure"]
    return [
        {"place": place.name, "title": place.title, "class": ItemClass(place.item_class).value, "kind": ItemClass(place.item_class).label}
        for place in places
    ]


def _data(progress: Progress, told: dict[str, Any]) -> File:
    head = {"format": "memadmin-access-export", "version": VERSION, **{name: told[name] for name in ("made_at", "as_of", "request")}}
    return _listing(DATA, head, "items", progress)


def _manifest(progress: Progress, told: dict[str, Any], sums: list[dict[str, Any]]) -> File:
    head = {"format": "memadmin-access-export-manifest", "version": VERSION, "files": [_public(each) for each in sums], **told}
    return _listing(MANIFEST, head, "left_out_items", progress)


def _listing(name: str, head: dict[str, Any], items: str, progress: Progress) -> File:
    """One JSON object whose last field is a list, one item a line: a program may read it whole, or line by line."""
    opened = json.dumps(head, ensure_ascii=False)[:-1] + f', "{items}": [\n'
    return File(name, opened.encode("utf8", "backslashreplace"), progress.parts.get(name, 0), b"\n]}\n")


def _public(summed: dict[str, Any]) -> dict[str, Any]:
    return {name: summed[name] for name in ("name", "bytes", "sha256")}


def _page(number: int, progress: Progress, told: dict[str, Any]) -> File:
    contents = [{"anchor": anchor, "title": title, "file": page_name(page)} for anchor, title, page in progress.contents]
    context = {
        **told,
        "number": number,
        "pages": progress.page,
        "contents": contents,
        "is_first": number == 1,
        "previous": page_name(number - 1) if number > 1 else "",
        "next": page_name(number + 1) if number < progress.page else "",
        "first": FIRST_PAGE,
        "style": mark_safe(f"<style>{(settings.BASE_DIR / 'static' / STYLE).read_text('utf8')}</style>"),
    }
    head = render_to_string("access_exports/_head.html", context)
    end = render_to_string("access_exports/_end.html", context)
    name = page_name(number)
    return File(name, head.encode("utf8", "replace"), progress.parts.get(name, 0), end.encode("utf8", "replace"))


def _summed(export: AccessExport, file: File, key: bytes) -> dict[str, Any]:
    digest, size = hashlib.sha256(), 0
    for piece in _pieces(export, file, key):
        digest.update(piece)
        size += len(piece)
    return {"name": file.name, "parts": file.parts + 2, "bytes": size, "sha256": digest.hexdigest()}


def _pieces(export: AccessExport, file: File, key: bytes) -> Iterator[bytes]:
    yield file.head
    yield from read_parts(export, file.name, range(1, file.parts + 1), key)
    yield file.end
