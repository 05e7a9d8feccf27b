"""The chapters of an export, and one page of each: what the manifest lists, read again, decided about, and written down.

Invariant: every thing of the manifest is in `data.json` or named in `manifest.json` with the reason why not; `finishing` counts. A page is
bounded by what its things say, so the size of a person costs time and no memory.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from uuid import UUID

from django.db.models import Q

from memadmin.erasure.access_exports import entries, left_out, papers
from memadmin.erasure.access_exports.draft import Draft
from memadmin.erasure.access_exports.places import content_places, title_of
from memadmin.erasure.access_exports.records import Names, Record, plain, records_of
from memadmin.erasure.access_exports.sources import with_sources
from memadmin.erasure.models import Manifest, ManifestItem
from memadmin.erasure.scope import scope_of
from memadmin.store import locations, refs
from memadmin.store.locations import Location
from memadmin.store.models import Session, WorkingMemory

THINGS = 500  # of one page at most
SAYING = 4_000_000  # characters that the things of a page say at most, unless a single one says more
SESSIONS, WORKING, LONG_TERM = "store.sessions", "store.working", "store.long_term"
DATA_ONLY = {SESSIONS, "store.provenance"}  # read under talks, and at each memory
OF_SESSIONS = 50  # in one page, with as many of their messages as fit


@dataclass(frozen=True)
class About:
    """The manifest that an export is made of, and whom it is about."""

    manifest: Manifest

    @cached_property
    def subjects(self) -> frozenset[int]:
        return frozenset(scope_of(self.manifest).subjects)

    @cached_property
    def names(self) -> Names:
        return Names.of(self.subjects)


def chapters_of(about: About) -> list[Chapter]:
    """Return the chapters in reading order: the person's own, their requests, and last what only the list of what is missing names."""
    content = content_places()
    names = [place.name for place in content]
    others = about.manifest.lines.exclude(location__in=names).order_by("location").values_list("location", flat=True).distinct()
    found: list[Chapter] = []
    for place in content:
        found.append(PlaceChapter(place.name, place))
        if place.name == SESSIONS:
            found.append(TalkChapter("talks"))
    return [*found, PapersChapter("papers"), *(PlaceChapter(name, locations.LOCATIONS.get(name)) for name in others)]


@dataclass(frozen=True)
class Chapter:
    """`write` adds the next page behind `after` to the draft, and returns where that ended, None at the end."""

    name: str

    def write(self, about: About, draft: Draft, after: Any) -> Any:
        raise NotImplementedError

    @property
    def anchor(self) -> str:
        return self.name.replace(".", "-").replace("_", "-")


@dataclass(frozen=True)
class PlaceChapter(Chapter):
    """The things of one place of the manifest. `place` None: it is not registered any more."""

    place: Location | None = None

    def write(self, about: About, draft: Draft, after: Any) -> Any:
        items, is_last = _page(about.manifest, self.name, after or 0)
        told: list[Record] = []
        for item, record in self._read(about, items):
            why = left_out.why_not(item, about.manifest.request.kind, about.subjects) or (left_out.GONE if record is None else "")
            why = why or left_out.why_not_row(record or {})
            if why or record is None:
                draft.leave_out(_named(item, why))
            else:
                told.append(record)
        if self.name == LONG_TERM:
            with_sources(told, about.subjects)
        for record in told:
            draft.tell(record)
        shown = [] if self.name in DATA_ONLY else _outside_talks(told, about) if self.name == WORKING else told
        draft.show(self.anchor, title_of(self.name), entries.html_of(shown))
        return None if is_last else items[-1].pk

    def _read(self, about: About, items: Sequence[ManifestItem]) -> Iterator[tuple[ManifestItem, Record | None]]:
        """Read the rows of those that may be in; others' rows are not even opened."""
        kind = about.manifest.request.kind
        mine = {item.pk: json.loads(item.row_key) for item in items if not left_out.why_not(item, kind, about.subjects)}
        rows = records_of(self.place, list(mine.values()), about.names) if self.place and mine else {}
        for item in items:
            yield item, rows.get(mine[item.pk]) if item.pk in mine else None


Position = Sequence[int]  # session, sequence and key of the last message that was written


