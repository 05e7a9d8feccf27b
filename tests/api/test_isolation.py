"""Every address of the API, asked with a token of another container: it sees, touches, pins, finds and counts nothing."""

import itertools
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import URLPattern, URLResolver, get_resolver

from memadmin.lifecycle.models import Run, RunVictim
from memadmin.store import pinning
from memadmin.store.intake import IncomingArchived
from memadmin.store.models import (
    Archived,
    Container,
    HistoryEntry,
    ItemType,
    LongTermMemory,
    Pin,
    PolicyVersion,
    Session,
    Subject,
    WorkingMemory,
)
from memadmin.webhooks import subscriptions
from memadmin.webhooks.models import Subscription
from memadmin.webhooks.subscriptions import SubscriptionSpec
from tests.factories import ACTOR, NOON, a_change, a_memory, a_message, a_session, make_container, store
from tests.runs import a_policy, governed, preview
from tests.tokens import ApiClient, api_of

pytestmark = pytest.mark.django_db
CANARY = "canary-7f3a"
TABLES = (
    Container,
    Subject,
    Session,
    WorkingMemory,
    LongTermMemory,
    HistoryEntry,
    Pin,
    PolicyVersion,
    Archived,
    Run,
    RunVictim,
    Subscription,
)
OF_THE_INSTALLATION = {"/_cluster/settings", "/api/v1/schema"}  # names no container
REFUSALS = {400, 401, 403, 404, 405, 409, 415, 422}
BODIES: list[Any] = [
    None,
    {},
    {"query": {"match_all": {}}, "size": 100, "track_total_hits": True},
    {"query": "canary", "k": 10},
    {"name": "taken over", "backend_roles": ["all"], "configuration": {"retention_policy": {"sessions": {"max_count": 1}}}},
    {"summary": "changed", "memory": "changed", "tags": {"a": "b"}, "messages": [{"role": "user", "content": []}]},
    {"pinned": True},
    {"pinned": False},
    {"delete_all_memories": True},
    {"text": "changed", "user_id": CANARY, "reason": "taken", "revision": 1, "enabled": False, "policy": {}},
    {"url": "https://hooks.example.org/x", "events": ["run.finished"], "containers": ["CID"]},
    {"session_id": "s-1", "messages": [], "namespace": {"user_id": CANARY, "session_id": "s-1"}},
]


@pytest.fixture
def theirs() -> Container:
    """A container full of what nobody else may see."""
    container = governed(a_policy(sessions={"max_count": 1}, long_term={"max_count": 1}), f"{CANARY} pharmacy", owner={"name": "ana"})
    own = {"user_id": CANARY, "owner": "ana"}
    store(
        container,
        *(a_session(f"s-{number}", summary=CANARY, **own) for number in (1, 2)),
        a_message(CANARY, namespace={"user_id": CANARY, "session_id": "s-1"}, **own),
        *(a_memory(f"{CANARY} {number}", external_id=f"m-{number}", **own) for number in (1, 2)),
        a_change(CANARY, **own),
    )
    pinning.pin(LongTermMemory.objects.get(external_id="m-1"), reason=CANARY, actor=ACTOR, now=NOON)
    store(container, IncomingArchived(user_id=CANARY, item=a_memory(CANARY, user_id=CANARY), reason="age", archived_at=NOON))
    preview(container)
    spec = SubscriptionSpec(url=f"https://hooks.example.org/{CANARY}", events=["run.finished"], containers=[container])
    subscriptions.subscribe(spec, actor=ACTOR, now=NOON)
    return container


@pytest.fixture
def intruder(theirs: Container) -> ApiClient:
    """Same owner, all access, every scope: only the container is another one."""
    return api_of("ana", all_access=True, containers=[make_container("own")])


def patterns() -> Iterator[tuple[str, set[str]]]:
    """Return the path and the methods of every address of the API that could lead to a container."""

    def walk(resolver: URLResolver, path: str) -> Iterator[tuple[str, set[str]]]:
        for entry in resolver.url_patterns:
            here = path + str(entry.pattern)
            if isinstance(entry, URLPattern):
                yield here, set(getattr(entry.callback, "scopes", {}))
            else:
                yield from walk(entry, here)

    found = walk(get_resolver(), "/")
    return ((path, methods) for path, methods in found if path.startswith(("/_", "/api/")) and path not in OF_THE_INSTALLATION)


