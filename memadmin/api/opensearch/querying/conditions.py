"""A parsed query as the condition and the relevance of a queryset."""

from __future__ import annotations

from collections.abc import Callable

from django.db.models import Expression, FloatField, Q, Value

from memadmin.api.opensearch.querying.fields import (
    EVERYTHING,
    NOTHING,
    Field,
    Relevance,
    all_of,
    at_least,
    counted,
    summed,
)
from memadmin.api.opensearch.querying.queries import Bool, Clause, Exists, Ids, Like, Match, MatchAll, Range, Terms

Fields = Callable[[str], Field | None]


def condition_of(clause: Clause, fields: Fields) -> Q:
    """Return which rows the query means. Raises QueryRefused for a question that a field does not take."""
    if isinstance(clause, MatchAll):
        return EVERYTHING
    if isinstance(clause, Ids):
        own_id = fields("_id")
        return own_id.equals(clause.values) if own_id else NOTHING
    if isinstance(clause, Bool):
        return _combined(clause, fields)
    field = fields(clause.field)  # type: ignore[attr-defined]
    return NOTHING if field is None else _asked(field, clause)


def _asked(field: Field, clause: Clause) -> Q:
    match clause:
        case Terms():
            return field.equals(clause.values)
        case Like():
            return field.like(clause)
        case Match():
            return field.match(clause)
        case Range():
            return field.within(clause)
        case Exists():
            return field.exists()
    raise TypeError(type(clause).__name__)


def _combined(clause: Bool, fields: Fields) -> Q:
    needed = [condition_of(inner, fields) for inner in (*clause.must, *clause.filter)]
    optional = [condition_of(inner, fields) for inner in clause.should]
    excluded = [~condition_of(inner, fields) for inner in clause.must_not]
    return all_of([*needed, *excluded, at_least(optional, clause.should_needed)])


def relevance_of(clause: Clause, fields: Fields) -> Relevance:
    """Return the score of the rows that a query means: a number where all have the same.

    A match on a text is worth one for each different word that is found, any other clause one. A bool adds up what is in `must` and
    what holds in `should`; with neither it is worth one.
    """
    if isinstance(clause, Bool):
        return _boosted(_sum(clause, fields), clause.boost)
    if isinstance(clause, Match) and (field := fields(clause.field)):
        return _boosted(field.relevance(clause), clause.boost)
    return clause.boost


def _sum(clause: Bool, fields: Fields) -> Relevance:
    if not clause.must and not clause.should:
        return 1.0
    parts = [relevance_of(inner, fields) for inner in clause.must]
    parts += [counted(condition_of(inner, fields), relevance_of(inner, fields)) for inner in clause.should]
    return summed(parts)


def _boosted(relevance: Relevance, boost: float) -> Relevance:
    if isinstance(relevance, Expression) and boost != 1.0:
        return relevance * Value(boost, FloatField())
    return relevance if isinstance(relevance, Expression) else relevance * boost
