"""What every list page shares: the page of rows that the address names, and its foot with true totals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import BigIntegerField, QuerySet
from django.db.models.expressions import RawSQL
from django.http import HttpRequest

from memadmin.pages.htmx import problem
from memadmin.store.listing import NO_TIME
from memadmin.store.paging import InvalidPlace, Slice, slice_by_key
from memadmin.store.scoring import micros_sql

PAGE_SIZE = 50


@dataclass(frozen=True)
class Paging:
    """The foot of a list, as `components/_paging.html` reads it."""

    first: int
    last: int
    total: int
    next: str
    previous: str
    noun: str
    capped: bool = False


def by_time(column: str) -> RawSQL:
    """Return the key of a list in the order of a time, `table.column`: in microseconds, since a place in a list is numbers and texts."""
    return RawSQL(f"COALESCE({micros_sql(column)}, {-NO_TIME})", [], output_field=BigIntegerField())


def slice_of(
    request: HttpRequest, rows: QuerySet[Any], *, key: str, descending: bool = False, size: int = PAGE_SIZE, start: str = ""
) -> Slice:
    """Return the page that the address names, else that of `start`; the first one, with a word to the reader, for a place that is none."""
    try:
        return slice_by_key(rows, key=key, descending=descending, token=request.GET.get("after", "") or start, size=size)
    except InvalidPlace as error:
        problem(request, f"{error} This is its beginning.")
        return slice_by_key(rows, key=key, descending=descending, size=size)


def paging(request: HttpRequest, page: Slice, *, total: int, noun: str, capped: bool = False, **carried: str) -> Paging:
    """Return the foot of a page; `noun` is the plural of what it lists.

    `carried` are parameters that the links to its neighbours have besides those of this address.
    """
    total = max(total, page.last)
    return Paging(
        first=page.first,
        last=page.last,
        total=total,
        next=_turned(request, page.next, carried),
        previous=_turned(request, page.previous, carried),
        noun=_one(noun) if total == 1 else noun,
        capped=capped,
    )


def in_order(rows: QuerySet[Any], page: Slice) -> list[Any]:
    """Fetch the rows of a page, in its order. One that has gone meanwhile is left out."""
    found = {row["pk"] if isinstance(row, dict) else row.pk: row for row in rows.filter(pk__in=page.ids)}
    return [found[key] for key in page.ids if key in found]


def _one(plural: str) -> str:
    return f"{plural.removesuffix('ies')}y" if plural.endswith("ies") else plural.removesuffix("s")


def _turned(request: HttpRequest, token: str | None, carried: dict[str, str]) -> str:
    if token is None:
        return ""
    query = request.GET.copy()
    for name, value in {**carried, "after": token}.items():
        query[name] = value
    return f"{request.path}?{query.urlencode()}"
