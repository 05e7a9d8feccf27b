"""Other people's items that mention the person: by an identifier as a whole word, or by five words in a row that the person said.

Copies of text are found by shingles: every run of five words, without regard to case and punctuation, as a keyed digest of eight bytes.
They are held in memory for the time of a search and never stored. A paraphrase is not found; pages and certificates say so.
"""

from __future__ import annotations

import hashlib
import json
import re
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import Any

from django.db.models import QuerySet

from memadmin.erasure.models import Kind, Manifest, ScopeItem
from memadmin.erasure.scope import REACHED, RequestScope, scope_of
from memadmin.store.models import HistoryEntry, LongTermMemory, Session, WorkingMemory

WORDS = 5
DIGEST_BYTES = 8
MOST_SHINGLES = 2_000_000  # 16 MB
SAMPLED = 2_000  # items of others, in which what everybody says is found out
EVERYBODY_SAYS = 3  # users in the sample who say it too
IDENTIFIER, COPY = "identifier", "copied_text"
_WORD = re.compile(r"\w+")
_SPOKEN: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (LongTermMemory, ("text", "parts")),
    (WorkingMemory, ("messages", "structured_data", "event")),
    (HistoryEntry, ("before", "after")),
    (Session, ("summary",)),
)


@dataclass(frozen=True, slots=True)
class Match:
    """By what a row mentions the person. `ref` is a digest of all names and passages that it has of them: rows with the same one share
    exactly these. `at` says where the plainest of them stands, as "text:from-to".
    """

    why: str
    ref: str
    at: str


@dataclass(frozen=True)
class Searcher:
    """What to look for in other people's texts. `cut` is True when the person said more than could be held in memory."""

    scope: RequestScope
    shingles: array[int]
    key: bytes
    cut: bool
    common: int = 0  # runs of words that were left out, since several others say them as well

    def match(self, values: Iterable[Any]) -> Match | None:
        """Return why and by what the values of a row mention the person, None where they do not."""
        texts = read(values)
        named = [(at, found) for at, text in enumerate(texts) for found in self._names_in(text)]
        copied = [(at, self._copied_in(text)) for at, text in enumerate(texts)]
        digests = sorted({digest for _, hits in copied for digest, _ in hits})
        if not named and not digests:
            return None
        names = sorted({found.group().casefold() for _, found in named})
        said = json.dumps([names, digests], ensure_ascii=True).encode()
        ref = hashlib.blake2b(said, digest_size=DIGEST_BYTES, key=self.key).hexdigest()
        if named:
            at, found = named[0]
            return Match(IDENTIFIER, ref, f"{at}:{found.start()}-{found.end()}")
        at, hits = max(copied, key=lambda each: len(each[1]))
        return Match(COPY, ref, _span(at, texts[at], [place for _, place in hits]))

    def _names_in(self, text: str) -> Iterator[re.Match[str]]:
        return iter(()) if self.scope.pattern is None else self.scope.pattern.finditer(text)

    def _copied_in(self, text: str) -> list[tuple[int, int]]:
        """Return each run of words that the person said too, by its digest and by the number of its first word in the text."""
        return [(digest, place) for place, digest in enumerate(shingles_of(text, self.key)) if self._has(digest)]

    def copied(self, text: str) -> bool:
        """Whether a text has five words in a row of what the person said."""
        return any(self._has(digest) for digest in shingles_of(text, self.key))

    def _has(self, digest: int) -> bool:
        at = bisect_left(self.shingles, digest)
        return at < len(self.shingles) and self.shingles[at] == digest


def searching(manifest: Manifest) -> RequestScope:
    """Return whom or what a search is about, as places ask for it that may repeat what was said. An age says nothing about other people."""
    scope = scope_of(manifest)
    if manifest.request.kind == Kind.STORAGE_LIMIT:
        return scope
    return replace(scope, is_copied=lambda text: searcher_of(manifest).copied(text))


def searcher_of(manifest: Manifest) -> Searcher:
    """Return what to look for. It is kept until `forget`; another process makes it anew."""
    return _made_for(manifest.pk, f"{manifest.request.uid}/{manifest.number}")


def forget() -> None:
    """Keep nothing in this process of whom was looked for: neither the searcher nor the expressions that Python keeps, with ids in them."""
    _made_for.cache_clear()
    re.purge()


