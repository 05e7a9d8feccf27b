"""Read single values of a policy document, or say in a policy editor's words what is wrong with them."""

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from retention.scoring import Weights

HIGHEST_HALF_LIFE_HOURS = 87_600
LOWEST_HALF_LIFE_HOURS = 1 / 3_600  # a second: far below it a timedelta rounds to zero and recency would divide by it
WEIGHTS_TOLERANCE = 1e-6 + 1e-12  # the second part is for the rounding of the sum itself
ASCII_NUMBER = re.compile(r"-?[0-9]{1,18}")  # not \d, which takes digits of every script


class InvalidPolicy(ValueError):
    """A value of a policy document cannot be used. `field` is its dotted path, `message` says what to do."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}" if field else message)
        self.field = field
        self.message = message


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit that may be a whole number from 1 to `highest`, or None for no limit."""

    name: str
    highest: int
    unit: str
    remark: str = ""


RETENTION_DAYS = Limit("Days to keep", 3_650, "days", " (10 years)")
MAX_COUNT = Limit("The most to keep", 10_000_000, "memories")
TTL_DAYS = Limit("Days to live", 3_650, "days", " (10 years)")
MAX_RECORDS = Limit("The most memories per user", 1_000_000, "memories")
MAX_TOKENS = Limit("The most tokens per user", 1_000_000_000, "tokens")


def limit(value: object, *, field: str, of: Limit) -> int | None:
    """Return the limit as a whole number, or None for an explicit "no limit"; raise InvalidPolicy otherwise.

    A string of ASCII digits counts as its number, as in OpenSearch. 0, -1 and empty never mean "for ever".
    """
    if value is None:
        return None
    what_to_do = f'Write a whole number from 1 to {of.highest:,}, or choose "no limit" (null).'
    number = _number(value)
    if isinstance(value, str) and not value.strip():
        raise InvalidPolicy(field, f'{of.name} is empty, which does not mean "for ever". {what_to_do}')
    if number is None:
        raise InvalidPolicy(field, f"{of.name} cannot be {quoted(value)}. {what_to_do}")
    if number <= 0:
        raise InvalidPolicy(field, f'{of.name} cannot be {number:,}, which does not mean "for ever". {what_to_do}')
    if number > of.highest:
        at_most = f"{of.highest:,} {of.unit}{of.remark}"
        raise InvalidPolicy(field, f"{of.name} cannot be more than {at_most}. It is counted in {of.unit}. {what_to_do}")
    if number != int(number):
        raise InvalidPolicy(field, f"{of.name} cannot be a fraction such as {number:,}. {what_to_do}")
    return int(number)


def _number(value: object) -> int | float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        return int(value) if ASCII_NUMBER.fullmatch(value) else None
    if isinstance(value, int):
        return value
    return value if isinstance(value, float) and math.isfinite(value) else None


def half_life_hours(value: object) -> float:
    """Return the half-life in hours; null is refused, since a score cannot do without one."""
    number = None if isinstance(value, str) else _number(value)
    if number is None or not LOWEST_HALF_LIFE_HOURS <= number <= HIGHEST_HALF_LIFE_HOURS:
        what_to_do = f"Write a number of hours above 0, up to {HIGHEST_HALF_LIFE_HOURS:,} (10 years). 720 hours are 30 days."
        raise InvalidPolicy("relevance.half_life_hours", f"The half-life cannot be {quoted(value)}. {what_to_do}")
    return float(number)


def weights(value: object) -> Weights:
    """Return the three weights, which must all be given, each 0..1, together 1."""
    names = ("recency", "frequency", "importance")
    given = mapping(value, field="relevance.weights", name="The weights", known=names)
    shares: dict[str, float] = {}
    for name in names:
        if name not in given:
            raise InvalidPolicy(f"relevance.weights.{name}", f"The weight of {name} is missing. Give all three; together they make 1.")
        number = None if isinstance(given[name], str) else _number(given[name])
        if number is None or not 0 <= number <= 1:
            message = f"The weight of {name} cannot be {quoted(given[name])}. Write a number from 0 to 1, such as 0.4."
            raise InvalidPolicy(f"relevance.weights.{name}", message)
        shares[name] = float(number)
    total = math.fsum(shares.values())
    if abs(total - 1) > WEIGHTS_TOLERANCE:
        raise InvalidPolicy("relevance.weights", f"The three weights make {total:.6g} together. Change them so that they make 1.")
    return Weights(**shares)


def mapping(value: object, *, field: str, name: str, known: Collection[str]) -> Mapping[str, object]:
    """Return the object at `field`; raise InvalidPolicy when it is none, or has a key that is not known."""
    if not isinstance(value, Mapping):
        raise InvalidPolicy(field, f"{name} cannot be {quoted(value)}. It must be an object with any of: {', '.join(known)}.")
    for key in value:
        if key not in known:
            raise InvalidPolicy(below(field, key), f"{name} has no field {quoted(key)}. Use any of: {', '.join(known)}.")
    return value


def below(field: str, key: object) -> str:
    """Return the dotted path of `key` under `field`."""
    name = str(key)[:60]
    return f"{field}.{name}" if field else name


def quoted(value: object) -> str:
    """Return the value as a reader would write it in JSON, cut to a length that fits a message."""
    words = {None: "null", True: "true", False: "false"}
    if value is None or isinstance(value, bool):
        return words[value]
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, int) and value.bit_length() > 64:
        return "so large a number"
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
