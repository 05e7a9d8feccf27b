"""What was searched for before an erasure is served from nowhere once the rows have gone. The numbers are those of the list of attacks."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.cache import cache
from django.urls import reverse

from memadmin.access.roles import Role
from memadmin.erasure.execution import steps
from memadmin.jobs.models import Job
from memadmin.jobs.runner import run_inline
from memadmin.store.models import Container
from tests.api.v1.calls import caller_of
from tests.erasure.workflow import approved, opened
from tests.factories import NOON, a_change, a_memory, a_message, a_session, days, make_container, store, subject_of
from tests.people import a_browser_of
from tests.tokens import api_of

WORD = "zebrafinch"
COMPATIBLE = {
    "sessions": {"term": {"namespace.user_id": "ann"}},
    "working": {"term": {"namespace.user_id": "ann"}},
    "long-term": {"match": {"memory": WORD}},
    "history": {"term": {"namespace.user_id": "ann"}},
}


def searches(container: Container) -> dict[str, Callable[[], bool]]:
    """Return ways to search; each says whether it finds the person or what they said."""
    compatible, own, support = api_of("ana"), caller_of("ana"), a_browser_of(Role.SUPPORT, login="eve")
    page = reverse("pages:user-memories", args=[subject_of(container).uid])

    def finds(name: str, query: dict[str, Any]) -> Callable[[], bool]:
        return lambda: compatible.post(f"/c1/memories/{name}/_search", {"query": query}).json()["hits"]["total"]["value"] > 0

    def recalls(query: dict[str, str]) -> Callable[[], bool]:
        return lambda: WORD in own.post("/containers/c1/recall", {"user_id": "ann", **query}).content.decode()

    return {
        **{name: finds(name, query) for name, query in COMPATIBLE.items()},
        "recall": recalls({"query": WORD}),
        "recall of the best": recalls({}),
        "list": lambda: WORD in own.get("/containers/c1/memories?user_id=ann").content.decode(),
        "page of memories": lambda: WORD in support.get(page).content.decode(),
    }


@pytest.mark.django_db(transaction=True)
def test_21_whoever_searched_before_finds_nothing_from_the_moment_at_which_the_rows_have_gone(monkeypatch: pytest.MonkeyPatch):
    container = make_container(external_id="c1", owner={"name": "ana"})
    own: dict[str, Any] = {"owner": "ana", "user_id": "ann"}
    store(container, a_session(**own), a_message(WORD, **own), a_memory(WORD, **own), a_change(WORD, **own), now=NOON - days(1))
    ways = searches(container)
    assert {name: finds() for name, finds in ways.items()} == dict.fromkeys(ways, True)
    request = opened("ann")
    approved(request)
    steps.begin_approved(now=NOON)
    monkeypatch.setitem(steps._STEPS, "users", lambda *_: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        run_inline(Job.objects.get(kind=steps.EXECUTE), now=NOON)

    assert {name: finds() for name, finds in ways.items()} == dict.fromkeys(ways, False)
    assert getattr(cache, "_cache", {}) == {}
