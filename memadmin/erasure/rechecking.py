"""Looking again, long after: is anything of what was erased there? By the keyed digests of what is suppressed: no name is known any more.

Every night all users are compared: one digest for each id. Every week everything that is stored is: each value, each leaf and key of its
JSON, as an id and as a text. Words inside of texts are not, since the id of one may be a word of another. What a request withholds is not
counted, and what a person has explained is told once. A finding is an alarm: on the overview, in the log, to webhooks.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from django.apps import apps
from django.db import connection, transaction
from django.db.models import F, Q

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.erasure.models import ErasureRequest, FoundAgain, FoundAgainKind, ManifestItem, Recheck, RecheckKind
from memadmin.erasure.moves import Refusal
from memadmin.erasure.verification.looking import OWN_TABLES
from memadmin.erasure.verification.plain import reading
from memadmin.erasure.verification.schema import Holds, Table, tables
from memadmin.jobs import lease
from memadmin.jobs.registry import JobView, Step
from memadmin.store import locations
from memadmin.store.identity import is_plain
from memadmin.store.locations import Act
from memadmin.store.models import Mode, Subject, SuppressedKind, Suppression
from memadmin.store.suppression_keys import KeyRing, normal, ring
from memadmin.store.text import clean, says_something

NIGHTLY, WEEKLY = "erasure.recheck", "erasure.recheck_all"
ACTOR = "job/erasure.recheck"
USERS_AT_ONCE = 20_000
ROWS_AT_ONCE = 2_000
LONGEST_REASON = 400
USERS = "store_subject"
ALIKE = (USERS, "canonical_id")  # other people's, too: whose own id it is stands beside it
LONGEST_ID = 512
WIRE = {"messages", "parts", "event", "author"}  # columns in which formats of agents have words of their own, such as "user"
REFUSED = (Mode.BLOCK, Mode.QUARANTINE)
STANDING = (*REFUSED, Mode.FLAG)


class NothingSaid(Refusal):
    """A finding ends as an alarm when somebody says what it was."""

    code = "no_reason"


@dataclass(slots=True)
class At:
    """Where a look is: which recheck, which table, behind which key."""

    recheck: int
    table: int = 0
    after: list[Any] | None = None


@dataclass(slots=True)
class Known:
    """What is suppressed by erasures, by digest. `seen` keeps what was digested already in this step."""

    keys: KeyRing
    rows: dict[str, list[Suppression]]
    seen: dict[str, list[Suppression]] = field(default_factory=dict)

    def of_id(self, user_id: str) -> list[Suppression]:
        return self._of(SuppressedKind.SUBJECT, user_id)

    def of_value(self, value: str) -> list[Suppression]:
        """Return what knows a value, as an id or as a text. A plain word or a number may be anybody's: `_met` knows where it is an id."""
        if value not in self.seen:
            as_id = self._of(SuppressedKind.SUBJECT, value) if len(value) <= LONGEST_ID and not is_plain(value) else []
            self.seen[value] = as_id + (self._of(SuppressedKind.TEXT, form) if (form := normal(value)) else [])
        return self.seen[value]

    def _of(self, kind: SuppressedKind, text: str) -> list[Suppression]:
        found = [row for digest in self.keys.digests(kind, text).values() for row in self.rows.get(digest, ())]
        return [row for row in found if row.kind == kind]


def known(modes: Iterable[Mode]) -> Known:
    """Raises KeysUnusable."""
    rows: dict[str, list[Suppression]] = {}
    for row in Suppression.objects.filter(mode__in=list(modes), request_ref__startswith="erasure/"):
        rows.setdefault(row.digest, []).append(row)
    return Known(ring(), rows)


