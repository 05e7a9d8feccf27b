"""`held` and `restricted` on rows: copies of the standing holds, made for a user, a whole container, or what has just arrived.

A row is bound by a hold on itself, its session (a message), its memory (history), its user or its container. A restriction holds too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from uuid import UUID

from django.db import connection

from memadmin.store.bulk import uid_list


class Restricted(Exception):
    """What is restricted is kept as it is: it is not changed."""


_STANDING = "SELECT 1 FROM store_hold h WHERE h.released_at IS NULL{kind} AND "
_KINDS = {"held": "", "restricted": " AND h.kind = 'restriction'"}

# By table: what binds a row (alias t) besides its own hold. {flag} is the name of the column, {holds} the start of a subquery.
_OF_SUBJECT = "(SELECT s.{flag} FROM store_subject s WHERE s.id = t.subject_id)"
_OF_CONTAINER = "EXISTS ({holds} h.scope = 'containers' AND h.container_id = t.container_id)"
_ITEMS: Mapping[str, str] = {
    "store_session": _OF_SUBJECT + " OR EXISTS ({holds} h.target_uid = t.uid)",
    "store_workingmemory": _OF_SUBJECT + " OR EXISTS (SELECT 1 FROM store_session p WHERE p.id = t.session_id AND p.{flag})",
    "store_longtermmemory": _OF_SUBJECT + " OR EXISTS ({holds} h.target_uid = t.uid)",
    "store_historyentry": _OF_SUBJECT + " OR EXISTS ({holds} h.target_uid = t.memory_uid)",
    "store_archived": _OF_SUBJECT + " OR EXISTS ({holds} h.target_uid = t.uid)",
}


def copy_holds(*, container_id: int, subject_id: int | None) -> dict[str, int]:
    """Bring the copies of one user, or of a container and all in it, in line with the holds; return how many rows changed, by table.

    Their subjects must be locked. Rows that say the right thing already are not written.
    """
    if subject_id is None:
        _bring("store_container", "EXISTS ({holds} h.scope = 'containers' AND h.target_uid = t.uid)", "t.id = %s", [container_id])
    column, key = ("container_id", container_id) if subject_id is None else ("subject_id", subject_id)
    changed = {"subject": _bring_subjects("t.container_id = %s" if subject_id is None else "t.id = %s", key)}
    for table, binding in _ITEMS.items():  # sessions before their messages
        changed[table.removeprefix("store_")] = _bring(table, binding, f"t.{column} = %s", [key])
    return changed


def copy_to_arrivals(uids: Iterable[UUID]) -> None:
    """Let items that have just arrived for somebody who has something held take over what binds them."""
    condition, parameters = uid_list("t.uid", uids)
    for table, binding in _ITEMS.items():
        _bring(table, binding, condition, parameters)


def differing() -> Iterator[tuple[str, int]]:
    """Yield the row, as `table/key`, and the subject of each copy that does not say what the holds say. Reads all rows."""
    for table, binding in _ITEMS.items():
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT t.id, t.subject_id FROM {table} AS t WHERE {_differs(binding)} ORDER BY t.id")
            while found := cursor.fetchmany(500):
                yield from ((f"{table.removeprefix('store_')}/{key}", subject) for key, subject in found)


def _bring_subjects(where: str, key: int) -> int:
    own = f"EXISTS ({{holds}} h.target_uid = t.uid) OR {_OF_CONTAINER}"
    changed = _bring("store_subject", own, where, [key])
    any_of_it = f"{_OF_CONTAINER} OR EXISTS ({{holds}} h.subject_id = t.id)".format(holds=_STANDING.format(kind=""))
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE store_subject AS t SET has_holds = ({any_of_it}) WHERE {where} AND t.has_holds <> ({any_of_it})", [key])
    return changed


def _bring(table: str, binding: str, where: str, parameters: list[Any]) -> int:
    truth = {flag: binding.format(flag=flag, holds=_STANDING.format(kind=kind)) for flag, kind in _KINDS.items()}
    sets = ", ".join(f"{flag} = ({sql})" for flag, sql in truth.items())
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE {table} AS t SET {sets} WHERE {where} AND ({_differs(binding)})", parameters)
        return int(cursor.rowcount)


def _differs(binding: str) -> str:
    truth = {flag: binding.format(flag=flag, holds=_STANDING.format(kind=kind)) for flag, kind in _KINDS.items()}
    return " OR ".join(f"t.{flag} <> ({sql})" for flag, sql in truth.items())
