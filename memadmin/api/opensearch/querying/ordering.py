"""The order of hits, what each hit shows of it in `sort`, and how to go on behind a hit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Case, DateTimeField, F, FloatField, Func, IntegerField, Q, TextField, Value, When
from django.db.models.functions import Cast
from django.db.models.lookups import Exact, GreaterThan, IsNull, LessThan

from memadmin.api.opensearch.querying.conditions import Fields
from memadmin.api.opensearch.querying.fields import (
    EVERYTHING,
    NOTHING,
    Fixed,
    Flag,
    Keyword,
    Moment,
    Relevance,
    Whole,
    all_of,
    any_of,
)
from memadmin.api.opensearch.querying.moments import millisecond_of, read
from memadmin.api.opensearch.querying.queries import QueryRefused, Scalar, SortKey, as_text
from memadmin.api.opensearch.querying.references import Id, MemoryRef, User, wire_id_expression

ARGUMENT = "illegal_argument_exception"
LAST, FIRST = 2**63 - 1, -(2**63)  # what a missing number or time shows, by the end at which it stands
BEYOND_ALL = 2**62  # nobody's number or time: what is left of LAST when a client counts in floats


class Bytewise(Func):
    """A text that is compared byte by byte on every database."""

    output_field = TextField()

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return compiler.compile(self.source_expressions[0])

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        sql, parameters = compiler.compile(self.source_expressions[0])
        return f'({sql}) COLLATE "C"', parameters


class Millisecond(Func):
    """A time column cut to what the wire shows of it: rows of one millisecond are equal, and the next key orders them."""

    output_field = DateTimeField()

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        sql, parameters = compiler.compile(self.source_expressions[0])
        whole_second = f"CASE WHEN length({sql}) = 19 THEN {sql} || '.000' ELSE {sql} END"  # a fraction of zero is not written
        return f"substr({whole_second}, 1, 23)", parameters * 3

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        sql, parameters = compiler.compile(self.source_expressions[0])
        return f"date_trunc('milliseconds', {sql})", parameters


@dataclass(frozen=True, kw_only=True)
class Column:
    """One sort key over an expression."""

    key: SortKey
    expression: Any

    @property
    def ordering(self) -> Any:
        """The term of ORDER BY. Rows without a value stand at the end that the key says."""
        nulls = {"nulls_first": True} if self.key.missing_first else {"nulls_last": True}
        return self.ordered_by.desc(**nulls) if self.key.descending else self.ordered_by.asc(**nulls)

    @property
    def ordered_by(self) -> Any:
        return self.expression

    def shown(self, value: Any) -> Any:
        """Return what a hit shows."""
        return value

    def behind(self, given: Scalar | None) -> Q:
        """Return the condition for rows that come after the value that a hit showed. Raises QueryRefused."""
        value = self.read(given)
        if value is None:
            return self._present() if self.key.missing_first else NOTHING
        return self._beyond(value) if self.key.missing_first else self._beyond(value) | Q(IsNull(self.expression, True))

    def beside(self, given: Scalar | None) -> Q:
        """Return the condition for rows with the same value. Raises QueryRefused."""
        value = self.read(given)
        return Q(IsNull(self.expression, True)) if value is None else self._present() & self._same(value)

    def read(self, given: Scalar | None) -> Any:
        return given

    def _present(self) -> Q:
        return Q(IsNull(self.expression, False))

    def _beyond(self, value: Any) -> Q:
        return self._present() & Q((LessThan if self.key.descending else GreaterThan)(self.expression, value))

    def _same(self, value: Any) -> Q:
        return Q(Exact(self.expression, value))


class TextColumn(Column):
    def read(self, given: Scalar | None) -> Any:
        return None if given is None else as_text(given)


class NumberColumn(Column):
    """Missing numbers show as the largest or smallest one there is, as the engine writes them."""

    def shown(self, value: Any) -> Any:
        return missing_mark(self.key) if value is None else value

    def read(self, given: Scalar | None) -> Any:
        if given is None or isinstance(given, bool):
            return None
        try:
            number = float(given) if isinstance(given, str) else given
        except ValueError:
            number = math.nan
        if isinstance(number, float) and not math.isfinite(number):  # a whole number may be longer than a float can be
            raise QueryRefused(f"Failed to parse search_after value for field [{self.key.field[:100]}].", kind=ARGUMENT)
        return _within(number, self.key)


@dataclass(frozen=True, kw_only=True)
class MomentColumn(Column):
    """`alone`: no other key follows, and the column's own order, which an index has, is as good."""

    moment: Moment
    alone: bool

    @property
    def ordered_by(self) -> Any:
        return self.expression if self.alone else Millisecond(self.expression)

    def shown(self, value: Any) -> Any:
        return missing_mark(self.key) if value is None else millisecond_of(value)

    def read(self, given: Scalar | None) -> Any:
        millisecond = None if given is None else read(given)
        return None if millisecond is None else _within(millisecond, self.key)

    def _beyond(self, value: int) -> Q:
        later = self.moment.before(value) if self.key.descending else self.moment.at_or_after(value + 1)
        return self._present() & later

    def _same(self, value: int) -> Q:
        return self.moment.at_or_after(value) & self.moment.before(value + 1)


