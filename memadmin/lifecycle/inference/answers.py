"""Reading what the model answered. Nothing in it is trusted: it may name only what it was shown, and only as often as it was asked."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from memadmin.llm.client import BadAnswer
from memadmin.store.text import clean

LONGEST_FACT = 4_000  # characters
MOST_FOREIGN = 0.6
_MARKS = re.compile(r"https?://\S+|www\.\S+|\S+@\S+\.\w+|\d+")
_WORDS = re.compile(r"\w+")
_FENCED = re.compile(r"\s*```[A-Za-z]*\n(.*)\n```\s*", re.DOTALL)


class Event(StrEnum):
    ADD = "ADD"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    NONE = "NONE"


@dataclass(frozen=True, slots=True)
class Decision:
    """What one new fact means. `memory` is the place of a memory in the list that was shown, and `text` what an update makes of it."""

    event: Event
    fact: str
    memory: int | None = None
    text: str = ""


def read_facts(answer: str, *, most: int) -> list[str]:
    """Return the distinct facts of an answer, at most `most`. Raises BadAnswer."""
    facts = _object(answer).get("facts")
    if not isinstance(facts, list):
        raise BadAnswer("no list of facts")
    texts = [clean(fact).strip() for fact in facts if isinstance(fact, str)]
    return list(dict.fromkeys(text for text in texts if text and len(text) <= LONGEST_FACT))[:most]


def read_decisions(answer: str, *, facts: list[str], memories: int) -> list[Decision]:
    """Return a decision for each fact, in their order; a fact that was left out is added. Raises BadAnswer.

    Each memory is touched at most once, and only one that was shown.
    """
    entries = _object(answer).get("decisions")
    if not isinstance(entries, list):
        raise BadAnswer("no list of decisions")
    by_fact = {place: entry for entry in entries if (place := _place(entry, "fact", below=len(facts))) is not None}
    return list(_decisions(by_fact, facts, memories))


def read_merged(answer: str, texts: Sequence[str]) -> str:
    """Return the text that takes the place of others. Raises BadAnswer where it does not cover all, or says what none of them does.

    What no source has, an address, a number, mostly other words, is made up, or was put there by an order inside of a memory.
    """
    body = _object(answer)
    summary, covers = body.get("summary"), body.get("covers")
    if not isinstance(summary, str) or set(body) != {"summary", "covers"}:
        raise BadAnswer("no summary")
    text = clean(summary).strip()
    if not text or len(text) > LONGEST_FACT:
        raise BadAnswer("an empty or too long summary")
    if not isinstance(covers, list) or {_place({"id": each}, "id", below=len(texts)) for each in covers} != set(range(len(texts))):
        raise BadAnswer("not every memory is covered")
    said = " ".join(texts).casefold()
    if any(mark not in said for mark in _MARKS.findall(text.casefold())):
        raise BadAnswer("a number or an address that no memory has")
    if _foreign(text.casefold(), said) > MOST_FOREIGN:
        raise BadAnswer("mostly words that no memory has")
    return text


def _foreign(text: str, said: str) -> float:
    """Return which part of a text's letters, in threes within words, stand nowhere in what was said."""
    grams = [word[at : at + 3] for word in _WORDS.findall(text) for at in range(max(len(word) - 2, 1))]
    return sum(gram not in said for gram in grams) / len(grams) if grams else 1.0


def _decisions(by_fact: dict[int, dict[str, Any]], facts: list[str], memories: int) -> Iterator[Decision]:
    touched: set[int] = set()
    for place, fact in enumerate(facts):
        entry = by_fact.get(place, {})
        event = _event(entry)
        memory = _place(entry, "id", below=memories)
        if event in {Event.ADD, Event.NONE}:
            yield Decision(event, fact)
        elif memory is None or memory in touched:
            yield Decision(Event.ADD, fact)  # it names nothing that it may change: the fact itself is still new
        else:
            touched.add(memory)
            yield Decision(event, fact, memory, _text(entry) or fact)


def _object(answer: str) -> dict[str, Any]:
    """Return the JSON object of an answer, which models like to put into a fence."""
    fenced = _FENCED.fullmatch(answer)
    try:
        value = json.loads(fenced[1] if fenced else answer)
    except (ValueError, RecursionError):
        raise BadAnswer("not JSON") from None
    if not isinstance(value, dict):
        raise BadAnswer("not an object")
    return value


def _event(entry: dict[str, Any]) -> Event:
    name = str(entry.get("event", Event.ADD)).upper()
    return Event(name) if name in Event.__members__ else Event.ADD


def _text(entry: dict[str, Any]) -> str:
    text = entry.get("text")
    return clean(text).strip() if isinstance(text, str) and len(text) <= LONGEST_FACT else ""


def _place(entry: Any, name: str, *, below: int) -> int | None:
    value = entry.get(name) if isinstance(entry, dict) else None
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 6:
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < below else None
