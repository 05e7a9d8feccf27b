"""The one door in: every session and memory row is made here, with its provenance, pins and counters."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, TypeVar, cast

from django.db import connection, models, transaction
from django.db.models import F, JSONField, Value

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.store import admission, counters, embeddings, merging, tokens
from memadmin.store.archive import content_at, pack
from memadmin.store.attaching import write_pins, write_sources
from memadmin.store.bulk import Column, Same, insert_columns, insert_rows
from memadmin.store.held_copies import Restricted, copy_to_arrivals
from memadmin.store.intake import (
    Incoming,
    IncomingArchived,
    IncomingHistory,
    IncomingMemory,
    IncomingSession,
    IncomingWorking,
)
from memadmin.store.merging import SessionKey
from memadmin.store.models import (
    Archived,
    Container,
    HistoryAction,
    HistoryEntry,
    ItemType,
    LongTermMemory,
    Session,
    WorkingMemory,
)
from memadmin.store.opening import Opened, open_users
from memadmin.store.querysets import with_uids
from memadmin.store.rows import columns_of, first_row

Arrival = admission.Arrival
_Item = TypeVar("_Item", bound=Incoming)


class UidTaken(Exception):
    """An item comes with the uid of something that belongs to another user. A uid names one thing."""


class OfAnother(Exception):
    """Items would change what another writer has stored. `names` are their uids, and for sessions (user, id)."""

    def __init__(self, names: Iterable[uuid.UUID | SessionKey]) -> None:
        super().__init__("Another writer has stored an item with this id.")
        self.names = set(names)


@dataclass
class Written:
    """How many items of each type were new, already there, or there with other content."""

    new: Counter[str] = field(default_factory=Counter)
    unchanged: Counter[str] = field(default_factory=Counter)
    changed: Counter[str] = field(default_factory=Counter)
    quarantined: Counter[str] = field(default_factory=Counter)  # set aside: these were erased before
    aside: set[uuid.UUID] = field(default_factory=set)  # their names


@transaction.atomic
def create_container(
    *, name: str, actor: str, now: datetime, uid: uuid.UUID | None = None, external_id: str | None = None, **details: Any
) -> Container:
    """Make an empty container. `details` are further fields of the row."""
    container = Container.objects.create(
        name=name, uid=uid or uuid.uuid4(), external_id=external_id, **{"created_at": now, "last_updated_at": now, **details}
    )
    log.append(Action.CONTAINER_CREATED, actor=actor, target=f"containers/{container.uid}", at=now)
    return container


@transaction.atomic
def write(
    container: Container, items: Sequence[Arrival], *, actor: str, now: datetime, owner: str | None = None, origin: Container | None = None
) -> Written:
    """Store a batch of items; all of it, or nothing if the database refuses one.

    An item that is there already stays one item: equal content is counted as unchanged, other content
    replaces it and raises the revision. A working memory brings its session with it if that is missing.
    What was erased before, here or at the `origin` that the items are copies from, is refused, set aside or marked, as its
    suppression says. With an `owner` only that writer's items may change.
    Raises UidTaken, OfAnother, Suppressed, Restricted.
    """
    batch = _Batch(container, actor=actor, now=now, owner=owner)
    batch.open_subjects((item.user_id for item in items), origin=origin)
    found = admission.sort_out(container, batch.opened, items, now=now)
    batch.write(found.items)
    admission.keep(container, found, actor=actor, now=now)
    batch.written.aside.update(arrived.uid for arrived in found.aside)
    batch.written.quarantined.update(str(arrived.item.item_type) for arrived in found.aside)
    return batch.written


def write_released(container: Container, items: Sequence[Incoming | IncomingArchived], *, actor: str, now: datetime) -> Written:
    """Store what a person has released: as `write`, without asking again what it says. Raises Suppressed where its user is shut out."""
    batch = _Batch(container, actor=actor, now=now)
    batch.open_subjects(item.user_id for item in items)
    return batch.write(items)


def hold_users(container: Container, user_ids: Iterable[str | None], *, actor: str, now: datetime) -> None:
    """Make the users that are missing, and lock them all until the caller's transaction ends: what it finds of them stays true."""
    _Batch(container, actor=actor, now=now).open_subjects(user_ids)


