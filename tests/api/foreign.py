"""A container full of what its owner alone may see, and every request of the API by which somebody else could try to get at it."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

from memadmin.erasure import disclosures
from memadmin.erasure.models import Disclosure, ErasureRequest
from memadmin.lifecycle import feedback
from memadmin.lifecycle.feedback import Report
from memadmin.lifecycle.models import Run, RunVictim
from memadmin.store import configuration, pinning, policies
from memadmin.store.intake import IncomingArchived
from memadmin.store.models import (
    Archived,
    Container,
    Feedback,
    FeedbackKind,
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
from tests.erasure.test_notices import a_recipient
from tests.erasure.workflow import opened
from tests.factories import ACTOR, NOON, a_change, a_memory, a_message, a_session, make_container, store
from tests.runs import a_policy, governed, preview, publish
from tests.tokens import ApiClient

CANARY = "canary-7f3a"  # in every text, name and user id; no request says it
KNOWN = "kim"  # a user of both containers
OF_THE_INSTALLATION = {"/_cluster/settings", "/api/v1/schema"}  # name no container
MODELS: dict[ItemType, Any] = {
    ItemType.SESSION: Session,
    ItemType.WORKING: WorkingMemory,
    ItemType.LONG_TERM: LongTermMemory,
    ItemType.HISTORY: HistoryEntry,
}
HELD_IN = (Subject, *MODELS.values(), PolicyVersion, Archived, Run, Feedback, Disclosure)  # tables with a container
Request = tuple[str, str, Any]  # method, path, body


@dataclass
class Foreign:
    """The container, and by which names its rows can be asked for."""

    container: Container
    draft: PolicyVersion
    uids: dict[str, str]
    numbers: dict[str, int]
    items: dict[ItemType, list[str]]

    def rows(self) -> str:
        """Everything of it, to be compared."""
        found = {model.__name__: list(model._default_manager.filter(container=self.container).order_by("pk").values()) for model in HELD_IN}
        found["Container"] = list(Container.objects.filter(pk=self.container.pk).values())
        found["RunVictim"] = list(RunVictim.objects.filter(run__container=self.container).order_by("pk").values())
        found["Pin"] = list(Pin.objects.filter(target_uid__in=self.uids.values()).values())
        found["Subscription"] = list(Subscription.objects.filter(uid__in=self.uids.values()).values())
        found["ErasureRequest"] = list(ErasureRequest.objects.filter(number=self.numbers["erasure-requests"]).values())
        return json.dumps(found, default=str)


def make_foreign() -> Foreign:
    policy = a_policy(sessions={"max_count": 1}, long_term={"max_count": 1})
    container = governed(policy, f"{CANARY} pharmacy", external_id="theirs", owner={"name": "ana"}, description=CANARY)
    own = {"owner": "ana", "user_id": KNOWN}
    store(
        container,
        *(a_session(f"s-{number}", summary=CANARY, **own) for number in (1, 2)),
        a_message(CANARY, namespace={"user_id": KNOWN, "session_id": "s-1"}, **own),
        *(a_memory(f"{CANARY} {number}", external_id=f"m-{number}", **own) for number in (1, 2)),
        a_memory("green tea", owner="ana", user_id=f"{CANARY}-user"),
        a_change(CANARY, **own),
        IncomingArchived(user_id=KNOWN, item=a_memory(CANARY, user_id=KNOWN), reason="age", archived_at=NOON),
    )
    pinning.pin(LongTermMemory.objects.get(external_id="m-1"), reason=CANARY, actor=ACTOR, now=NOON)
    draft = policies.save_draft(container, a_policy(long_term={"max_count": 7}), actor=ACTOR, now=NOON, note=CANARY)
    feedback.record(
        Subject.objects.get(user_id=KNOWN), Report(kind=FeedbackKind.WRONG, words=CANARY, noticed_at=NOON), actor=ACTOR, now=NOON
    )
    spec = SubscriptionSpec(url=f"https://hooks.example.org/{CANARY}", events=["run.finished"], containers=[container])
    told, _ = subscriptions.subscribe(spec, actor=ACTOR, now=NOON)
    request = opened(KNOWN, containers=[container])
    given, _ = a_recipient(container, name=f"{CANARY} clinic")
    disclosures.record(given, Subject.objects.get(user_id=KNOWN), own_id=CANARY, at=NOON, actor=ACTOR, now=NOON)
    rows: dict[str, Any] = {"memories": LongTermMemory.objects.get(external_id="m-1"), "archive": Archived.objects.get(), "webhooks": told}
    rows |= {"recipients": given}
    return Foreign(
        container=container,
        draft=draft,
        uids={word: str(row.uid) for word, row in rows.items()},
        numbers={"runs": preview(container).number, "policies": draft.number, "erasure-requests": request.number},
        items={item_type: ids_of(container, item_type) for item_type in MODELS},
    )


def make_own() -> Container:
    """A container of the intruder, where nothing is missing that its requests could need."""
    container = make_container("own", external_id="own", owner={"name": "ana"})
    publish(container, a_policy(long_term={"max_count": 50}))
    store(container, a_memory("green tea", user_id=KNOWN, owner="ana"), a_session("s-9", user_id=KNOWN, owner="ana"))
    preview(container)
    configuration.change("api_requests_per_minute", 1_000_000, actor=ACTOR, now=NOON)
    return container


def patterns() -> list[tuple[str, list[str]]]:
    """Return the path and the methods of every address of the API that could lead to a container."""

    def walk(resolver: URLResolver, path: str) -> Iterator[tuple[str, list[str]]]:
        for entry in resolver.url_patterns:
            here = path + str(entry.pattern)
            if isinstance(entry, URLPattern):
                yield here, sorted(getattr(entry.callback, "scopes", {}))
            else:
                yield from walk(entry, here)

    found = walk(get_resolver(), "/")
    return [(path, methods) for path, methods in found if path.startswith(("/_", "/api/")) and path not in OF_THE_INSTALLATION]


def ids_of(container: Container, item_type: ItemType) -> list[str]:
    row = MODELS[item_type]._default_manager.filter(container=container).order_by("pk").first()
    return [name for name in (row.external_id, str(row.uid)) if name]


def paths(pattern: str, foreign: Foreign, cid: str) -> list[str]:
    """Return the pattern with a container in its place, and theirs wherever a uid, a number or the id of a memory belongs."""
    words = pattern.split("/")
    known = {"cid": cid, "rest": "plugins/_ml/x"}
    known["uid"] = next((uid for word, uid in foreign.uids.items() if word in words), "")
    known["number"] = str(next((number for word, number in foreign.numbers.items() if word in words), ""))
    places = [{"name": str(name), "mid": mid} for name, mids in foreign.items.items() for mid in mids]
    found = [re.sub(r"<\w+:(\w+)>", lambda part, all=known | place: all[part[1]], pattern) for place in places]  # type: ignore[misc]
    return list(dict.fromkeys(found))


def bodies(foreign: Foreign) -> dict[str, list[Any]]:
    """What is sent to the addresses that write or search, by their last word; after a slash, where that is an id."""
    memory, copy, hook = foreign.uids["memories"], foreign.uids["archive"], "https://hooks.example.org/x"
    everything = {"query": {"match_all": {}}, "size": 100, "track_total_hits": True}
    inside = {"memory_container_id": "theirs", "namespace": {"user_id": KNOWN, "session_id": "s-1"}}
    policy = {"policy": {"relevance": {"max_records": 1}}}
    return {
        **{word: [everything] for word in ("_search", "_delete_by_query")},
        **{word: [{"query": "tea", "k": 10}] for word in ("_semantic_search", "_hybrid_search")},
        **{word: [None] for word in ("_dry_run", "_execute", "start", "unschedule", "settings", "access-export")},
        "_create": [{"name": "bot", "memory_container_id": "theirs"}],
        "memory_containers/": [{"name": "taken", "configuration": {"retention_policy": {"sessions": {"max_count": 1}}}}],
        "sessions": [{"session_id": "s-1", "summary": "taken", **inside}],
        "long-term": [{"memory": "taken", **inside}],
        "memories": [{"messages": [], **inside}, {"text": "taken", "id": "m-1", "user_id": KNOWN}],
        "memories/": [{"summary": "x", "memory": "x", "tags": {"a": "b"}, "messages": []}, {"pinned": False}, {"text": "x", "revision": 2}],
        "pin": [{"reason": "taken"}],
        "history": [{"memory_uid": memory, "action": "DELETE", "user_id": KNOWN}],
        "recall": [{"user_id": KNOWN, "query": "tea"}, {"user_id": KNOWN}],
        "feedback": [{"user_id": KNOWN, "kind": "wrong", "words": "x", "memory_uid": memory}],
        "bulk": [{"type": "long-term", "user_id": KNOWN, "text": "x", "uid": memory}, {"type": "session", "external_id": "s-1"}],
        "review": [{"action": "unpin", "reason": "taken", "pins": [{"uid": memory, "revision": 1}]}],
        "policies": [policy],
        "policies/": [{**policy, "revision": 1}],
        "publish": [{"digest": foreign.draft.digest, "base": 1}],
        "roll-back": [{"base": 1}],
        "copy": [{"containers": ["theirs"]}],
        **{word: [{}, policy] for word in ("preview", "runs")},
        "restore": [None, {"uids": [memory, copy], "force": True}, {"user_id": KNOWN, "force": True}],
        "hard-limit": [{"days": 400}],
        "summarising": [{"enabled": True}, {"summarise": True}],
        "webhooks": [{"url": hook, "events": ["run.finished"], "containers": ["theirs"]}],
        "webhooks/": [{"enabled": False}],
        "rest/": [None],
        **_bodies_of_erasure(foreign),
    }


def _bodies_of_erasure(foreign: Foreign) -> dict[str, list[Any]]:
    return {
        "disclosures": [{"recipient": foreign.uids["recipients"], "user_id": KNOWN, "own_id": "taken"}],
        "at-once": [{"recipient": foreign.uids["recipients"], "people": [{"user_id": KNOWN, "own_id": "taken"}]}],
        "go-on": [None, {"reason": "taken"}],
        "told": [{"told_on": "2026-03-01"}],
        "approve": [{"digest": "0" * 64}],
        "refuse": [{"reason": "taken"}],
        "erasure-requests": [{"user_id": KNOWN}],
    }


def word_of(pattern: str) -> str:
    *before, last = [word for word in pattern.split("/") if "<str:name>" not in word]
    return "rest/" if "rest>" in last else f"{before[-1]}/" if last.startswith("<") else last


def requests(foreign: Foreign) -> list[Request]:
    """Return every request: theirs and the intruder's container in the path, all ids theirs. What makes
    something comes late, and what ends the intruder's container last.

    An address that writes has to be named in `bodies`: a new one makes this fail until it is.
    """
    found: dict[str, Request] = {}
    sent = bodies(foreign)
    for (pattern, methods), cid in product(patterns(), ("theirs", "own")):
        for path, method in product(paths(pattern, foreign, cid), methods):
            writes = method in {"POST", "PUT", "PATCH"} or path.endswith("_search")
            for body in sent[word_of(pattern)] if writes else [None]:
                found.setdefault(json.dumps([method, path, body]), (method, path, body))
    return sorted(found.values(), key=lambda request: (request[0] == "DELETE" and request[1].endswith("/own"), request[0] == "POST"))


def ask(api: ApiClient, request: Request) -> tuple[int, str]:
    answer = api.call(*request)
    content = b"".join(answer.streaming_content) if answer.streaming else answer.content  # type: ignore[attr-defined]
    return answer.status_code, content.decode()
