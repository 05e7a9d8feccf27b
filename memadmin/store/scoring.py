"""The retention score in SQL, for both databases from one text. Its meaning is `retention.scoring`; a property test holds them equal.

Numbers stand in the text as literals: they are floats of ours, and a text without parameters can be put anywhere.
Times become whole microseconds, so that no database's rounding of ages decides who goes. Everything is float8:
PostgreSQL's numeric is forty times slower here.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

from django.db import connection
from django.db.models import BigIntegerField
from django.db.models.expressions import RawSQL

from retention.rules import RelevanceRule

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# PostgreSQL refuses results that underflow. These are long past half a unit in the sixth place.
MOST_HALF_LIVES = 1000.0
SMALLEST_IMPORTANCE = 1e-300
SMALLEST_WEIGHT = 1e-12


def microseconds(time: datetime) -> int:
    """Return the microseconds since 1970."""
    return (time - EPOCH) // timedelta(microseconds=1)


def micros_sql(column: str) -> str:
    """Return SQL for a time column as microseconds since 1970, NULL where it is NULL."""
    if connection.vendor == "postgresql":
        # The distance of two times as float8, in one call: scoring takes half as long as with date_part('epoch', …).
        return f"CAST(round(tstzrange_subdiff({column}, TIMESTAMPTZ '1970-01-01 00:00:00+00') * 1e6) AS bigint)"
    fraction = f"CASE WHEN length({column}) > 19 THEN CAST(substr({column} || '00000', 21, 6) AS integer) ELSE 0 END"
    seconds = f"CAST(round((julianday(substr({column}, 1, 19)) - 2440587.5) * 86400.0) AS integer)"  # julianday() keeps milliseconds only
    return f"({seconds} * 1000000 + {fraction})"


def access_sql(rule: RelevanceRule, *, alias: str) -> str:
    """Return SQL for the access that counts, in microseconds: the last one, else one half-life before creation, else NULL."""
    half_life = rule.half_life // timedelta(microseconds=1)
    return f"COALESCE({micros_sql(f'{alias}.last_accessed_at')}, {micros_sql(f'{alias}.created_at')} - {half_life})"


def score_sql(rule: RelevanceRule, *, now: datetime, alias: str) -> str:
    """Return SQL for the score at `now` in millionths, a whole number."""
    weights, half_life = rule.weights, rule.half_life // timedelta(microseconds=1)
    age = f"({microseconds(now)} - {access_sql(rule, alias=alias)})"
    # The same functions on the same floats as in Python: another form of the formula differs in the last bit, and on a tie in who goes.
    # A last access in the future counts as now, and a memory without any date as just read.
    half_lives = f"{_least()}({_float(MOST_HALF_LIVES)}, {_greatest()}(0, {age}) / {_float(float(half_life))})"
    recency = f"COALESCE(power({_float(0.5)}, {half_lives}), 1.0)"
    frequency = f"{_least()}(1.0, ln({_float(1.0)} + {alias}.hits) / {_float(math.log(101))})"
    importance = f"{_greatest()}({alias}.importance, {_float(SMALLEST_IMPORTANCE)})"
    terms = ((weights.recency, recency), (weights.frequency, frequency), (weights.importance, importance))
    total = " + ".join(f"{_float(weight if weight > SMALLEST_WEIGHT else 0.0)} * {term}" for weight, term in terms)
    whole = "CAST(floor(({}) * 1e6 + 0.5) AS bigint)" if connection.vendor == "postgresql" else "CAST(({}) * 1e6 + 0.5 AS integer)"
    return whole.format(total)


def score_expression(rule: RelevanceRule, *, now: datetime) -> RawSQL:
    """Return the score as an expression for querysets of long-term memories."""
    return RawSQL(score_sql(rule, now=now, alias="store_longtermmemory"), [], output_field=BigIntegerField())


def _float(number: float) -> str:
    return f"CAST({number!r} AS double precision)" if connection.vendor == "postgresql" else repr(number)


def _least() -> str:
    return "LEAST" if connection.vendor == "postgresql" else "MIN"


def _greatest() -> str:
    return "GREATEST" if connection.vendor == "postgresql" else "MAX"