def step(job: JobView, kind: RecheckKind, *, now: datetime) -> Step:
    """Look through some users, or some rows of one table."""
    if not job.cursor:
        with transaction.atomic():
            begun = At(Recheck.objects.create(kind=kind, started_at=now).pk)
            return _saved(job, Step(finished=False, cursor=asdict(begun)), now=now)
    at = At(**job.cursor)
    recheck = Recheck.objects.get(pk=at.recheck)
    after, looked = (_some_users if kind is RecheckKind.NIGHTLY else _some_rows)(recheck, at, now=now)
    with transaction.atomic():  # how much was looked at, and where the look is: a kill between the two would count it twice
        Recheck.objects.filter(pk=recheck.pk).update(looked_at=F("looked_at") + looked)
        if after is None:
            _end(recheck, now=now)
        return _saved(job, Step(finished=after is None, cursor=asdict(after or at), done=job.done + looked), now=now)


def _saved(job: JobView, step: Step, *, now: datetime) -> Step:
    lease.checkpoint(job, step, now=now)
    return step


def _some_users(recheck: Recheck, at: At, *, now: datetime) -> tuple[At | None, int]:
    what = known(STANDING)
    begin = at.after[0] if at.after else 0
    rows = Subject.objects.filter(pk__gt=begin, user_id__isnull=False).order_by("pk")
    some = list(rows.values_list("pk", "container_id", "user_id", "stored_at")[:USERS_AT_ONCE]) if what.rows else []
    for key, container, user_id, stored_at in some:
        for row in what.of_id(str(user_id)):
            if row.container_id in (None, container) and (meant := _kind_of(row, key, stored_at)):
                _note(recheck, row, meant, (USERS, "user_id", str(key)), now=now)
    return (At(at.recheck, after=[some[-1][0]]) if len(some) == USERS_AT_ONCE else None), len(some)


def _kind_of(row: Suppression, subject: int, stored_at: datetime) -> FoundAgainKind | None:
    """Say what the row of a user is: what was withheld stays, who comes back after the block is somebody new."""
    if stored_at > row.since:
        return FoundAgainKind.CAME_BACK if row.mode == Mode.BLOCK else None
    withheld = ManifestItem.objects.filter(manifest__request=_request_of(row), act=Act.WITHHOLD, subject_id=subject)
    return None if withheld.exists() else FoundAgainKind.STAYED


def _some_rows(recheck: Recheck, at: At, *, now: datetime) -> tuple[At | None, int]:
    what = known(REFUSED)
    every = [table for table in tables() if not table.name.startswith(OWN_TABLES) and table.holding(Holds.TEXT)]
    if at.table >= len(every) or not what.rows:
        return None, 0
    table, looked, last = every[at.table], 0, at.after
    columns = [column for column in table.holding(Holds.TEXT) if (table.name, column) != ALIKE]
    plainly = reading(table).keys() - WIRE
    for row in _rows_of(table, columns, after=at.after):
        looked, last = looked + 1, list(row[: len(table.key)])
        for column, value in zip(columns, row[len(table.key) :], strict=True):
            for met in _met(what, value, is_name=column in plainly):
                _note_row(recheck, met, table, (column, last), now=now)
    return (At(at.recheck, at.table, last) if looked == ROWS_AT_ONCE else At(at.recheck, at.table + 1)), looked


def _met(what: Known, value: Any, *, is_name: bool) -> list[Suppression]:
    if not isinstance(value, str):
        return []
    said = list(dict.fromkeys(_said_in(value)))
    plain = [row for each in said if is_name and is_plain(each) for row in what.of_id(each)]
    return plain + [row for each in said for row in what.of_value(each)]


def _said_in(value: str) -> Iterator[str]:
    """Yield the value itself, and of JSON its keys and leaves."""
    yield value
    if value[:1] not in ("{", "["):
        return
    try:
        waiting = [json.loads(value)]
    except (ValueError, RecursionError):
        return
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            yield from part
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
        elif isinstance(part, str):
            yield part


