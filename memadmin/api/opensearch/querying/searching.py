"""A search carried out over the rows that a token reaches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import F, FloatField, QuerySet, Value

from memadmin.api.opensearch.querying.bodies import EXACTLY
from memadmin.api.opensearch.querying.conditions import Fields, condition_of, relevance_of
from memadmin.api.opensearch.querying.fields import Relevance
from memadmin.api.opensearch.querying.ordering import Column, behind_all, columns_of
from memadmin.api.opensearch.querying.queries import Search


@dataclass(frozen=True, slots=True)
class Hit:
    """`score` None: the hits are sorted by something else. `sort` None: by nothing that was asked for."""

    row: Any
    score: float | None
    sort: list[Any] | None


@dataclass(frozen=True, slots=True)
class Found:
    """`total` None: not asked for. `exact` False: there are more than `total`."""

    hits: list[Hit]
    total: int | None
    exact: bool
    max_score: float | None


def find(rows: QuerySet[Any], search: Search, fields: Fields) -> Found:
    """Return the hits among the rows. Raises QueryRefused for what the fields cannot be asked."""
    matching = rows.filter(condition_of(search.query, fields))
    relevance = relevance_of(search.query, fields)
    columns = columns_of(search.sort, fields, relevance)
    total, exact = _total(matching, search)
    hits = list(_hits(rows, matching, search, columns, relevance)) if search.size else []
    scored = [hit.score for hit in hits if hit.score is not None]
    best = max(scored, default=None) if not search.offset else _best(matching, relevance) if scored else None
    return Found(hits=hits, total=total, exact=exact, max_score=best)


def _total(matching: QuerySet[Any], search: Search) -> tuple[int | None, bool]:
    if search.count_to is None:
        return None, True
    if search.count_to >= EXACTLY:
        return matching.count(), True
    found = matching.order_by()[: search.count_to + 1].count()
    return min(found, search.count_to), found <= search.count_to


def _hits(rows: QuerySet[Any], matching: QuerySet[Any], search: Search, columns: list[Column], relevance: Relevance) -> Iterator[Hit]:
    """Yield the hits of the page. Only keys are sorted: whole rows with all that is joined to them take four times as long."""
    names = {f"sort_{place}": column.expression for place, column in enumerate(columns)}
    by_score = not columns or any(column.key.field == "_score" for column in columns)
    if by_score:
        names["score"] = Value(relevance, FloatField()) if isinstance(relevance, float) else relevance
    if search.after is not None:
        matching = matching.filter(behind_all(columns, search.after))
    ordering = [column.ordering for column in columns] or ([] if isinstance(relevance, float) else [F("score").desc()])
    keyed = matching.select_related(None).annotate(**names).order_by(*ordering, "id").values_list("pk", *names)
    page = list(keyed[search.offset : search.offset + search.size])
    found = {row.pk: row for row in rows.filter(pk__in=[key for key, *_ in page])}
    for key, *values in page:
        if key in found:  # else it has gone since
            shown = [column.shown(value) for column, value in zip(columns, values, strict=False)]
            yield Hit(found[key], values[-1] if by_score else None, shown if columns else None)


def _best(matching: QuerySet[Any], relevance: Relevance) -> float:
    if isinstance(relevance, float):
        return relevance
    return float(matching.annotate(score=relevance).order_by("-score").values_list("score", flat=True)[0])
