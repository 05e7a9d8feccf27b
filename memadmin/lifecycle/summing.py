"""Victims in numbers. The same sums over a selection, which is not stored, and over the recorded rows of a run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import zip_longest
from typing import Any
from uuid import UUID

from django.db import connection

from memadmin.lifecycle.items import SOURCES, moment_of
from memadmin.lifecycle.models import ItemKind, Run, RunVictim
from memadmin.lifecycle.selection import COLUMNS, Selection
from memadmin.lifecycle.spared import spared_sql
from memadmin.lifecycle.totals import Totals, TypeTotals
from memadmin.store.models import Container
from retention.victims import Reason

NAMES = ("part", "n", "item_kind", *COLUMNS.split(", "))
ROW, GROUP, USERS, CASCADE, LOST = range(5)  # the answers in one statement, so that victims are looked for once; `part` tells them apart


@dataclass(frozen=True, slots=True)
class Summed:
    totals: Totals
    first: tuple[RunVictim, ...] = ()


def sum_selections(container: Container, selections: Sequence[Selection], *, limit: int) -> Summed:
    """Return the totals of selections that are not recorded, with `limit` first victims, fairly by type."""
    if not selections:
        return Summed(_with_stock(container, selections, {}, users=0))
    union = " UNION ALL ".join(
        f"SELECT {selection.kind.value} AS item_kind, {COLUMNS} FROM ({selection.sql}) s" for selection in selections
    )
    firsts = " UNION ALL ".join(_first_of(selection.kind, limit) for selection in selections)
    sql = f"WITH v AS ({union}), {_by_user('v')} {firsts} UNION ALL {_sums(selections, 'v')}"
    summed = _summed(container, selections, sql)
    return Summed(summed.totals, _fairly(summed.first, limit))


def _first_of(kind: ItemKind, limit: int) -> str:
    ordered = f"SELECT * FROM v WHERE item_kind = {kind.value} ORDER BY subject_id, item_id LIMIT {limit}"
    return _part(ROW, f"({ordered}) f{kind.value}", n="1", **_same(NAMES[2:]))


def _fairly(victims: Sequence[RunVictim], limit: int) -> tuple[RunVictim, ...]:
    """Return at most `limit` of them, of each type as many as of any other where there are as many."""
    of_kinds = [[victim for victim in victims if victim.item_kind == kind] for kind in ItemKind]
    in_turn = [victim for turn in zip_longest(*of_kinds) for victim in turn if victim is not None]
    return tuple(sorted(in_turn[:limit], key=lambda victim: (victim.item_kind, victim.seq)))


def sum_run(run: Run, selections: Sequence[Selection]) -> Totals:
    """Return the totals of the recorded victims of a run."""
    recorded = f"(SELECT item_kind, reasons, tokens, item_id, subject_id FROM lifecycle_runvictim WHERE run_id = {run.pk}) v"
    return _summed(run.container, selections, f"WITH {_by_user(recorded)} {_sums(selections, recorded)}").totals


def _by_user(v: str) -> str:
    """Return the one pass over the victims `v` from which all sums are made: one row for each user, type and set of reasons."""
    return (
        "by_user AS (SELECT subject_id, item_kind, reasons, COUNT(*) AS n, SUM(tokens) AS tokens "
        f"FROM {v} GROUP BY subject_id, item_kind, reasons)"
    )


def _sums(selections: Sequence[Selection], v: str) -> str:
    """Return the sums over the victims `v`, which stand in a table or in front of the statement, as `by_user` does."""
    groups = _part(GROUP, "by_user GROUP BY item_kind, reasons", n="SUM(n)", tokens="SUM(tokens)", **_same(("item_kind", "reasons")))
    users = "(SELECT DISTINCT subject_id AS id FROM by_user) u JOIN store_subject s ON s.id = u.id AND s.user_id IS NOT NULL"
    sums = [groups, _part(USERS, users, n="COUNT(*)")]
    kinds = {selection.kind for selection in selections}
    if ItemKind.SESSION in kinds:
        cascade = f"{v} JOIN store_workingmemory w ON w.session_id = v.item_id WHERE v.item_kind = {ItemKind.SESSION.value}"
        sums.append(_part(CASCADE, cascade, n="COUNT(*)", tokens="COALESCE(SUM(w.message_count), 0)"))
    if ItemKind.WORKING in kinds:
        lost = f"{v} JOIN store_workingmemory w ON w.id = v.item_id WHERE v.item_kind = {ItemKind.WORKING.value}"
        sums.append(_part(LOST, lost, tokens="COALESCE(SUM(w.message_count), 0)"))
    return " UNION ALL ".join(sums)


def _part(part: int, rows: str, **columns: str) -> str:
    return f"SELECT {part}, {', '.join(columns.get(name, 'NULL') for name in NAMES[1:])} FROM {rows}"


def _same(names: Iterable[str]) -> dict[str, str]:
    return {name: name for name in names}


def _summed(container: Container, selections: Sequence[Selection], sql: str) -> Summed:
    answers: defaultdict[int, list[dict[str, Any]]] = defaultdict(list)
    for values in _rows(sql):
        answers[values[0]].append(dict(zip(NAMES, values, strict=True)))
    by_kind: dict[ItemKind, TypeTotals] = {}
    for group in answers[GROUP]:
        kind = ItemKind(group["item_kind"])
        by_kind[kind] = _with_group(by_kind.get(kind, TypeTotals()), group)
    for cascade in answers[CASCADE] if ItemKind.SESSION in by_kind else ():
        by_kind[ItemKind.SESSION] = replace(by_kind[ItemKind.SESSION], working=int(cascade["n"]), messages=int(cascade["tokens"]))
    for lost in answers[LOST] if ItemKind.WORKING in by_kind else ():
        by_kind[ItemKind.WORKING] = replace(by_kind[ItemKind.WORKING], messages=int(lost["tokens"]))
    totals = _with_stock(container, selections, by_kind, users=int(answers[USERS][0]["n"]))
    return Summed(totals, tuple(_victim(row, seq) for seq, row in enumerate(answers[ROW], 1)))


def _with_group(totals: TypeTotals, group: dict[str, Any]) -> TypeTotals:
    reason = Reason.from_bits(group["reasons"])[0]
    by_reason = {**totals.by_reason, reason: totals.by_reason.get(reason, 0) + int(group["n"])}
    return replace(totals, total=totals.total + int(group["n"]), tokens=totals.tokens + int(group["tokens"]), by_reason=by_reason)


def _with_stock(container: Container, selections: Sequence[Selection], by_kind: dict[ItemKind, TypeTotals], *, users: int) -> Totals:
    """Add what is stored, what is exempt, and what is left for the next run."""
    columns = ", ".join(f"COALESCE(SUM({source.stored}), 0), COALESCE(SUM({source.pinned}), 0)" for source in SOURCES.values())
    stock = iter(_rows(f"SELECT {columns} FROM store_subject WHERE container_id = {container.pk}")[0])
    selected = {selection.kind: selection for selection in selections}
    by_type = {}
    for kind in SOURCES:
        totals = replace(by_kind.get(kind, TypeTotals()), stored=int(next(stock)), pinned=int(next(stock)))
        if kind in selected:
            exempt = exempt_past_limit(container, selected[kind])
            totals = replace(totals, left_for_later=selected[kind].left_for_later, exempt_past_limit=exempt)
        by_type[kind.memory_type] = totals
    return Totals(by_type=by_type, users=users)


def exempt_past_limit(container: Container, selection: Selection) -> int:
    """Count what only a pin or a hold keeps."""
    if selection.kind in (ItemKind.HISTORY, ItemKind.WORKING):
        return 0
    return int(_rows(f"SELECT COUNT(*) FROM ({spared_sql(container, selection.kind, selection.past_limit)}) s")[0][0])


def _victim(row: dict[str, Any], seq: int) -> RunVictim:
    values = {name: row[name] for name in NAMES if name not in {"part", "n", "item_uid", "last_accessed_at", "dated_at"}}
    uid = row["item_uid"] if isinstance(row["item_uid"], UUID) else UUID(row["item_uid"])
    return RunVictim(seq=seq, item_uid=uid, last_accessed_at=_moment(row["last_accessed_at"]), dated_at=_moment(row["dated_at"]), **values)


def _moment(stored: Any) -> datetime | None:
    return None if stored is None else moment_of(stored)


def _rows(sql: str) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return list(cursor.fetchall())