@lru_cache(maxsize=1)
def _made_for(manifest_id: int, name: str) -> Searcher:
    """By the number of the row and its name outside: numbers come back after a restore."""
    scope = scope_of(Manifest.objects.select_related("request").get(pk=manifest_id))
    key = hashlib.sha256(name.encode()).digest()[:16]
    found = set(islice(_spoken(scope, key), MOST_SHINGLES))
    cut = len(found) >= MOST_SHINGLES
    common = _common(scope, found, key)
    return Searcher(scope, array("Q", sorted(found - common)), key, cut, len(common))


def shingles_of(text: str, key: bytes) -> Iterator[int]:
    words = _WORD.findall(text.casefold())
    for at in range(len(words) - WORDS + 1):
        said = " ".join(words[at : at + WORDS]).encode("utf-8", "surrogatepass")
        yield int.from_bytes(hashlib.blake2b(said, digest_size=DIGEST_BYTES, key=key).digest(), "big")


def _span(at: int, text: str, places: list[int]) -> str:
    """Return where the longest passage stands that these runs of words make up; "" where words cannot be told apart as in the search."""
    words = list(_WORD.finditer(text))
    if len(words) != len(_WORD.findall(text.casefold())):  # folding has parted a word
        return ""
    runs: list[list[int]] = []
    for place in places:
        if runs and place <= runs[-1][1]:
            runs[-1][1] = place + WORDS
        else:
            runs.append([place, place + WORDS])
    first, behind = max(runs, key=lambda run: run[1] - run[0])
    return f"{at}:{words[first].start()}-{words[behind - 1].end()}"


def passage(values: Iterable[Any], at: str) -> str:
    """Return the words that stand where a match said; "" where the row says something else by now."""
    number, _, span = at.partition(":")
    start, _, end = span.partition("-")
    if not end:
        return ""
    texts = read(values)
    return texts[int(number)][int(start) : int(end)] if int(number) < len(texts) else ""


def read(values: Iterable[Any]) -> list[str]:
    """Return every text inside of the values of a row, then the names of fields in them: these, too, may be made of somebody's name."""
    every = list(values)
    return [text for each in (texts_in, _fields_in) for value in every for text in each(value)]


def _fields_in(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from _fields_in(inner)


def texts_in(value: Any) -> Iterator[str]:
    """Yield every text inside a value of JSON: words of two fields, or of two messages, are no run of words."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from texts_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts_in(inner)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield json.dumps(value)


def _spoken(scope: RequestScope, key: bytes) -> Iterator[int]:
    for model, columns in _SPOKEN:
        for values in _own(scope, model).order_by("-pk").values_list(*columns).iterator(chunk_size=1_000):
            for text in (text for value in values for text in texts_in(value)):
                yield from shingles_of(text, key)


def _own(scope: RequestScope, model: Any) -> QuerySet[Any]:
    if scope.subjects:
        return model.objects.filter(subject_id__in=scope.subjects)
    reached = ScopeItem.objects.filter(manifest_id=scope.manifest_id, item_class__in=REACHED)
    return model.objects.filter(uid__in=reached.values("item_uid"))


def others(scope: RequestScope, model: Any) -> QuerySet[Any]:
    """Return what is not the person's, in the containers in which they may be mentioned."""
    rows = model.objects.filter(container_id__in=scope.container_ids)
    if scope.subjects:
        rows = rows.exclude(subject_id__in=scope.subjects)
    if not any(column.name == "uid" for column in model._meta.fields):
        return rows
    return rows.exclude(uid__in=ScopeItem.objects.filter(manifest_id=scope.manifest_id).values("item_uid"))


def _common(scope: RequestScope, found: set[int], key: bytes) -> set[int]:
    """Return what several others say as well, in a sample: a greeting or a form of words is no copy of the person's text."""
    if not found:
        return set()
    said_by: dict[int, set[int]] = {}
    for model, columns in _SPOKEN:
        rows = others(scope, model).order_by("pk").values_list("subject_id", *columns)[:SAMPLED]
        for subject, *values in rows:
            for text in (text for value in values for text in texts_in(value)):
                for digest in found.intersection(shingles_of(text, key)):
                    said_by.setdefault(digest, set()).add(subject)
    return {digest for digest, subjects in said_by.items() if len(subjects) >= EVERYBODY_SAYS}
