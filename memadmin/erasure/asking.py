"""One page of one place, and what it makes of the manifest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any
from uuid import UUID

from django.apps import apps
from django.db import models, transaction

from memadmin.erasure import manifests, mentions
from memadmin.erasure.mentions import Match
from memadmin.erasure.models import Manifest, ScopeItem
from memadmin.erasure.models.manifests import Answer
from memadmin.erasure.scope import RequestScope
from memadmin.jobs.parts import do_part
from memadmin.store import locations
from memadmin.store.locations import Act, Found, ItemClass, Location, Page, Unreachable
from memadmin.store.models import Archived, HistoryEntry, ItemType, LongTermMemory, Session, WorkingMemory
from memadmin.store.staying import with_stays

PAGE = 20_000  # rows of a place in one step
MIXED_AT_ONCE = 500
SEARCHED = 2_000  # rows looked through for mentions in one step
OF_TYPE: dict[str, tuple[str, Any]] = {
    ItemType.SESSION: ("store.sessions", Session),
    ItemType.WORKING: ("store.working", WorkingMemory),
    ItemType.LONG_TERM: ("store.long_term", LongTermMemory),
    ItemType.HISTORY: ("store.history", HistoryEntry),
}
BY_UID = {*(name for name, _ in OF_TYPE.values()), "store.archive"}
WRITER = "account_name"
LIMIT_SHORT, LIMIT_CUT, LIMIT_COMMON, LIMIT_PLAIN = "ids_too_short", "copies_cut", "common_words", "plain_ids"


def places() -> list[Location]:
    """Return the places that are asked; the others hold copies that go with what they copy."""
    return [location for location in locations.in_order() if location.find is not None]


def searched_places() -> list[Location]:
    """Return the places of people's items in which others may mention the person."""
    return [location for location in locations.in_order() if location.searched and location.table in _models()]


def ask(manifest: Manifest, scope: RequestScope, location: Location, after: Any, *, again: bool = False) -> Any:
    """Add one page of a place, and return where the next one begins, None after the last.

    `again`: the place has been asked for whole users, now it is for what was reached from them, which may be the same.
    """
    page = _asked(manifest, scope, location, after, PAGE)
    if page is None:
        return None
    new = _new(manifest, location, page.found) if again else page.found
    for item_class, found in _by_class(manifest, scope, location, new):
        act = Act.DELETE if location.name in BY_UID else location.act
        if item_class == ItemClass.MENTION:
            waits = act != Act.KEEP
            for why, things in _matched(manifest, location, found).items() if waits else [(mentions.IDENTIFIER, found)]:
                manifests.add(manifest, location.name, things, item_class=item_class, act=act, reason=why, waits=waits)
        else:
            manifests.add(manifest, location.name, found, item_class=item_class, act=act)
    return page.after


def ask_for_rest(manifest: Manifest, scope: RequestScope, location: Location, after: Any, *, most: int) -> Any:
    """The same of a place that was asked before, `most` rows a page, but for what somebody has to decide about first: what is new."""
    page = _asked(manifest, scope, location, after, most)
    if page is None:
        return None
    for item_class, found in _by_class(manifest, scope, location, _new(manifest, location, page.found)):
        if item_class != ItemClass.MENTION:
            manifests.add(manifest, location.name, found, item_class=item_class, act=location.act)
    return page.after


def _matched(manifest: Manifest, location: Location, found: Sequence[Found]) -> dict[str, list[Found]]:
    """Note by what each row mentions the person, so that rows that share it are decided about together; return them by why."""
    searcher, model = mentions.searcher_of(manifest), model_of(location)
    said: dict[Any, Match | None] = {}
    for at in range(0, len(found), 500):
        keys = [thing.key for thing in found[at : at + 500]]
        rows = model._default_manager.filter(pk__in=keys).values("pk", *looked_through(location))
        said |= {row["pk"]: searcher.match(searched_in(location, row)) for row in rows}
    by_why: dict[str, list[Found]] = {}
    for thing in found:
        match = said.get(thing.key)
        noted = replace(thing, matched=match.ref, matched_at=match.at) if match else thing
        by_why.setdefault(match.why if match else mentions.IDENTIFIER, []).append(noted)
    return by_why