class _Batch:
    """One call of `write`: the subjects it has locked, and what it has counted so far."""

    def __init__(self, container: Container, *, actor: str, now: datetime, owner: str | None = None) -> None:
        self.container = container
        self.actor = actor
        self.now = now
        self.owner = owner
        self.opened = Opened()
        self.arrived: list[uuid.UUID] = []  # rows that this batch has made
        self.subjects: dict[str | None, int] = {}
        self.sessions: dict[SessionKey, int] = {}
        self.made: set[int] = set()  # sessions that this batch has made
        self.moves = counters.Moves()
        self.written = Written()

    def open_subjects(self, user_ids: Iterable[str | None], *, origin: Container | None = None) -> None:
        """Find or make the subjects, and lock them: from here on nobody else adds an item for them."""
        self.opened = open_users(self.container, user_ids, now=self.now, origin=origin)
        self.subjects = self.opened.keys

    def write(self, items: Sequence[Arrival]) -> Written:
        """Store the items of the opened subjects; those of whom something is held take that over."""
        sessions = [item for item in items if isinstance(item, IncomingSession)]
        working = [item for item in items if isinstance(item, IncomingWorking)]
        self.write_sessions(sessions, working)
        self.write_working(working)
        self.write_memories([item for item in items if isinstance(item, IncomingMemory)])
        self.write_history([item for item in items if isinstance(item, IncomingHistory)])
        self.write_archived([item for item in items if isinstance(item, IncomingArchived)])
        self.moves.apply()
        if self.opened.with_holds:
            copy_to_arrivals(self.arrived)
        return self.written

    def write_sessions(self, given: Sequence[IncomingSession], working: Sequence[IncomingWorking]) -> None:
        """Store the sessions that are given, and bare ones for the working memories that name others."""
        items = merging.fold_sessions(given)
        bare = {
            (item.user_id, item.session_ref): IncomingSession(
                user_id=item.user_id, external_id=item.session_ref, created_at=item.created_at
            )
            for item in reversed(working)
            if item.session_ref and not item.session_gone and (item.user_id, item.session_ref) not in items
        }
        wanted = items | bare
        if not wanted:
            return
        stored = self._stored_sessions(wanted)
        self._check_owner({key: row for key, row in stored.items() if key in items})
        new = {item.uid or self._uid_of(item): item for key, item in wanted.items() if key not in stored}
        if len(new) + len(stored) < len(wanted) or Session.objects.with_uids(new).exists():
            raise UidTaken("A session comes with the uid of another one.")
        pinned = [item.pin is not None for item in new.values()]
        subjects = self._insert(Session, self._columns(Session, new, pinned=pinned))
        self.moves.add_each(subjects, sessions=1, pinned_sessions=pinned)
        for key, item in items.items():
            if key in stored:
                self._update(Session, stored[key], merging.session_changes(stored[key], item), ItemType.SESSION)
        self.written.new[ItemType.SESSION] += len(new)
        write_pins(self.container, self.subjects, new)
        self._pin_stored(Session, [(stored[key], item) for key, item in items.items() if key in stored], counter="pinned_sessions")
        self.sessions = {key: row["id"] for key, row in self._stored_sessions(wanted).items()}
        self.made = {key for name, key in self.sessions.items() if name not in stored}

    def _stored_sessions(self, wanted: Mapping[SessionKey, IncomingSession]) -> dict[SessionKey, dict[str, Any]]:
        """Find sessions by the id that the agent gave them, within their user."""
        users = {subject: user_id for user_id, subject in self.subjects.items()}
        rows = Session.objects.named((self.subjects[user_id], external_id) for user_id, external_id in wanted).values()
        return {(users[row["subject_id"]], row["external_id"]): row for row in rows}

    def write_working(self, given: Sequence[IncomingWorking]) -> None:
        items = self._by_uid(given)
        stored = self._stored(WorkingMemory, items)
        new = {uid: item for uid, item in items.items() if uid not in stored}
        subjects = self._insert(WorkingMemory, self._working_columns(new))
        self.moves.add_each(subjects, working=1, messages=[len(item.messages) for item in new.values()])
        self.written.new[ItemType.WORKING] += len(new)
        touched: dict[int, datetime | None] = {}
        for uid, item in items.items():
            session = self._session_of(item)
            if (uid in new or self._update_working(stored[uid], item)) and session:
                touched[session] = merging.later(touched.get(session), item.last_updated_at or item.created_at)
        self._touch_sessions(touched)

    def _working_columns(self, new: Mapping[uuid.UUID, IncomingWorking]) -> dict[str, Column]:
        sessions, counts = [self._session_of(item) for item in new.values()], [len(item.messages) for item in new.values()]
        return self._columns(WorkingMemory, new, session_id=sessions, message_count=counts)

    def _session_of(self, item: IncomingWorking) -> int | None:
        return None if item.session_gone else self.sessions.get((item.user_id, item.session_ref))

    def _update_working(self, stored: Mapping[str, Any], item: IncomingWorking) -> bool:
        changes = merging.working_changes(stored, item)
        if "messages" in changes:
            changes["message_count"] = len(item.messages)
            self.moves.add(self.subjects[item.user_id], messages=len(item.messages) - stored["message_count"])
        return self._update(WorkingMemory, stored, changes, ItemType.WORKING)

    def _touch_sessions(self, touched: Mapping[int, datetime | None]) -> None:
        """New content makes a session young again. Content without a time moves its revision only."""
        changed = []
        for key, last in Session.objects.filter(id__in=touched).values_list("id", "last_updated_at"):
            latest = merging.later(last, touched[key])
            if latest != last or key not in self.made:
                changed.append((connection.ops.adapt_datetimefield_value(latest), key))
        if changed:
            with connection.cursor() as cursor:  # a tenth of what `bulk_update` takes
                cursor.executemany("UPDATE store_session SET last_updated_at = %s, revision = revision + 1 WHERE id = %s", changed)

    def write_memories(self, given: Sequence[IncomingMemory]) -> None:
        items = self._by_uid(given)
        stored = self._stored(LongTermMemory, items)
        new = {uid: item for uid, item in items.items() if uid not in stored}
        columns = self._memory_columns(new)
        subjects = self._insert(LongTermMemory, columns)
        self.moves.add_each(subjects, long_term=1, tokens=columns["tokens"], pinned_long_term=columns["pinned"])
        for uid, item in items.items():
            if uid in stored:
                self._update_memory(stored[uid], item)
        self._pin_stored(LongTermMemory, [(stored[uid], item) for uid, item in items.items() if uid in stored], counter="pinned_long_term")
        self.written.new[ItemType.LONG_TERM] += len(new)
        write_pins(self.container, self.subjects, new)
        write_sources(self.container, self.subjects, items)

    def _memory_columns(self, new: Mapping[uuid.UUID, IncomingMemory]) -> dict[str, Column]:
        items = list(new.values())
        return self._columns(
            LongTermMemory,
            new,
            tokens=[tokens.estimate(item.text) if item.tokens is None else item.tokens for item in items],
            tokens_method=[tokens.METHOD if item.tokens is None else item.tokens_method for item in items],
            importance=[0.5 if item.importance is None else item.importance for item in items],
            importance_source=["default" if item.importance is None else item.importance_source for item in items],
            pinned=[item.pin is not None for item in items],
            **{name: Same(value) for name, value in embeddings.missing().items()},
        )

    def _update_memory(self, stored: Mapping[str, Any], item: IncomingMemory) -> None:
        changes = merging.memory_changes(stored, item)
        subject = self.subjects[item.user_id]
        if "text" in changes:
            changes["tokens"] = tokens.estimate(item.text) if item.tokens is None else item.tokens
            changes |= embeddings.missing()
            self.moves.add(subject, tokens=changes["tokens"] - stored["tokens"], history=1)
            entry = IncomingHistory(
                user_id=item.user_id,
                memory_uid=stored["uid"],
                memory_ref=stored["external_id"],
                action=HistoryAction.UPDATE,
                before={"memory": stored["text"]},
                after={"memory": item.text},
                actor=self.actor,
                created_at=self.now,
                namespace=item.namespace,
            )
            self._insert(HistoryEntry, self._columns(HistoryEntry, {uuid.uuid4(): entry}))
        self._update(LongTermMemory, stored, changes, ItemType.LONG_TERM)

    def write_history(self, given: Sequence[IncomingHistory]) -> None:
        """History is only ever added to: an entry that is there stays as it is."""
        items = self._by_uid(given)
        stored = self._stored(HistoryEntry, items)
        new = {uid: item for uid, item in items.items() if uid not in stored}
        subjects = self._insert(HistoryEntry, self._columns(HistoryEntry, new))
        self.moves.add_each(subjects, history=1)
        self.written.new[ItemType.HISTORY] += len(new)
        self.written.unchanged[ItemType.HISTORY] += len(stored)

    def write_archived(self, given: Sequence[IncomingArchived]) -> None:
        """Copies are only ever added, like history."""
        if not given:
            return
        items = {copy.item.uid or self._uid_of(copy.item): copy for copy in given}
        stored = self._stored(Archived, items)
        rows = [self._archived_row(uid, copy) for uid, copy in items.items() if uid not in stored]
        insert_rows(Archived, rows)
        for row in rows:
            self.moves.add(row["subject_id"], archived=1)
        self.written.new["archived"] += len(rows)
        self.written.unchanged["archived"] += len(given) - len(rows)
        memories = {uid: copy.item for uid, copy in items.items() if isinstance(copy.item, IncomingMemory)}
        write_sources(self.container, self.subjects, memories)

    def _archived_row(self, uid: uuid.UUID, copy: IncomingArchived) -> dict[str, Any]:
        item = copy.item
        if isinstance(item, IncomingMemory):
            row = first_row(self._memory_columns({uid: item}))
        else:
            row = first_row(self._columns(Session, {uid: item}, pinned=[item.pin is not None]))
        working = [
            {**first_row(self._working_columns({said.uid or self._uid_of(said): said})), "session_id": None} for said in copy.working
        ]
        return {
            "uid": uid,
            "container_id": self.container.pk,
            "subject_id": row["subject_id"],
            "item_type": item.item_type,
            "owner": row["owner"],
            "payload": pack(row, working, asdict(item.pin) if item.pin else None),
            "reason": copy.reason,
            "run_number": copy.run_number,
            "archived_at": copy.archived_at,
            "content_at": content_at(row, now=copy.archived_at),
            "expires_at": copy.expires_at,
        }

    def _by_uid(self, given: Sequence[_Item]) -> dict[uuid.UUID, _Item]:
        """Name every item. Of several with one name the last counts, and the others are counted as repeats."""
        items: dict[uuid.UUID, _Item] = {}
        for item in given:
            uid = item.uid or self._uid_of(item)
            if uid in items:
                self.written.unchanged[item.item_type] += 1
                if items[uid].user_id != item.user_id:
                    raise UidTaken(f"{uid} stands for items of two users.")
            items[uid] = item
        return items

    def _uid_of(self, item: Incoming) -> uuid.UUID:
        return admission.uid_of(self.container, item)

    def _stored(self, model: type[models.Model], items: Mapping[uuid.UUID, Incoming | IncomingArchived]) -> dict[uuid.UUID, dict[str, Any]]:
        """Find which items are there already. Raises UidTaken when one belongs to another user."""
        found = {row["uid"]: row for row in with_uids(model, items).values()}
        for uid, row in found.items():
            if row["subject_id"] != self.subjects[items[uid].user_id]:
                raise UidTaken(f"{uid} belongs to another user.")
        self._check_owner(found)
        return found

    def _check_owner(self, found: Mapping[Any, Mapping[str, Any]]) -> None:
        """Raise OfAnother for what this writer may not change. Archive copies, which are never changed, name no owner."""
        if self.owner is not None and (others := [name for name, row in found.items() if row.get("owner", self.owner) != self.owner]):
            raise OfAnother(others)

    def _columns(self, model: type[models.Model], new: Mapping[uuid.UUID, Incoming], **computed: Column) -> dict[str, Column]:
        """Return the columns of new rows, those that every table has among them."""
        if not new:
            return computed
        items = list(new.values())
        subjects = [self.subjects[item.user_id] for item in items]
        self.arrived.extend(new)
        alike = {"container_id": Same(self.container.pk), "stored_at": Same(self.now)}
        return columns_of(model, items, {"uid": list(new), "subject_id": subjects, **alike, **computed})

    def _insert(self, model: type[models.Model], columns: Mapping[str, Column]) -> list[int]:
        """Store new rows; return the subject of each."""
        subjects = cast("list[int]", columns.get("subject_id", []))
        insert_columns(model, columns, count=len(subjects))
        return subjects

    def _update(self, model: type[models.Model], stored: Mapping[str, Any], changes: Mapping[str, Any], item_type: ItemType) -> bool:
        """Write the changes, if there are any, and count the item."""
        if not changes:
            self.written.unchanged[item_type] += 1
            return False
        if stored["restricted"]:
            raise Restricted("This is restricted: it is kept as it is until the restriction is lifted.")
        values = {name: Value(None, JSONField()) if value is None and _is_json(model, name) else value for name, value in changes.items()}
        model._default_manager.filter(pk=stored["id"]).update(**values, revision=F("revision") + 1)
        self.written.changed[item_type] += 1
        return True

    def _pin_stored(
        self, model: type[models.Model], arrived: Iterable[tuple[Mapping[str, Any], IncomingSession | IncomingMemory]], *, counter: str
    ) -> None:
        """Pin what is there already and comes back with a pin: a backup brings its pins back. A pin that stands stays as it is."""
        pinned = {stored["uid"]: item for stored, item in arrived if item.pin and not stored["pinned"]}
        if pinned:
            model._default_manager.filter(uid__in=pinned).update(pinned=True, revision=F("revision") + 1)
            write_pins(self.container, self.subjects, pinned)
        for item in pinned.values():
            self.moves.add(self.subjects[item.user_id], **{counter: 1})


def _is_json(model: type[models.Model], name: str) -> bool:
    column = model._meta.get_field(name)
    return isinstance(column, JSONField) and not column.null