@dataclass(frozen=True)
class TalkChapter(Chapter):
    """For reading only: each session, and under it its messages in order.

    `after` is where the sessions of this page begin in the manifest, and how far their messages are written.
    """

    def write(self, about: About, draft: Draft, after: Any) -> Any:
        start, position = after or (0, None)
        items = list(_listed(about, SESSIONS).filter(pk__gt=start).order_by("pk")[:OF_SESSIONS])
        items = items[: _bounded([item.size for item in items])]
        if not items:
            return None
        sessions = sorted(json.loads(item.row_key) for item in items)
        rows, is_cut = self._messages(about, sessions, position)
        begun = position[0] if position else 0
        shown = [each for each in sessions if begun <= each <= (rows[-1][0] if is_cut else sessions[-1])]
        draft.show(self.anchor, title_of(SESSIONS), self._html(about, shown, rows, begun=begun))
        return [start, rows[-1]] if is_cut else [items[-1].pk, None]

    def _messages(self, about: About, sessions: list[int], position: Position | None) -> tuple[list[tuple[int, int, int]], bool]:
        rows = WorkingMemory.objects.filter(session_id__in=sessions, subject_id__in=about.subjects).order_by("session_id", "sequence", "pk")
        if position is not None:
            session, sequence, key = position
            later = Q(session_id=session, sequence=sequence, pk__gt=key) | Q(session_id=session, sequence__gt=sequence)
            rows = rows.filter(later | Q(session_id__gt=session))
        found = list(rows.values_list("session_id", "sequence", "pk", "uid")[: THINGS + 1])
        sizes = _sizes(about, WORKING, [uid for *_, uid in found])
        kept = _bounded([sizes.get(uid, 0) for *_, uid in found[:THINGS]])
        return [(session, sequence, key) for session, sequence, key, _ in found[:kept]], kept < len(found)

    def _html(self, about: About, sessions: list[int], rows: list[tuple[int, int, int]], *, begun: int) -> str:
        told = records_of(locations.LOCATIONS[SESSIONS], sessions, about.names)
        said = records_of(locations.LOCATIONS[WORKING], [key for *_, key in rows], about.names)
        listed = _sizes(about, WORKING, [UUID(record["uid"]) for record in said.values()])
        html = []
        for session in sessions:
            if session != begun and session in told:
                html.append(f'<section class="talk">{entries.html_of([told[session]])}</section>')
            ours = [said[key] for owner, _, key in rows if owner == session and key in said and UUID(said[key]["uid"]) in listed]
            html.append(f'<div class="messages">{entries.html_of(ours)}</div>' if ours else "")
        return "".join(html)


@dataclass(frozen=True)
class PapersChapter(Chapter):
    """The person's own requests, which lie outside of what a search finds."""

    def write(self, about: About, draft: Draft, after: Any) -> Any:
        records = papers.requests_of(about.manifest.request)
        for record in records:
            draft.tell(record)
        for record in papers.not_given(about.manifest.request):
            draft.leave_out(record)
        draft.show(self.anchor, "Your requests", entries.html_of(records))
        return None


def _page(manifest: Manifest, name: str, after: int) -> tuple[list[ManifestItem], bool]:
    rows = list(manifest.items.filter(location=name, pk__gt=after).order_by("pk")[: THINGS + 1])
    kept = _bounded([item.size for item in rows[:THINGS]])
    return rows[:kept], kept == len(rows)


def _bounded(sizes: Sequence[int]) -> int:
    """Return how many of these may go into one page: at least one."""
    said = 0
    for at, size in enumerate(sizes):
        said += size
        if said > SAYING and at:
            return at
    return len(sizes)


def _listed(about: About, name: str) -> Any:
    """Return the things of a place that the manifest lists and that are in the export; what came after the search is not among them."""
    return about.manifest.items.filter(location=name).exclude(left_out.withheld(about.manifest.request.kind))


def _sizes(about: About, name: str, uids: Sequence[UUID]) -> dict[UUID, int]:
    return dict(_listed(about, name).filter(row_uid__in=uids).values_list("row_uid", "size"))


def _named(item: ManifestItem, why: str) -> Record:
    """Return by which a thing can be spoken of without saying what or whose it is."""
    place = item.location
    dated = {"dated": plain(item.dated_at)} if item.dated_at else {}
    review = {"looked_at_again_on": plain(item.review_on)} if item.review_on else {}
    return {
        "place": place,
        "class": item.item_class,
        "reason": why,
        "reference": item.item_ref or refs.item_ref(item.row_uid),
        **dated,
        **review,
    }


def _outside_talks(told: Sequence[Record], about: About) -> list[Record]:
    """Leave out the messages that stand under their session."""
    named = {UUID(record["session"]) for record in told if "session" in record}
    listed = Session.objects.filter(uid__in=named, subject_id__in=about.subjects).filter(uid__in=_listed(about, SESSIONS).values("row_uid"))
    shown = {str(uid) for uid in listed.values_list("uid", flat=True)}
    return [record for record in told if record.get("session") not in shown]
