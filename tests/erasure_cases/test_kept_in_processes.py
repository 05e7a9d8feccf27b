"""What a process of the product keeps between two requests, or two jobs: nothing that somebody typed, and no id of a user.

A process lives for weeks, and no erasure reaches into the memory of all of them. So such words are kept for as long as they are needed.
"""

import gc
import re
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from memadmin.recall.search import Question, recall
from memadmin.store.models import LongTermMemory
from tests.api.v1.calls import caller_of
from tests.erasure.executing import execute
from tests.erasure.workflow import approved, opened
from tests.factories import NOON, a_memory, a_message, make_container, store
from tests.tokens import api_of

pytestmark = pytest.mark.django_db(transaction=True)
CANARY = "zebrafinch7canary"
DEPTH = 8


def caches() -> Iterator[tuple[str, Any]]:
    """Yield every cache of a function or a method of ours, by its name."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in ("memadmin", "retention"):
            for own in list(vars(module).values()):
                for each in (own, *(vars(own).values() if isinstance(own, type) else ())):
                    function = getattr(each, "__func__", each)
                    if hasattr(function, "cache_info"):
                        yield f"{name}.{function.__qualname__}", function


def says(thing: Any, word: str, depth: int = DEPTH) -> bool:
    """Whether a word stands in a thing or in what hangs on it."""
    if isinstance(thing, str | bytes | re.Pattern):
        return word in plain(str(thing.pattern if isinstance(thing, re.Pattern) else thing))
    if depth == 0 or isinstance(thing, type) or (callable(thing) and depth < DEPTH):
        return False
    return any(says(each, word, depth - 1) for each in gc.get_referents(thing))


def plain(text: str) -> str:
    """Return an expression without the cases and escapes in which it has its letters."""
    text = re.sub(r"\\u([0-9a-f]{4})", lambda code: chr(int(code[1], 16)), text)
    return re.sub(r"\[(\w)\w\]", lambda cases: cases[1].lower(), text)


def kept(word: str) -> set[str]:
    of_python = [found for name in ("_cache", "_cache2") for found in getattr(re, name, ())]
    return {name for name, cache in caches() if says(cache, word)} | {"re" for key in of_python if says(key, word)}


def test_what_a_search_was_for_is_not_kept_behind_its_request():
    container = make_container(external_id="c1", owner={"name": "ana"})
    store(container, a_memory(f"{CANARY} says", owner="ana", user_id=CANARY, namespace={"user_id": CANARY}))
    api = api_of("ana")

    found = [
        api.post("/c1/memories/long-term/_search", {"query": query}).json()["hits"]["total"]["value"]
        for query in (
            {"match": {"memory": CANARY}},
            {"term": {"namespace.user_id": CANARY}},
            {"wildcard": {"namespace.user_id": f"{CANARY}*"}},
            {"prefix": {"owner_id": CANARY}},
        )
    ]
    caller_of("ana").post("/containers/c1/recall", {"user_id": CANARY, "query": CANARY})
    recall(container, Question(CANARY, CANARY), now=NOON)

    assert found[:3] == [1, 1, 1]
    assert kept(CANARY) == set()


def test_whom_a_search_and_an_erasure_were_about_is_not_kept_behind_them():
    store(make_container(), a_memory("tea", user_id=CANARY), a_message(f"met {CANARY}", user_id="bob"), a_memory("mate", user_id="bob"))
    request = opened(CANARY)
    approved(request)
    assert kept(CANARY) == set()

    execute(request)

    assert [memory.text for memory in LongTermMemory.objects.all()] == ["mate"]
    assert kept(CANARY) == set()
