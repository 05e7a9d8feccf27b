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
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

from django.db.models import QuerySet

from memadmin.erasure.models import Manifest, ScopeItem
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


@dataclass(frozen=True)
class Searcher:
    """What to look for in other people's texts. `cut` is True when the person said more than could be held in memory."""

    scope: RequestScope
    shingles: array[int]
    key: bytes
    cut: bool

    def why(self, values: Iterable[Any]) -> str:
        """Return why the values of a row mention the person: `identifier`, `copied_text`, or "" where they do not."""
        texts = [text for value in values for text in texts_in(value)]
        pattern = self.scope.pattern
        if pattern is not None and any(map(pattern.search, texts)):
            return IDENTIFIER
        return COPY if any(map(self.copied, texts)) else ""

    def copied(self, text: str) -> bool:
        """Whether a text has five words in a row of what the person said."""
        return any(self._has(digest) for digest in shingles_of(text, self.key))

    def _has(self, digest: int) -> bool:
        at = bisect_left(self.shingles, digest)
        return at < len(self.shingles) and self.shingles[at] == digest


def searcher_of(manifest: Manifest) -> Searcher:
    """Return what to look for. It is kept for the steps of one discovery; another process makes it anew."""
    return _made_for(manifest.pk, f"{manifest.request.uid}/{manifest.number}")


@lru_cache(maxsize=1)
def _made_for(manifest_id: int, name: str) -> Searcher:
    """By the number of the row and its name outside: numbers come back after a restore."""
    scope = scope_of(Manifest.objects.select_related("request").get(pk=manifest_id))
    key = hashlib.sha256(name.encode()).digest()[:16]
    found = set(islice(_spoken(scope, key), MOST_SHINGLES))
    cut = len(found) >= MOST_SHINGLES
    return Searcher(scope, array("Q", sorted(found - _common(scope, found, key))), key, cut)


def shingles_of(text: str, key: bytes) -> Iterator[int]:
    words = _WORD.findall(text.casefold())
    for at in range(len(words) - WORDS + 1):
        said = " ".join(words[at : at + WORDS]).encode("utf-8", "surrogatepass")
        yield int.from_bytes(hashlib.blake2b(said, digest_size=DIGEST_BYTES, key=key).digest(), "big")


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
