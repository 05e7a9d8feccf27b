"""Lists by key: a cursor names the place behind the last row of a page, so that none is shown twice or left out meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.db.models import BigIntegerField, F, QuerySet
from django.db.models.functions import Cast
from rest_framework.response import Response

from memadmin.store.paging import Slice, slice_by_key


def by_key(rows: QuerySet[Any], query: Mapping[str, Any], *, key: str, descending: bool = False) -> Slice:
    """Return the page that the query names, by `key` and then id. Raises InvalidPlace."""
    return slice_by_key(rows, key=key, descending=descending, token=query.get("cursor", ""), size=query["limit"])


def by_id(rows: QuerySet[Any], query: Mapping[str, Any], *, descending: bool = False, id_field: str = "id") -> Slice:
    """Like `by_key`, for lists in the order of storing."""
    place = Cast(F(id_field), BigIntegerField())
    named = {"key": place} if id_field == "id" else {"key": place, "id": place}
    return by_key(rows.annotate(**named), query, key="key", descending=descending)


def in_order(rows: QuerySet[Any], page: Slice) -> list[Any]:
    """Fetch the rows of a page in its order. One that has gone meanwhile is left out."""
    found = {row.pk: row for row in rows.filter(pk__in=page.ids)}
    return [found[key] for key in page.ids if key in found]


def listed(rows: Sequence[Any], page: Slice, render: Callable[[Any], Mapping[str, Any]]) -> Response:
    return Response({"items": [render(row) for row in rows], "next": page.next})
