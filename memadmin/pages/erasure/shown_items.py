"""Items that somebody has to decide about, also in history and the archive: whose each is, where it can be read, what it says."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.urls import reverse

from memadmin.access.models import Person
from memadmin.access.rights import Right
from memadmin.access.visibility import visible_archive, visible_history, visible_memories, visible_sessions, visible_working
from memadmin.pages import text as texts
from memadmin.store.archive import said_in
from memadmin.store.models import Archived, HistoryEntry, ItemType, LongTermMemory, Session, Subject, WorkingMemory
from memadmin.store.said import texts_of

BEFORE, LENGTH = 60, 200  # characters shown before a word that was looked for, and of the whole
ARCHIVE = "archive"  # copies there have the uids of what they copy
VISIBLE: dict[str, Callable[[Person], Any]] = {
    ItemType.SESSION: visible_sessions,
    ItemType.WORKING: visible_working,
    ItemType.LONG_TERM: visible_memories,
    ItemType.HISTORY: visible_history,
    ARCHIVE: visible_archive,
}
NOUNS: dict[str, str] = {
    ItemType.SESSION: "session",
    ItemType.WORKING: "message",
    ItemType.LONG_TERM: "long-term memory",
    ItemType.HISTORY: "change of a memory",
    ARCHIVE: "archived copy",
}
ADDRESSES = {ItemType.SESSION: "pages:session-detail", ItemType.LONG_TERM: "pages:memory-detail"}  # of those with a page of their own
NAMEABLE = (ItemType.SESSION, ItemType.WORKING, ItemType.LONG_TERM)  # what a request for single items may name
Named = tuple[str, UUID]


@dataclass(frozen=True, slots=True)
class ShownItem:
    """`address` is "" for a message without a session; `said` is "" where nothing is said, or the person may not read it."""

    name: str
    noun: str
    subject: Subject
    address: str
    said: str
    of: str = ""  # what else is to be known of it


def shown_items(person: Person, named: Iterable[Named], *, words: Collection[str] = ()) -> dict[Named, ShownItem]:
    """Return those of the named items that the person may see. `words`: what they say is shown from there on."""
    by_type: dict[str, list[UUID]] = {}
    for item_type, uid in named:
        by_type.setdefault(item_type, []).append(uid)
    may_read = person.may(Right.MEMORY_READ_TEXT)
    found = {}
    for item_type, uids in by_type.items():
        related = ("subject__container", *(["session"] if item_type == ItemType.WORKING else []))
        for row in VISIBLE[item_type](person).filter(uid__in=uids).select_related(*related):
            said = around(_said(row), words) if may_read else ""
            found[item_type, row.uid] = ShownItem(f"{item_type}/{row.uid}", NOUNS[item_type], row.subject, _address(row), said)
    return found


def named_items(names: Iterable[str]) -> list[Named]:
    """Read `long-term/<uid>`; what is no such name is left out."""
    found: list[Named] = []
    for name in names:
        kind, _, uid = name.partition("/")
        try:
            item_type = ItemType(kind)
            if item_type in NAMEABLE:
                found.append((item_type, UUID(uid)))
        except ValueError:
            continue
    return found


def around(text: str, words: Collection[str]) -> str:
    """Return an excerpt of a text on one line, from a little before the first of the words that is in it."""
    folded = text.casefold()
    places = [at for word in words if word and (at := folded.find(word.casefold())) >= 0]
    start = max(0, min(places) - BEFORE) if places and len(folded) == len(text) else 0
    cut = f"{texts.ELLIPSIS}{text[start:]}" if start else text
    return texts.excerpt(cut, LENGTH) if cut.strip() else ""


def _said(row: Session | WorkingMemory | LongTermMemory | HistoryEntry | Archived) -> str:
    if isinstance(row, Session):
        return row.summary or ""
    if isinstance(row, HistoryEntry):
        return " → ".join([*(texts.changed_text(body) for body in (row.before, row.after) if body), *([row.error] if row.error else [])])
    if isinstance(row, Archived):
        return "\n".join(said_in(row))
    return (row.text or "") if isinstance(row, LongTermMemory) else "\n".join(texts_of(row.messages))


def _address(row: Any) -> str:
    if isinstance(row, HistoryEntry | Archived):
        tab = "pages:user-history" if isinstance(row, HistoryEntry) else "pages:user-archive"
        return reverse(tab, args=[row.subject.uid])
    if isinstance(row, LongTermMemory | Session):
        return reverse(ADDRESSES[ItemType.SESSION if isinstance(row, Session) else ItemType.LONG_TERM], args=[row.uid])
    return f"{reverse('pages:session-detail', args=[row.session.uid])}?entry={row.uid}#entry-{row.uid}" if row.session else ""
