"""A span of days (UTC) as an address names it: `from` and `to`, both included, either left out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from memadmin.pages.text import excerpt

ISO_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")  # fromisoformat() also takes weeks, and days without dashes
NAMES = {"from": "The first day", "to": "The last day"}


@dataclass(frozen=True)
class Days:
    """`first` and `last` as they were typed; `since` (included) and `before` (not) as instants; what is wrong with them, in words."""

    first: str = ""
    last: str = ""
    since: datetime | None = None
    before: datetime | None = None
    errors: tuple[str, ...] = ()

    @property
    def narrow(self) -> bool:
        return self.since is not None or self.before is not None

    @classmethod
    def read(cls, query: Mapping[str, str]) -> Days:
        typed = {name: query.get(name, "").strip() for name in NAMES}
        days = {name: _day(text) for name, text in typed.items()}
        errors = [
            f"{NAMES[name]} cannot be “{excerpt(text, 40)}”. Write a day of the calendar like 2026-03-01."
            for name, text in typed.items()
            if text and days[name] is None
        ]
        first, last = days["from"], days["to"]
        if first and last and first > last:
            errors.append(f"The first day, {first}, lies after the last one, {last}. Change one of them.")
        return cls(
            first=typed["from"],
            last=typed["to"],
            since=datetime(first.year, first.month, first.day, tzinfo=UTC) if first else None,
            before=_end_of(last) if last else None,
            errors=tuple(errors),
        )


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if ISO_DAY.fullmatch(text) else None
    except ValueError:
        return None


def _end_of(day: date) -> datetime | None:
    """Return the first moment after a day; None after the last one of the calendar."""
    return datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(days=1) if day < date.max else None
