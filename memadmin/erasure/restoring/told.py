"""What the lines of the ledger say, taken together: the erasures, how each hold ended up, and what was lifted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memadmin.audit.ledger import Line
from memadmin.store.ledger_lines import HOLD_PLACED, HOLD_RELEASED, LIFTED


@dataclass(frozen=True, slots=True)
class Erasure:
    """One erasure by the last line that began it; `completed` None: it was under way when the last line was written."""

    request: str
    intent: Line
    completed: Line | None

    @property
    def facts(self) -> dict[str, Any]:
        return self.intent.facts

    @property
    def attempt(self) -> int:
        return int(self.facts["attempt"])

    @property
    def seq(self) -> int:
        return max(self.intent.seq, self.completed.seq if self.completed else 0)

    @property
    def ended_at(self) -> datetime:
        """When it was done, as far as is known: what was stored later is another matter."""
        return self.completed.at if self.completed else self.intent.at


def erasures(lines: Sequence[Line]) -> list[Erasure]:
    """Return every erasure once, in the order in which they began."""
    begun: dict[str, Line] = {}
    completed: dict[str, Line] = {}
    for line in lines:
        if line.kind == "intent":
            begun[line.request] = line
        elif line.kind == "completed":
            completed[line.request] = line
    return [Erasure(request, line, completed.get(request)) for request, line in sorted(begun.items(), key=lambda each: each[1].seq)]


@dataclass(frozen=True, slots=True)
class HoldTold:
    """One hold: the line that placed it (None: it was placed before the ledger knew of holds), and the one that ended it."""

    uid: str
    placed: Line | None
    released: Line | None


def holds(lines: Sequence[Line]) -> list[HoldTold]:
    placed = {line.facts["hold"]: line for line in lines if line.kind == HOLD_PLACED}
    released = {line.facts["hold"]: line for line in lines if line.kind == HOLD_RELEASED}
    return [HoldTold(uid, placed.get(uid), released.get(uid)) for uid in dict.fromkeys([*placed, *released])]


def corrected(lines: Sequence[Line]) -> dict[str, tuple[int, int]]:
    """Return by request its number and how many items were corrected for it."""
    return {line.request: (int(line.facts["number"]), int(line.facts["corrections"])) for line in lines if line.kind == "corrected"}


def lifted(lines: Sequence[Line]) -> list[Line]:
    """Return the liftings that still hold: a later erasure of the same user has ended the others."""
    fenced: dict[tuple[str, str], int] = {}
    for line in lines:
        if line.kind == "intent":
            fenced |= {(each["container"], each["digest"]): line.seq for each in line.facts.get("fences", [])}
    last = {(line.facts["container"], line.facts["digest"]): line for line in lines if line.kind == LIFTED}
    return [line for name, line in last.items() if line.seq > fenced.get(name, 0)]