def _asked(manifest: Manifest, scope: RequestScope, location: Location, after: Any, most: int) -> Page | None:
    """Return the page, or None where the place could not be asked: then it has said so in the manifest."""
    answers: list[Page] = []
    find = location.find
    assert find is not None

    def part() -> None:
        with transaction.atomic():  # an error of the database must not take the manifest along
            answers.append(find(scope, after, most))

    error_code = do_part(part, name=location.name)
    if not error_code:
        return answers[0]
    answer = Answer.UNREACHABLE if error_code == Unreachable.__name__ else Answer.FAILED
    manifests.tell(manifest, {location.name: answer}, error_code=error_code)
    return None


def _new(manifest: Manifest, location: Location, found: Sequence[Found]) -> list[Found]:
    """Leave out what is in the manifest already: whole users and what was reached from them may overlap."""
    uids = [thing.uid for thing in found]
    there: set[UUID] = set()
    for at in range(0, len(uids), 500):
        known = manifest.items.filter(location=location.name, row_uid__in=uids[at : at + 500])
        there |= set(known.values_list("row_uid", flat=True))
    return [thing for thing in found if thing.uid not in there]


def _by_class(manifest: Manifest, scope: RequestScope, location: Location, found: Sequence[Found]) -> list[tuple[ItemClass, list[Found]]]:
    if scope.subjects or location.name not in BY_UID or not found:
        taken = location.act == Act.REDACT  # words of people, from which something is taken out
        certain = [thing for thing in found if not (taken and thing.doubtful)]
        doubtful = [thing for thing in found if taken and thing.doubtful]
        return [(item_class, part) for item_class, part in ((location.item_class, certain), (ItemClass.MENTION, doubtful)) if part]
    derived: set[UUID] = set()
    for at in range(0, len(found), 500):
        uids = [thing.uid for thing in found[at : at + 500]]
        rows = ScopeItem.objects.filter(manifest=manifest, item_uid__in=uids, item_class=ItemClass.DERIVED)
        derived |= set(rows.values_list("item_uid", flat=True))
    split = [
        (ItemClass.OWNED, [thing for thing in found if thing.uid not in derived]),
        (ItemClass.DERIVED, [thing for thing in found if thing.uid in derived]),
    ]
    return [(item_class, part) for item_class, part in split if part]


def add_mixed(manifest: Manifest, scope: RequestScope, after: int) -> int | None:
    """Add items that came out of the person's and of others': they lose what they say, or (facts of one user) only a link."""
    rows = ScopeItem.objects.filter(manifest=manifest, item_class=ItemClass.MIXED, pk__gt=after).order_by("pk")
    batch = list(rows[:MIXED_AT_ONCE])
    for item in batch:
        _add_mixed(manifest, item, whole_users=bool(scope.subjects))
    return batch[-1].pk if len(batch) == MIXED_AT_ONCE else None


def _add_mixed(manifest: Manifest, item: ScopeItem, *, whole_users: bool) -> None:
    name, model = OF_TYPE[item.item_type]
    rows = [(name, row) for row in with_stays(model.objects.filter(uid=item.item_uid))]
    rows += [("store.archive", copy) for copy in with_stays(Archived.objects.filter(uid=item.item_uid))]
    if item.item_type == ItemType.LONG_TERM:
        rows += [("store.history", entry) for entry in with_stays(HistoryEntry.objects.filter(memory_uid=item.item_uid))]
    act = Act.REDERIVE if whole_users or _is_summary(rows) else Act.UNLINK
    for place, row in rows:
        thing = Found(row.pk, row.uid, row.subject_id, at=getattr(row, "stored_at", None), held=row.stays)
        planned = Act.DELETE if place == "store.archive" and act == Act.REDERIVE else act
        reason = "other_sources" if act == Act.UNLINK else ""
        new = _new(manifest, locations.get(place), [thing])
        manifests.add(manifest, place, new, item_class=ItemClass.MIXED, act=planned, reason=reason, waits=True)
    manifest.items.filter(row_uid=item.item_uid).update(survivors=item.survivors)


