"""The kinds of fields that documents have, and what each can be asked. A question that a kind does not take is refused.

Every condition is true or false, never NULL, so that it can be negated.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import BooleanField, Case, Expression, ExpressionWrapper, F, FloatField, Q, TextField, Value, When
from django.db.models.functions import Replace
from django.db.models.lookups import Exact, GreaterThanOrEqual, In, IsNull, LessThanOrEqual, Regex

from memadmin.api.opensearch.querying import moments
from memadmin.api.opensearch.querying.globs import lowered, word_form
from memadmin.api.opensearch.querying.leaves import ColumnTest, LeafTest, MessageText
from memadmin.api.opensearch.querying.queries import Like, Match, QueryRefused, Range, Scalar, as_text, needed
from memadmin.api.opensearch.querying.text_tests import TextTest
from memadmin.recall.finding import HasWord
from memadmin.store.words import words_of

EVERYTHING = Q(pk__isnull=False)
NOTHING = Q(pk__in=[])
Relevance = float | Expression
_LARGEST = 2**63 - 1
_WIDEST = 100  # conditions in a row
_MOST_WORDS = 1_024


class Field:
    """What a search can ask of a field."""

    kind = "unknown"

    def equals(self, values: Sequence[Scalar]) -> Q:
        raise self._refused("term")

    def like(self, clause: Like) -> Q:
        raise self._refused("wildcard")

    def within(self, clause: Range) -> Q:
        raise self._refused("range")

    def exists(self) -> Q:
        return EVERYTHING

    def match(self, clause: Match) -> Q:
        """Only texts are cut into words; of all else a match asks for the value."""
        return self.equals([clause.value])

    def relevance(self, clause: Match) -> Relevance:
        return 1.0

    def _refused(self, question: str) -> QueryRefused:
        return QueryRefused(f"Can not use {question} queries on a field of type [{self.kind}]", kind="query_shard_exception")


@dataclass(frozen=True)
class Keyword(Field):
    """A text column that is compared as a whole."""

    column: str
    kind = "keyword"

    def equals(self, values: Sequence[Scalar]) -> Q:
        return self.exists() & Q(**{f"{self.column}__in": [as_text(value) for value in values]})

    def like(self, clause: Like) -> Q:
        return Q(ColumnTest(F(self.column), TextTest(glob=clause.glob, any_case=clause.any_case)))

    def within(self, clause: Range) -> Q:
        return Q(ColumnTest(F(self.column), TextTest(bounds=text_bounds(clause))))

    def exists(self) -> Q:
        return Q(**{f"{self.column}__isnull": False})


@dataclass(frozen=True)
class Leaf(Field):
    """The keywords under a name in a JSON column; all of them where there is no name."""

    column: str
    name: str
    kind = "flat_object"

    def equals(self, values: Sequence[Scalar]) -> Q:
        return self._test(TextTest(among=[as_text(value) for value in values]))

    def like(self, clause: Like) -> Q:
        return self._test(TextTest(glob=clause.glob, any_case=clause.any_case))

    def within(self, clause: Range) -> Q:
        bounds = text_bounds(clause)
        return self._test(TextTest(bounds=bounds))

    def exists(self) -> Q:
        return self._test(TextTest())

    def _test(self, test: TextTest) -> Q:
        return Q(LeafTest(self.column, self.name, test))


@dataclass(frozen=True)
class Fixed(Field):
    """What is the same for every row in reach."""

    value: str | None
    kind = "keyword"

    def equals(self, values: Sequence[Scalar]) -> Q:
        return self._if(TextTest(among=[as_text(value) for value in values]))

    def like(self, clause: Like) -> Q:
        return self._if(TextTest(glob=clause.glob, any_case=clause.any_case))

    def within(self, clause: Range) -> Q:
        return self._if(TextTest(bounds=text_bounds(clause)))

    def exists(self) -> Q:
        return self._if(TextTest())

    def _if(self, test: TextTest) -> Q:
        return EVERYTHING if self.value is not None and test.holds(self.value) else NOTHING


@dataclass(frozen=True)
class Whole(Field):
    """Whole numbers: a column, or an expression that is NULL where there is none."""

    expression: Any
    kind = "integer"

    def equals(self, values: Sequence[Scalar]) -> Q:
        numbers = [int(number) for number in map(self._number, values) if number == int(number) and abs(number) <= _LARGEST]
        return self.exists() & Q(In(self.expression, numbers)) if numbers else NOTHING

    def within(self, clause: Range) -> Q:
        lowest = [math.ceil(self._number(clause.gte))] if clause.gte is not None else []
        lowest += [math.floor(self._number(clause.gt)) + 1] if clause.gt is not None else []
        highest = [math.floor(self._number(clause.lte))] if clause.lte is not None else []
        highest += [math.ceil(self._number(clause.lt)) - 1] if clause.lt is not None else []
        condition = self.exists()
        if lowest:
            condition &= self._bounded(GreaterThanOrEqual, max(lowest), past=1)
        if highest:
            condition &= self._bounded(LessThanOrEqual, min(highest), past=-1)
        return condition

    def exists(self) -> Q:
        return Q(IsNull(self.expression, False))

    def _bounded(self, lookup: Any, bound: int, *, past: int) -> Q:
        """Compare with a bound. One that no number reaches lets nothing or everything through: `past` says on which side."""
        if abs(bound) <= _LARGEST:
            return Q(lookup(self.expression, bound))
        return NOTHING if bound * past > 0 else EVERYTHING

    def _number(self, value: Scalar) -> int | float:
        try:
            if isinstance(value, bool):
                raise ValueError(value)
            number = value if isinstance(value, int) else float(value)
            if not math.isfinite(number):
                raise ValueError(value)
        except (ValueError, OverflowError):
            raise QueryRefused(f'failed to create query: For input string: "{str(value)[:100]}"', kind="query_shard_exception") from None
        return number


@dataclass(frozen=True)
class Flag(Field):
    """True or false. `shown`: documents say false too, and do not leave it out. `inverted`: they say the opposite of the column."""

    column: str
    shown: bool = True
    inverted: bool = False
    kind = "boolean"

    def equals(self, values: Sequence[Scalar]) -> Q:
        wanted = {self._truth(value) is not self.inverted for value in values}
        return Q(**{f"{self.column}__in": sorted(wanted)})

    def exists(self) -> Q:
        return EVERYTHING if self.shown else Q(**{self.column: True})

    def _truth(self, value: Scalar) -> bool:
        if value not in (True, False, "true", "false") or isinstance(value, int | float) is not isinstance(value, bool):
            reason = f"Can't parse boolean value [{str(value)[:100]}], expected [true] or [false]"
            raise QueryRefused(reason, kind="query_shard_exception")
        return value in (True, "true")


@dataclass(frozen=True)
class Moment(Field):
    """A time. On the wire it is a whole millisecond, here it has microseconds: a millisecond is a stretch of time."""

    column: str
    kind = "date"

    def equals(self, values: Sequence[Scalar]) -> Q:
        begins = map(moments.read, values)
        return any_of([self._between(begin, begin + 1) for begin in begins])

    def within(self, clause: Range) -> Q:
        begins = [moments.read(clause.gte)] if clause.gte is not None else []
        begins += [moments.read(clause.gt) + 1] if clause.gt is not None else []
        ends = [moments.read(clause.lte) + 1] if clause.lte is not None else []
        ends += [moments.read(clause.lt)] if clause.lt is not None else []
        return self._between(max(begins, default=None), min(ends, default=None))

    def exists(self) -> Q:
        return Q(**{f"{self.column}__isnull": False})

    def _between(self, begin: int | None, end: int | None) -> Q:
        condition = self.exists()
        if begin is not None:
            condition &= self.at_or_after(begin)
        if end is not None:
            condition &= self.before(end)
        return condition

    def at_or_after(self, millisecond: int) -> Q:
        time = moments.time_of(millisecond)
        return Q(**{f"{self.column}__gte": time}) if isinstance(time, datetime) else EVERYTHING if time < 0 else NOTHING

    def before(self, millisecond: int) -> Q:
        time = moments.time_of(millisecond)
        return Q(**{f"{self.column}__lt": time}) if isinstance(time, datetime) else EVERYTHING if time > 0 else NOTHING


@dataclass(frozen=True)
class Text(Field):
    """A text that is cut into words, see `recall.words`. `messages`: the column holds messages, and their texts count."""

    column: str
    messages: bool = False
    kind = "text"

    def equals(self, values: Sequence[Scalar]) -> Q:
        if len(values) > _MOST_WORDS:
            raise QueryRefused(f"[terms] looks for at most {_MOST_WORDS} values in a text", kind="too_many_clauses")
        return any_of([self._holds(as_text(value)) for value in values])

    def like(self, clause: Like) -> Q:
        glob = tuple(lowered(piece) if clause.any_case and isinstance(piece, str) else piece for piece in clause.glob)
        return self._has(word_form(glob))

    def exists(self) -> Q:
        if self.messages:
            return ~Q(
                Exact(Replace(MessageText(self.column), Value("\n"), Value(""), output_field=TextField()), "")
            )  # empty texts below each other are none
        return Q(**{f"{self.column}__isnull": False}) & ~Q(**{self.column: ""})

    def match(self, clause: Match) -> Q:
        found = [self._holds(word) for word in words_of(as_text(clause.value))]
        return at_least(found, max(needed(clause.at_least, len(found)), 1))

    def relevance(self, clause: Match) -> Relevance:
        """How many of the words stand in the text."""
        return summed([counted(self._holds(word)) for word in words_of(as_text(clause.value))])

    def _holds(self, word: str) -> Q:
        """Return the condition for a word; what is none, as words are cut, stands nowhere."""
        if words_of(word) != [word]:
            return NOTHING
        return self._there & Q(HasWord(self._text, word))

    @property
    def _text(self) -> Any:
        return MessageText(self.column) if self.messages else F(self.column)

    @property
    def _there(self) -> Q:
        return Q() if self.messages else Q(**{f"{self.column}__isnull": False})

    def _has(self, pattern: str | None) -> Q:
        if pattern is None:
            return NOTHING
        return self._there & Q(Regex(self._text, pattern))


def all_of(conditions: Sequence[Q]) -> Q:
    return _joined(conditions, Q.AND) if conditions else EVERYTHING


def any_of(conditions: Sequence[Q]) -> Q:
    return _joined(conditions, Q.OR) if conditions else NOTHING


def at_least(conditions: Sequence[Q], number: int) -> Q:
    """Return the condition that so many of the conditions hold."""
    if number <= 0:
        return EVERYTHING
    if number > len(conditions):
        return NOTHING
    if number == 1:
        return any_of(conditions)
    if number == len(conditions):
        return all_of(conditions)
    return Q(GreaterThanOrEqual(summed([counted(condition) for condition in conditions]), float(number)))


def counted(condition: Q, worth: Relevance = 1.0) -> Expression:
    """Return `worth` where the condition holds, else 0."""
    then = Value(worth, FloatField()) if isinstance(worth, float) else worth
    return Case(When(condition, then=then), default=Value(0.0), output_field=FloatField())


def summed(parts: Sequence[Relevance]) -> Relevance:
    """Return the sum, built as a flat tree: SQLite takes no deep ones."""
    if len(parts) <= 2:
        numbers = [part for part in parts if isinstance(part, float)]
        expressions = [part for part in parts if not isinstance(part, float)]
        if not expressions:
            return sum(numbers)
        constant = [Value(sum(numbers), FloatField())] if numbers else []
        return functools.reduce(operator.add, [*expressions, *constant])
    half = len(parts) // 2
    return summed([summed(parts[:half]), summed(parts[half:])])


def _joined(conditions: Sequence[Q], connector: str) -> Q:
    """Join conditions; long chains in groups, as a chain is as deep for SQLite as it is long."""
    if len(conditions) > _WIDEST:
        groups = [conditions[start : start + _WIDEST] for start in range(0, len(conditions), _WIDEST)]
        return _joined([Q(ExpressionWrapper(_joined(group, connector), BooleanField())) for group in groups], connector)
    return Q(*conditions, _connector=connector)


def text_bounds(clause: Range) -> dict[str, str]:
    """Return the bounds of a range over texts. One without bounds asks for any value."""
    named = {"gte": clause.gte, "gt": clause.gt, "lte": clause.lte, "lt": clause.lt}
    return {name: as_text(value) for name, value in named.items() if value is not None}
