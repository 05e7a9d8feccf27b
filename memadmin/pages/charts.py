"""Bar charts as geometry for an SVG that the server draws. Numbers only: colours are classes, and every chart has its table beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 600, 150
GAP = 0.2  # of a column
SMALLEST = 1.5  # what is there is seen, however little of the whole it is


@dataclass(frozen=True, slots=True)
class Piece:
    """One rectangle; `tone` is what stylesheet and legend call it."""

    tone: str
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Column:
    """A stack of pieces, from the bottom up, and what it says in words."""

    title: str
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    columns: tuple[Column, ...]
    highest: int
    width: int = WIDTH
    height: int = HEIGHT

    @property
    def is_empty(self) -> bool:
        return self.highest == 0


def stacked(columns: Sequence[tuple[str, Sequence[tuple[str, int]]]]) -> Chart:
    """Return the chart of columns given as (words, [(tone, number), …]); the highest fills the height."""
    highest = max((sum(number for _, number in stack) for _, stack in columns), default=0)
    step = WIDTH / max(1, len(columns))
    return Chart(tuple(_column(at * step, step, words, stack, highest) for at, (words, stack) in enumerate(columns)), highest)


def _column(left: float, step: float, words: str, stack: Sequence[tuple[str, int]], highest: int) -> Column:
    pieces, top = [], float(HEIGHT)
    for tone, number in stack:
        if number:
            height = max(SMALLEST, HEIGHT * number / highest)
            top = max(0.0, top - height)
            pieces.append(Piece(tone, round(left + step * GAP / 2, 2), round(top, 2), round(step * (1 - GAP), 2), round(height, 2)))
    return Column(words, tuple(pieces))