def _is_summary(rows: Sequence[tuple[str, Any]]) -> bool:
    """A summary says a little of all its sources; a fact with another source is still true without this one."""
    return any(place == "store.sessions" or (getattr(row, "strategy_type", None) or "").upper() == "SUMMARY" for place, row in rows)


def add_mentions(manifest: Manifest, location: Location, after: int) -> int | None:
    """Look through a page of other people's items, and add those that mention the person: a reviewer decides about each."""
    searcher = mentions.searcher_of(manifest)
    if searcher.scope.pattern is None and not searcher.shingles:
        return None
    rows = with_stays(mentions.others(searcher.scope, _models()[location.table])).filter(pk__gt=after).order_by("pk")
    page = list(rows.values("pk", "subject_id", "stays", *location.searched, *_extra(location))[:SEARCHED])
    found: dict[str, list[Found]] = {}
    for row in page:
        match = searcher.match(searched_in(location, row)) or _written_by(searcher, location, row)
        if match:
            uid = row.get("uid") or locations.row_uid(location.name, row["pk"])
            thing = Found(row["pk"], uid, row["subject_id"], at=row.get("stored_at"), held=row["stays"])
            found.setdefault(match.why, []).append(replace(thing, matched=match.ref, matched_at=match.at))
    for why, things in found.items():
        new = _new(manifest, location, things)
        act = Act.KEEP if why == WRITER else Act.REDACT
        manifests.add(manifest, location.name, new, item_class=ItemClass.MENTION, act=act, reason=why, waits=act == Act.REDACT)
    return page[-1]["pk"] if len(page) == SEARCHED else None


def _written_by(searcher: mentions.Searcher, location: Location, row: Mapping[str, Any]) -> Match | None:
    """Whether the account that wrote a row is called like the person. The row says nothing of them; without the name it is lost to it."""
    match = searcher.match([row[name] for name in location.accounts])
    return Match(WRITER, "", "") if match else None


def looked_through(location: Location) -> list[str]:
    """Return the columns in which a row of a place may mention the person."""
    return [name for name in location.searched or location.columns if name not in location.accounts]


def searched_in(location: Location, row: Mapping[str, Any]) -> list[Any]:
    """Return what a row says in the columns that are looked through, as a search reads them."""
    return [location.said[name](row[name]) if name in location.said else row[name] for name in looked_through(location)]


def can_delete(name: str) -> bool:
    """Whether what lies in a place can be deleted by itself: of some, words alone are taken out."""
    return name in BY_UID or locations.get(name).delete is not None


def model_of(location: Location) -> Any:
    """Return whose table a place is in. Raises StopIteration."""
    return next(model for model in apps.get_models() if model._meta.db_table == location.table)


def note_answers(manifest: Manifest) -> None:
    """Let every place that has not failed say what it held, and note what could not be looked for."""
    failed = set(manifest.answers.values_list("location", flat=True))
    with_items = set(manifest.items.order_by("location").values_list("location", flat=True).distinct())
    told = {place.name: Answer.FOUND if place.name in with_items else Answer.ABSENT for place in locations.in_order()}
    cleared = {place.name: Answer.CLEARED for place in locations.in_order() if place.find is None}
    manifests.tell(manifest, {name: answer for name, answer in (told | cleared).items() if name not in failed})
    searcher = mentions.searcher_of(manifest)
    scope = searcher.scope
    limits = {LIMIT_SHORT: scope.too_short, LIMIT_CUT: searcher.cut, LIMIT_COMMON: searcher.common > 0, LIMIT_PLAIN: scope.has_plain}
    manifest.limits = [code for code, holds in limits.items() if holds]
    manifest.save(update_fields=["limits"])


def count_pinned(manifest: Manifest) -> int:
    """Return how many pins go, for information: an erasure does not stop at a pin."""
    return manifest.items.filter(location="store.pins", act=Act.DELETE).count()


@cache
def _models() -> dict[str, type[models.Model]]:
    """Return the models of tables with a subject, by the table's name."""
    return {model._meta.db_table: model for model in apps.get_models() if any(field.name == "subject" for field in model._meta.fields)}


def _extra(location: Location) -> list[str]:
    return [column.name for column in _models()[location.table]._meta.fields if column.name in {"uid", "stored_at"}]