class NoColumn(Column):
    """A field that no document has and that need not be there."""

    def behind(self, given: Scalar | None) -> Q:
        return NOTHING

    def beside(self, given: Scalar | None) -> Q:
        return EVERYTHING


def missing_mark(key: SortKey) -> int:
    return LAST if key.descending == key.missing_first else FIRST


def _within(number: Any, key: SortKey) -> Any:
    """Return a number to go on behind; None is that of what is missing. One beyond all at the other end stands before every value."""
    if abs(number) < BEYOND_ALL:
        return number
    if (number > 0) == (missing_mark(key) > 0):
        return None
    return BEYOND_ALL if number > 0 else -BEYOND_ALL


def columns_of(keys: Sequence[SortKey], fields: Fields, relevance: Relevance) -> list[Column]:
    """Return the sort keys over the fields. Raises QueryRefused for what cannot be sorted by."""
    return [_column(key, fields, relevance, alone=len(keys) == 1) for key in keys]


def _column(key: SortKey, fields: Fields, relevance: Relevance, *, alone: bool) -> Column:
    if key.field == "_score":
        return NumberColumn(key=key, expression=Cast(Value(relevance), FloatField()) if isinstance(relevance, float) else relevance)
    if key.field == "_doc":
        return NumberColumn(key=key, expression=F("id"))
    field = fields(key.field)
    match field:
        case Moment():
            return MomentColumn(key=key, expression=F(field.column), moment=field, alone=alone)
        case Whole():
            return NumberColumn(key=key, expression=field.expression)
        case Flag():
            truth = Case(When(**{field.column: not field.inverted}, then=Value(1)), default=Value(0), output_field=IntegerField())
            return NumberColumn(key=key, expression=truth)
        case Keyword() | User() | MemoryRef() | Id() | Fixed():
            return TextColumn(key=key, expression=Bytewise(_text(field)))
        case None if key.optional:
            return NoColumn(key=key, expression=Cast(Value(None), TextField()))
        case None:
            raise QueryRefused(f"No mapping found for [{key.field[:100]}] in order to sort on", kind="query_shard_exception")
    raise QueryRefused(f"Fields of type [{field.kind}] can not be sorted by: [{key.field[:100]}]", kind=ARGUMENT)


def _text(field: Keyword | User | MemoryRef | Id | Fixed) -> Any:
    match field:
        case Keyword():
            return F(field.column)
        case User():
            return F("subject__user_id")
        case MemoryRef():
            return field.expression
        case Id():
            return wire_id_expression()
        case Fixed():
            return Cast(Value(field.value), TextField())


def behind_all(columns: Sequence[Column], after: Sequence[Scalar | None]) -> Q:
    """Return the condition for hits that come after the one that showed these values in `sort`. Raises QueryRefused."""
    ways = []
    for place, column in enumerate(columns):
        before = [earlier.beside(value) for earlier, value in zip(columns[:place], after, strict=False)]
        ways.append(all_of([*before, column.behind(after[place])]))
    return any_of(ways)