def ids_in(container: Container) -> dict[str, list[str]]:
    models = {
        ItemType.SESSION: Session,
        ItemType.WORKING: WorkingMemory,
        ItemType.LONG_TERM: LongTermMemory,
        ItemType.HISTORY: HistoryEntry,
    }
    found = {}
    for item_type, model in models.items():
        row = model.objects.filter(container=container).order_by("pk").first()
        assert row is not None
        found[str(item_type)] = [name for name in (row.external_id, str(row.uid)) if name]
    return found


def addresses(container: Container) -> Iterator[tuple[str, str]]:
    """Return every method and path, with ids of theirs wherever an id belongs."""
    memory, copy, told = LongTermMemory.objects.first(), Archived.objects.get(), Subscription.objects.get()
    assert memory is not None
    for item_type, mids in ids_in(container).items():
        for mid, uid in itertools.product(mids, (memory.uid, copy.uid, told.uid)):
            known = {
                "cid": container.uid,
                "name": item_type,
                "mid": mid,
                "rest": "plugins/_ml/x",
                "uid": uid,
                "number": Run.objects.get().number,
            }
            for pattern, methods in patterns():
                path = re.sub(r"<\w+:(\w+)>", lambda part, known=known: str(known[part[1]]), pattern)  # type: ignore[misc]
                yield from ((method, path) for method in sorted(methods))


def everything() -> str:
    own = {"container__name": "own"}
    rows = {model.__name__: list(model.objects.order_by("pk").values()) for model in TABLES if model is not Container}
    rows["Container"] = list(Container.objects.exclude(name="own").order_by("pk").values())
    assert not WorkingMemory.objects.filter(**own).exists()
    return json.dumps(rows, default=str)


def ask(intruder: ApiClient, method: str, path: str, body: Any) -> tuple[int, str]:
    answer = intruder.call(method, path, body)
    content = b"".join(answer.streaming_content) if answer.streaming else answer.content  # type: ignore[attr-defined]
    return answer.status_code, content.decode().replace(path, "")


def test_a_token_of_another_container_does_nothing_at_any_address(theirs, intruder):
    before, asked = everything(), set(addresses(theirs))
    bodies = [json.loads(json.dumps(body).replace("CID", str(theirs.uid))) for body in BODIES]
    told = []

    for (method, path), body in itertools.product(sorted(asked), bodies):
        if "_create" not in path and (method in {"POST", "PUT", "PATCH"} or body in (None, *bodies[2:4])):
            status, text = ask(intruder, method, path, body)
            if CANARY in text.replace(json.dumps(body), "") or status not in {200, *REFUSALS}:
                told.append((method, path, body, status, text))

    assert told == []
    assert everything() == before
    assert len(asked) > 60


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_nothing_of_it_is_found_or_counted(theirs, intruder, method):
    found = intruder.call(method, "/_search", {"query": {"match_all": {}}, "track_total_hits": True}).json()

    assert [hit["_source"]["name"] for hit in found["hits"]["hits"]] == ["own"]
    assert found["hits"]["total"]["value"] == 1
    assert [result["container_id"] for result in intruder.post("/_retention/_dry_run").json()["results"]] == [
        str(Container.objects.get(name="own").uid)
    ]


def test_an_address_in_a_container_that_is_not_listed_answers_as_if_it_were_not_there(theirs, intruder):
    there, nowhere = f"/{theirs.uid}", "/00000000-0000-0000-0000-000000000000"

    for path in ("", "/memories/sessions/s-1", "/_retention/_dry_run"):
        method = "POST" if path.endswith("_dry_run") else "GET"
        found = [intruder.call(method, each + path) for each in (there, nowhere)]
        assert [answer.status_code for answer in found] == [404, 404]
        assert found[0].content.decode().replace(there[1:], "") == found[1].content.decode().replace(nowhere[1:], "")


def test_with_the_id_of_its_own_container_it_reaches_none_of_their_rows(theirs, intruder):
    own = Container.objects.get(name="own")

    for item_type, mids in ids_in(theirs).items():
        for mid in mids:
            for method, body in (("GET", None), ("PUT", {"tags": {"a": "b"}}), ("DELETE", None)):
                assert intruder.call(method, f"/{own.uid}/memories/{item_type}/{mid}", body).status_code == 404
    assert LongTermMemory.objects.filter(revision=1).count() == 1  # the pinned one has had its pin
