"""Finding or making the users whom a batch is about, locking them, and asking whether what arrives was erased before.

Whoever is not suppressed costs no look-up: a user's row says so, and a user without a row is asked for with the others of the batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import Exists

from memadmin.store import making_locks, suppression
from memadmin.store.bulk import id_list
from memadmin.store.identity import canonical_id
from memadmin.store.models import Container, Mode, Subject
from memadmin.store.suppression import Verdict

_COLUMNS = "id, suppressed, has_holds"


class Suppressed(Exception):
    """Something was erased and is not taken again here. `users` and `items` are what was refused; the message names neither."""

    def __init__(self, container: Container, *, users: Iterable[str] = (), items: Iterable[Any] = ()) -> None:
        super().__init__("This was erased on request and is not taken again. Somebody with the right to can lift that.")
        self.container = container
        self.users = frozenset(users)
        self.items = tuple(items)


@dataclass(slots=True)
class Opened:
    """The locked users of a batch by their id: their keys, which of them are suppressed and how, and who has something held."""

    keys: dict[str | None, int] = field(default_factory=dict)
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    origin: Container | None = None  # the container that the batch is a copy from, where it is not this one
    at_origin: dict[str, Verdict] = field(default_factory=dict)  # of those who were erased there
    with_holds: set[int] = field(default_factory=set)
    texts: bool = False  # whether a text is suppressed here at all


def open_users(container: Container, user_ids: Iterable[str | None], *, now: datetime, origin: Container | None = None) -> Opened:
    """Find or make the subjects, and lock them: from here on nobody else adds an item for them.

    What is a copy from another container, its `origin`, is not taken here either where it was erased there.
    Raises Suppressed, KeysUnusable.
    """
    wanted = set(user_ids)
    at_origin = suppression.verdicts(origin, wanted, now=now) if origin else {}
    _refuse(container, at_origin)
    opened = Opened(origin=origin, at_origin=at_origin)
    places = [container, origin] if origin else [container]
    found = _find(places, wanted)
    missing = wanted - found.keys()
    if missing:
        making_locks.announce(name for name in missing if name is not None)
    verdicts = suppression.verdicts(container, missing, now=now) if missing else {}
    _refuse(container, verdicts)
    if missing:
        _make(container, missing, {**_aside(at_origin), **verdicts})
        found = _find(places, wanted)
    opened.keys, opened.verdicts = {name: row.key for name, row in found.items()}, verdicts
    opened.texts = any(row.texts for row in found.values())
    locked = _locked(found)
    opened.with_holds = {key for key, (_, has_holds) in locked.items() if has_holds}
    _judge_known(container, opened, locked, now=now)
    return opened


class _Known(NamedTuple):
    """What the row of a user says, and whether a text is suppressed in the places asked: asked along with it, once."""

    key: int
    suppressed: str
    has_holds: bool
    texts: bool


def _find(places: Sequence[Container], user_ids: set[str | None]) -> dict[str | None, _Known]:
    """Find users in the first of the places; texts are suppressed in any of them."""
    subjects = Subject.objects.of_container(places[0]).annotate(texts=Exists(suppression.texts_here(*places)))
    columns = ("user_id", "id", "suppressed", "has_holds", "texts")
    rows = list(subjects.filter(user_id__in=[name for name in user_ids if name is not None]).values_list(*columns))
    if None in user_ids:
        rows += subjects.filter(user_id__isnull=True).values_list(*columns)
    return {name: _Known(*said) for name, *said in rows}


def _locked(found: Mapping[str | None, _Known]) -> dict[int, tuple[str, bool]]:
    """Lock the users and return what their rows say now that nobody else changes them. SQLite's write transaction has done so."""
    if connection.vendor != "postgresql":
        return {row.key: (row.suppressed, row.has_holds) for row in found.values()}
    condition, parameters = id_list("id", [row.key for row in found.values()])
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {_COLUMNS} FROM store_subject WHERE {condition} ORDER BY id FOR UPDATE", parameters)
        return {key: (suppressed, has_holds) for key, suppressed, has_holds in cursor.fetchall()}


def _judge_known(container: Container, opened: Opened, locked: Mapping[int, tuple[str, bool]], *, now: datetime) -> None:
    """Ask again about users whose row says that they are suppressed: time may have softened that, which the row then says too."""
    if len(locked) < len(opened.keys):  # a row that went while we waited for it went with everything of its user
        raise Suppressed(container, users=[name for name, key in opened.keys.items() if key not in locked and name is not None])
    marked = {name: mode for name, key in opened.keys.items() if name is not None and (mode := locked[key][0])}
    if not marked:
        return
    verdicts = suppression.verdicts(container, marked, now=now)
    _refuse(container, verdicts)
    opened.verdicts |= verdicts
    counting = {**_aside(opened.at_origin), **verdicts}
    for name, mode in marked.items():
        truth = counting[name].mode.value if name in counting else ""
        if truth != mode:
            Subject.objects.filter(pk=opened.keys[name]).update(suppressed=truth)


def _aside(at_origin: Mapping[str, Verdict]) -> dict[str, Verdict]:
    """Return those of whom something is set aside: a row that is made for that alone says so, and goes when it is dropped."""
    return {name: verdict for name, verdict in at_origin.items() if verdict.mode is Mode.QUARANTINE}


def _refuse(container: Container, verdicts: Mapping[str, Verdict]) -> None:
    shut = [name for name, verdict in verdicts.items() if verdict.mode in {Mode.FENCE, Mode.BLOCK}]
    if shut:
        raise Suppressed(container, users=shut)


def _make(container: Container, missing: Iterable[str | None], verdicts: Mapping[str, Verdict]) -> None:
    """Make the subjects that are missing, with the hold of their container: its row is locked in share mode against one being placed."""
    held, restricted = _holds_of(container)
    rows = [
        Subject(
            container=container,
            user_id=name,
            canonical_id=canonical_id(name) if name is not None else "",
            suppressed=verdicts[name].mode if name is not None and name in verdicts else "",
            held=held,
            restricted=restricted,
            has_holds=held,
        )
        for name in sorted(missing, key=lambda name: (name is not None, name))
    ]
    Subject.objects.bulk_create(rows, ignore_conflicts=True)


def _holds_of(container: Container) -> tuple[bool, bool]:
    lock = " FOR KEY SHARE" if connection.vendor == "postgresql" else ""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT held, restricted FROM store_container WHERE id = %s{lock}", [container.pk])
        row = cursor.fetchone() or (False, False)
        return bool(row[0]), bool(row[1])