def _rows_of(table: Table, columns: list[str], *, after: list[Any] | None) -> list[tuple[Any, ...]]:
    name = connection.ops.quote_name
    key, places = ", ".join(map(name, table.key)), ", ".join(str(place) for place, _ in enumerate(table.key, 1))
    said = ", ".join(f"{name(column)}::text" if connection.vendor == "postgresql" else name(column) for column in columns)
    where = f" WHERE ({key}) > ({', '.join(['%s'] * len(table.key))})" if after else ""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {key}, {said} FROM {name(table.name)}{where} ORDER BY {places} LIMIT {ROWS_AT_ONCE}", after or [])
        return list(cursor.fetchall())


def _note_row(recheck: Recheck, row: Suppression, table: Table, place: tuple[str, list[Any]], *, now: datetime) -> None:
    column, key = place
    if row.container_id is not None and _container_of(table, key) not in (None, row.container_id):
        return  # who has the id there is somebody else
    stored = json.dumps(key[0] if len(key) == 1 else key, default=str)
    places = [place.name for place in locations.LOCATIONS.values() if place.table == table.name]
    same = Q(location__in=places, row_key=stored) | (Q(subject_id=key[0]) if table.name == USERS else Q(pk=None))
    if not ManifestItem.objects.filter(same, manifest__request=_request_of(row), act=Act.WITHHOLD).exists():
        kind = FoundAgainKind.NAMED if row.kind == SuppressedKind.SUBJECT else FoundAgainKind.TEXT
        _note(recheck, row, kind, (table.name, column, stored[:100]), now=now)


def _container_of(table: Table, key: list[Any]) -> int | None:
    """Return the container of a row. None: its table is not one of ours, or knows no containers."""
    model = next((each for each in apps.get_models(include_auto_created=True) if each._meta.db_table == table.name), None)
    if model is None or not any(field.attname == "container_id" for field in model._meta.concrete_fields):
        return None
    container: int | None = (
        model._base_manager.filter(pk=key[0] if len(key) == 1 else tuple(key)).values_list("container_id", flat=True).first()
    )
    return container


def _request_of(row: Suppression) -> int | None:
    """Return the key of the request that suppressed something."""
    uid = row.request_ref.partition("/")[2]
    return ErasureRequest.objects.filter(uid=uid).values_list("pk", flat=True).first()


def _note(recheck: Recheck, row: Suppression, kind: FoundAgainKind, place: tuple[str, str, str], *, now: datetime) -> None:
    table, column, key = place
    _, new = FoundAgain.objects.get_or_create(
        suppression_uid=row.uid,
        table=table,
        column=column,
        row_key=key,
        defaults={"recheck": recheck, "kind": kind, "request_ref": row.request_ref, "found_at": now},
    )
    if new:
        Recheck.objects.filter(pk=recheck.pk).update(found=F("found") + 1)


@transaction.atomic
def _end(recheck: Recheck, *, now: datetime) -> None:
    """A finding is in the log as an alarm of its own, from where webhooks hear of it."""
    if not Recheck.objects.filter(pk=recheck.pk, ended_at=None).update(ended_at=now):
        return
    recheck.refresh_from_db()
    counts = {"looked_at": recheck.looked_at, "found": recheck.found}
    action = Action.ERASURE_FOUND_AGAIN if recheck.found else Action.ERASURE_RECHECKED
    log.append(action, actor=ACTOR, target=str(recheck), at=now, reason_code=recheck.kind, counts=counts)


@transaction.atomic
def settle(found: FoundAgain, reason: str, *, actor: str, now: datetime) -> None:
    """Say what a finding was, and what was done about it: it is no alarm any more. Twice is once. Raises NothingSaid."""
    said = clean(reason).strip()[:LONGEST_REASON]
    if not says_something(said):
        raise NothingSaid("Say what it was and what was done about it.")
    if FoundAgain.objects.filter(pk=found.pk, settled_at=None).update(settled_at=now, settled_by=actor, reason=said):
        log.append(Action.ERASURE_FINDING_SETTLED, actor=actor, target=str(found), at=now, payload={"reason": said})


def alarms() -> int:
    """How much was found again that nobody has explained."""
    return FoundAgain.objects.filter(settled_at=None).count()
