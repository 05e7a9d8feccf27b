"""Ways to find what a place of `locations` holds, for the apps that describe one."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db import connection, models
from django.db.models import BinaryField, F, IntegerField, QuerySet, TextField, Value
from django.db.models.functions import Cast, Coalesce, Length

from memadmin.store import counters
from memadmin.store.locations import Find, Found, Page, Scope, row_uid
from memadmin.store.staying import HANGING, may_bind, must_stay, with_stays

SEARCHED_AT_ONCE = 1_000
Reader = Callable[[Any], str]
About = Callable[[Sequence[Any]], Mapping[Any, UUID]]


def owned(name: str, model: type[models.Model], *, links: Sequence[str], said: Sequence[str] = (), at: str = "") -> Find:
    """Rows of a table with a subject: all of a user's, or those of which one of the `links` names an item that the request is about.

    `said` are the columns whose length is added up, `at` is the one that dates a row.
    """
    uid = "uid" if any(field.name == "uid" for field in model._meta.fields) else ""

    def find(scope: Scope, after: Any, limit: int) -> Page:
        rows = with_stays(_meant(model, scope, links)).order_by("pk").annotate(said_size=_length(model, said))
        rows = rows if after is None else rows.filter(pk__gt=_key(after))
        columns = ["pk", uid or "pk", "subject_id", "said_size", at or "pk", "stays"]
        page = list(rows.values_list(*columns)[:limit])
        found = [
            Found(key, given if uid else row_uid(name, key), subject, size, dated if at else None, stays)
            for key, given, subject, size, dated, stays in page
        ]
        return Page(found, found[-1].key if len(page) == limit else None)

    return find


def searched(
    name: str,
    model: type[models.Model],
    columns: Sequence[str],
    *,
    read: Mapping[str, Reader] | None = None,
    said: Mapping[str, Reader] | None = None,
    about: About | None = None,
    at: str = "",
    records: bool = False,
    copies: bool = False,
) -> Find:
    """Rows of a table without a subject: those whose columns name what the request is about. Goes through the whole table.

    `read` says how a column becomes text, where that is not `str` or JSON, and `said` what of it somebody wrote; `about` tells for rows by
    their keys which user or item each is about; `records`: the program itself has written them, and no plain word in them is anybody's id.
    `copies`: what somebody wrote may repeat words of the person, which is found as doubtful. It costs no reading, only the comparing.
    """
    spoken = {**(read or {}), **said} if said else None

    def find(scope: Scope, after: Any, limit: int) -> Page:
        everything: QuerySet[Any] = QuerySet(model).order_by("pk")
        rows = everything if after is None else everything.filter(pk__gt=_key(after))
        page = list(rows.values_list("pk", at or "pk", *columns)[: min(limit, SEARCHED_AT_ONCE)])
        theirs = _theirs(scope, about, page)
        found = []
        for key, dated, *values in page:
            texts = _texts(columns, values, read or {})
            words = _texts(columns, values, spoken) if spoken else texts
            certain = scope.named_in_records("\n".join(texts)) or (key in theirs and any(words))
            doubtful = not certain and not records and scope.plainly_named_in("\n".join(words))
            if certain or doubtful or (copies and any(map(scope.copied_in, words))):
                size = sum(map(len, texts))
                found.append(Found(key, row_uid(name, key), size=size, at=dated if at else None, doubtful=not certain))
        return Page(found, page[-1][0] if page else None)

    return find


def _theirs(scope: Scope, about: About | None, page: Sequence[Any]) -> set[Any]:
    """Return the keys of the rows that are about the person, or about one of the items that are meant."""
    named = about([row[0] for row in page]) if about and page else {}
    members = scope.members(set(named.values())) if named else set()
    return {key for key, uid in named.items() if uid in members}


def raw_delete(model: type[models.Model]) -> Callable[[Sequence[Any]], int]:
    """Return what deletes rows of a table by their keys. Never for memories: these go through `removal`. What hangs on held ones stays."""

    def delete(keys: Sequence[Any]) -> int:
        everything: QuerySet[Any] = QuerySet(model)
        rows = everything.filter(pk__in=[tuple(key) if isinstance(key, list) else key for key in keys])
        if model in HANGING and may_bind(_locked(rows)):
            rows = rows.exclude(must_stay(model))
        gone: int = rows._raw_delete(connection.alias)
        return gone

    return delete


def _locked(rows: QuerySet[Any]) -> list[int]:
    """Return whose rows they are, locked: no hold is placed meanwhile."""
    users = sorted(set(rows.values_list("subject_id", flat=True)))
    counters.lock(users)
    return users


def _key(after: Any) -> Any:
    """A key of several columns comes back from a job's cursor as a list."""
    return tuple(after) if isinstance(after, list) else after


def _meant(model: type[models.Model], scope: Scope, links: Sequence[str]) -> QuerySet[Any]:
    if scope.subjects:
        return model._default_manager.filter(subject_id__in=list(scope.subjects))
    return linked(model, scope, links)


def linked(model: type[models.Model], scope: Scope, columns: Sequence[str]) -> QuerySet[Any]:
    """Return the rows of which one of the columns names an item that the request is about.

    One `IN` a column and a union of them: with an OR between them PostgreSQL goes through all names for every row, once there are many.
    """
    everything = model._default_manager.order_by()
    first, *others = (everything.filter(**{f"{column}__in": scope.uids()}) for column in columns)
    return everything.filter(pk__in=first.values("pk").union(*(each.values("pk") for each in others))) if others else first


def _length(model: type[models.Model], columns: Sequence[str]) -> Any:
    total: Any = Value(0, output_field=IntegerField())
    for column in columns:
        is_binary = isinstance(model._meta.get_field(column), BinaryField)
        total = total + Coalesce(Length(F(column) if is_binary else Cast(column, TextField())), 0)
    return total


def _texts(columns: Sequence[str], values: Sequence[Any], read: Mapping[str, Callable[[Any], str]]) -> list[str]:
    return [_as_text(value, read.get(column)) for column, value in zip(columns, values, strict=True)]


def _as_text(value: Any, read: Callable[[Any], str] | None) -> str:
    if value is None:
        return ""
    if read is not None:
        return read(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
