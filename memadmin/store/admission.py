"""What arrives and was erased before: which items of a batch go in, which are set aside, which are marked; what must not is refused."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from memadmin.store import quarantine, suppression
from memadmin.store.identity import item_uid
from memadmin.store.intake import (
    Incoming,
    IncomingArchived,
    IncomingHistory,
    IncomingMemory,
    IncomingSession,
    IncomingUser,
    IncomingWorking,
)
from memadmin.store.models import Container, Mode
from memadmin.store.opening import Opened, Suppressed
from memadmin.store.quarantine import Arrived
from memadmin.store.said import texts_of
from memadmin.store.suppression import Verdict

Arrival = Incoming | IncomingUser | IncomingArchived
SHUT = {Mode.FENCE, Mode.BLOCK}


@dataclass(slots=True)
class Sorted:
    """The items that go in, and those that met a suppression: set aside, or marked and let in."""

    items: list[Arrival] = field(default_factory=list)
    aside: list[Arrived] = field(default_factory=list)
    marked: list[Arrived] = field(default_factory=list)


def sort_out(container: Container, opened: Opened, items: Sequence[Arrival], *, now: datetime) -> Sorted:
    """Judge each item by its user, then by its texts. Raises Suppressed with all the items that are refused."""
    if not opened.verdicts and not opened.at_origin and not opened.texts:
        return Sorted(items=list(items))
    by_text = _text_verdicts(container, opened.origin, items, now=now) if opened.texts else {}
    found, refused = Sorted(), []
    for place, item in enumerate(items):
        verdict = _of_user(opened, item.user_id, by_text.get(place))
        if verdict is None or isinstance(item, IncomingUser):
            found.items.append(item)
        elif verdict.mode in SHUT:
            refused.append(item)
        else:
            _set(found, container, opened, item, verdict)
    if refused:
        raise Suppressed(container, items=refused)
    return found


def keep(container: Container, found: Sorted, *, actor: str, now: datetime) -> None:
    """Store what was set aside, and the marks of what was let in."""
    if found.aside:
        quarantine.set_aside(container, found.aside, actor=actor, now=now)
    if found.marked:
        quarantine.mark(container, found.marked, actor=actor, now=now)


def check_words(container: Container, texts: Iterable[str], *, now: datetime) -> None:
    """Raise Suppressed where a change would bring back what was erased: of a row that is there nothing can be set aside."""
    if suppression.texts_here(container).exists():
        verdicts = suppression.text_verdicts(container, set(texts), now=now)
        if any(verdict.mode is not Mode.FLAG for verdict in verdicts.values()):
            raise Suppressed(container)


def uid_of(container: Container, item: Incoming) -> uuid.UUID:
    """Return the name of an item: its own, one that follows from the id that its source gave it, or a new one."""
    if item.uid is not None:
        return item.uid
    if item.external_id is None:
        return uuid.uuid4()
    return item_uid(container.uid, item.item_type, item.user_id, item.external_id)


def texts_in(item: Arrival) -> Iterator[str]:
    """Yield what an item says, text by text, as it is looked for among what was erased."""
    if isinstance(item, IncomingMemory):
        yield item.text
    elif isinstance(item, IncomingSession):
        yield item.summary or ""
    elif isinstance(item, IncomingWorking):
        yield from texts_of(item.messages)
    elif isinstance(item, IncomingHistory):
        for side in (item.before, item.after):
            if isinstance(side, Mapping) and isinstance(side.get("memory"), str):
                yield side["memory"]
    elif isinstance(item, IncomingArchived):
        yield from texts_in(item.item)
        for said in item.working:
            yield from texts_in(said)


def _of_user(opened: Opened, user_id: str | None, of_text: Verdict | None) -> Verdict | None:
    """Return what counts: that the user is set aside here, or the stricter of what is said of the user at the origin and of the text.

    Of a user who is only flagged here their own row says so.
    """
    here = opened.verdicts.get(user_id) if user_id is not None else None
    if here and here.mode is Mode.QUARANTINE:
        return here
    there = opened.at_origin.get(user_id) if user_id is not None else None
    met = [verdict for verdict in (there, of_text) if verdict]
    return suppression.strictest(met) if met else None


def _set(found: Sorted, container: Container, opened: Opened, item: Any, verdict: Verdict) -> None:
    """Put an item aside, or give it its name and a mark."""
    inner = item.item if isinstance(item, IncomingArchived) else item
    uid = uid_of(container, inner)
    named = replace(inner, uid=uid)
    item = replace(item, item=named) if isinstance(item, IncomingArchived) else named
    arrived = Arrived(uid, opened.keys[item.user_id], item, verdict)
    if verdict.mode is Mode.QUARANTINE:
        found.aside.append(arrived)
    else:
        found.items.append(item)
        found.marked.append(arrived)


def _text_verdicts(container: Container, origin: Container | None, items: Sequence[Arrival], *, now: datetime) -> dict[int, Verdict]:
    """Return the strictest verdict on the texts of each item that says something erased, by its place."""
    said = {place: set(texts_in(item)) for place, item in enumerate(items)}
    verdicts = suppression.text_verdicts(container, set().union(*said.values()), now=now, origin=origin)
    found = {place: [verdicts[text] for text in texts if text in verdicts] for place, texts in said.items()}
    return {place: suppression.strictest(met) for place, met in found.items() if met}
