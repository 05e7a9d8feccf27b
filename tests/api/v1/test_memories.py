from uuid import UUID, uuid4

import pytest

from memadmin.access.scopes import Scope
from memadmin.api.v1 import memories
from memadmin.audit.actions import Action
from memadmin.audit.models import AuditEntry, AuditPayload
from memadmin.store import configuration, pinning, suppression
from memadmin.store.intake import Source
from memadmin.store.models import HistoryEntry, ItemType, LongTermMemory, Mode, Pin
from memadmin.store.suppression import Terms
from tests.api.v1.calls import caller_of, problem, said
from tests.factories import ACTOR, NOON, a_memory, a_pin, days, make_container, make_memory, store, subject_of
from tests.runs import a_policy, governed

pytestmark = pytest.mark.django_db
ONE = "/containers/c1"


@pytest.fixture
def api(db):
    return caller_of("ana")


@pytest.fixture
def container(db):
    return make_container(external_id="c1", owner={"name": "ana"})


def test_a_memory_is_stored_under_the_tokens_name_with_its_history_and_counters(api, container):
    made = said(api.post(f"{ONE}/memories", {"user_id": "ann", "text": "likes tea", "id": "m1", "tags": {"a": 1}, "importance": 0.9}), 201)

    row = LongTermMemory.objects.get()
    assert (made["uid"], made["id"], made["owner"], made["user_id"]) == (str(row.uid), "m1", "ana", "ann")
    assert (made["tags"], made["importance"], made["revision"], made["hits"]) == ({"a": 1}, 0.9, 1, 0)
    assert [term["name"] for term in made["explanation"]["terms"]] == ["recency", "frequency", "importance"]
    assert HistoryEntry.objects.get().action == "ADD"
    assert subject_of(container).long_term == 1


def test_a_second_memory_with_the_same_id_is_a_conflict(api, container):
    body = {"user_id": "ann", "text": "likes tea", "id": "m1"}
    api.post(f"{ONE}/memories", body)

    assert problem(api.post(f"{ONE}/memories", {**body, "text": "likes coffee"}))[:2] == (409, "id_taken")
    assert api.post(f"{ONE}/memories", {**body, "user_id": "bob"}).status_code == 201
    assert list(LongTermMemory.objects.order_by("id").values_list("text", flat=True)) == ["likes tea", "likes tea"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "text"),
        ({"text": ""}, "text"),
        ({"text": 3, "tags": []}, "tags"),
        ({"text": "x", "importance": 2}, "importance"),
        ({"text": "x", "user_id": "u" * 513}, "user_id"),
        ({"text": "x", "created_at": "0001-01-01T00:00:00Z"}, "created_at"),
        ({"text": "x", "pinned": True}, "pinned"),
    ],
    ids=str,
)
def test_what_cannot_be_stored_is_refused_with_its_field(api, container, body, field):
    status, _, attr = problem(api.post(f"{ONE}/memories", body))

    assert (status, attr) == (400, field)
    assert LongTermMemory.objects.count() == 0


def test_a_body_that_is_no_json_object_is_refused(api, container):
    for body in (b"{", b"[]", b'{"text": "\xff"}'):
        answer = api.client.generic(
            "POST", f"/api/v1{ONE}/memories", body, content_type="application/json", headers={"Authorization": f"Bearer {api.secret}"}
        )
        assert problem(answer)[0] == 400
    assert problem(api.post(f"{ONE}/memories", b'{"text": "x"}'))[0] == 415


def test_the_list_shows_score_and_reason_of_each_memory_and_counts_no_recall(api):
    container = governed(a_policy(relevance={"ttl_days": 30}), external_id="c1", owner={"name": "ana"})
    store(
        container,
        a_memory("old", days_old=4000, owner="ana"),
        a_memory("new", created_at=None, owner="ana", importance=1.0),
        a_memory("not hers", owner="ben"),
    )

    items = said(api.get(f"{ONE}/memories?user_id=ann"))["items"]

    assert [(item["text"], item["explanation"]["reasons"]) for item in items] == [("old", ["ttl"]), ("new", [])]
    shown = items[1]["explanation"]
    assert shown["score"] == pytest.approx(sum(term["points"] for term in shown["terms"]), abs=1e-6)
    assert set(LongTermMemory.objects.values_list("hits", flat=True)) == {0}


def test_the_list_is_paged_by_key_and_nothing_shows_twice(api, container):
    store(container, *(a_memory(f"m{number}", owner="ana", tokens=number % 3) for number in range(7)))

    seen, cursor = [], ""
    while cursor is not None:
        page = said(
            api.get(
                f"{ONE}/memories?user_id=ann&sort=tokens&limit=3&cursor={cursor}"
                if cursor
                else f"{ONE}/memories?user_id=ann&sort=tokens&limit=3"
            )
        )
        seen += [item["text"] for item in page["items"]]
        cursor = page["next"]

    assert sorted(seen) == [f"m{number}" for number in range(7)]
    assert problem(api.get(f"{ONE}/memories?user_id=ann&cursor=nonsense"))[::2] == (400, "cursor")
    assert problem(api.get(f"{ONE}/memories?limit=0"))[::2] == (400, "limit")


def test_a_user_without_memories_and_the_memories_of_nobody_are_listed(api, container):
    store(container, a_memory("nobody's", user_id=None, owner="ana"))

    assert said(api.get(f"{ONE}/memories?user_id=zoe"))["items"] == []
    assert [item["text"] for item in said(api.get(f"{ONE}/memories"))["items"]] == ["nobody's"]


def test_a_change_against_an_older_revision_changes_nothing_and_shows_both_versions(api, container):
    memory = make_memory(container, "likes tea", owner="ana")
    said(api.call("PATCH", f"{ONE}/memories/{memory.uid}", {"revision": 1, "text": "likes coffee"}))

    answer = api.call("PATCH", f"{ONE}/memories/{memory.uid}", {"revision": 1, "text": "likes milk"})

    body = said(answer, 409)
    assert (body["yours"]["text"], body["current"]["text"], body["current"]["revision"]) == ("likes milk", "likes coffee", 2)
    assert LongTermMemory.objects.get().text == "likes coffee"
    assert HistoryEntry.objects.filter(action="UPDATE").count() == 1


def test_a_pinned_memory_is_deleted_with_force_and_a_reason_only(api, container):
    memory = make_memory(container, "allergy", owner="ana", pin=a_pin())
    path = f"{ONE}/memories/{memory.uid}"

    assert problem(api.call("DELETE", path))[:2] == (409, "pinned")
    assert problem(api.call("DELETE", f"{path}?force=true"))[:2] == (409, "pinned")
    assert api.call("DELETE", f"{path}?force=true&reason=wrong%20person").status_code == 204

    assert LongTermMemory.objects.count() == Pin.objects.count() == 0
    entry = AuditEntry.objects.get(action=Action.ITEM_DELETED)
    assert "wrong person" in AuditPayload.objects.get(seq=entry.seq, stream=entry.stream).body
    assert problem(api.call("DELETE", path))[0] == 404


def test_a_pin_that_comes_while_a_deletion_is_under_way_counts(api, container, monkeypatch):
    memory = make_memory(container, "allergy", owner="ana")
    monkeypatch.setattr(memories, "memory_of", lambda *_: memory)  # as it was read
    pinning.pin(LongTermMemory.objects.get(), reason="asked for", actor=ACTOR, now=NOON)

    assert problem(api.call("DELETE", f"{ONE}/memories/{memory.uid}"))[:2] == (409, "pinned")
    assert LongTermMemory.objects.get().pinned


@pytest.mark.parametrize("cap", [{"max_records": 5}, {"max_records": 1000}])
def test_a_longer_list_takes_no_more_queries(api, django_assert_max_num_queries, cap):
    container = governed(a_policy(relevance=cap), external_id="c1", owner={"name": "ana"})
    store(container, *(a_memory(f"m{number}", owner="ana") for number in range(40)))

    with django_assert_max_num_queries(20):
        found = said(api.get(f"{ONE}/memories?user_id=ann&limit=40"))

    going = [item for item in found["items"] if item["explanation"]["reasons"]]
    assert len(going) == max(0, 40 - cap["max_records"])


def test_a_held_memory_is_not_deleted(api, container):
    memory = make_memory(container, owner="ana")
    LongTermMemory.objects.update(held=True)

    assert problem(api.call("DELETE", f"{ONE}/memories/{memory.uid}"))[0] == 409
    assert LongTermMemory.objects.exists()


def test_a_pin_that_should_have_been_reviewed_already_is_refused(api, container):
    uid = make_memory(container, owner="ana").uid

    answer = api.call("PUT", f"{ONE}/memories/{uid}/pin", {"reason": "allergy", "review_on": "2001-01-01"})

    assert problem(answer)[0] == 400
    assert "This day is over." in answer.content.decode()


def test_a_pin_has_a_reason_and_a_review_date_and_is_taken_away_again(api, container):
    memory = make_memory(container, owner="ana")
    path = f"{ONE}/memories/{memory.uid}/pin"

    pinned = said(api.call("PUT", path, {"reason": "allergy", "review_on": "2027-01-01"}))
    again = problem(api.call("PUT", path, {"reason": "twice"}))
    nothing = problem(api.call("PUT", path, {"reason": " "}))
    unpinned = said(api.call("DELETE", path))

    assert (pinned["pinned"], pinned["pin"]["reason"], pinned["pin"]["review_on"]) == (True, "allergy", "2027-01-01")
    assert pinned["pin"]["actor"].startswith("token/")
    assert again[0] == 409
    assert nothing[::2] == (400, "reason")
    assert (unpinned["pinned"], unpinned["pin"]) == (False, None)
    assert problem(api.call("DELETE", path))[0] == 409


def test_history_is_written_and_read_newest_first(api, container):
    made = said(api.post(f"{ONE}/memories", {"user_id": "ann", "text": "likes tea", "created_at": "2026-01-01T00:00:00Z"}), 201)
    entry = {"memory_uid": made["uid"], "action": "UPDATE", "user_id": "ann", "before": {"memory": "a"}, "after": {"memory": "b"}}

    said(api.post(f"{ONE}/history", entry), 201)

    listed = said(api.get(f"{ONE}/memories/{made['uid']}/history"))["items"]
    assert [item["action"] for item in listed] == ["UPDATE", "ADD"]
    assert listed[0]["after"] == {"memory": "b"}


def test_recall_finds_by_words_then_score_and_counts_once(api, container):
    store(
        container,
        a_memory("Green tea in the morning", owner="ana", importance=0.1),
        a_memory("tea", owner="ana", importance=0.2),
        a_memory("TEA!", owner="ana", importance=0.9),
        a_memory("coffee", owner="ana"),
        a_memory("tea of ben", owner="ben"),
    )

    items = said(api.post(f"{ONE}/recall", {"user_id": "ann", "query": "green tea"}))["items"]

    assert [(item["text"], item["words"]) for item in items] == [("Green tea in the morning", 2), ("TEA!", 1), ("tea", 1)]
    assert dict(LongTermMemory.objects.values_list("text", "hits"))["coffee"] == 0
    assert LongTermMemory.objects.filter(hits=1).count() == 3


def test_recall_without_a_question_gives_the_best_and_a_question_without_words_gives_none(api, container):
    store(container, a_memory("low", owner="ana", importance=0.1), a_memory("high", owner="ana", importance=0.9))

    best = said(api.post(f"{ONE}/recall", {"user_id": "ann", "limit": 1}))["items"]
    none = said(api.post(f"{ONE}/recall", {"user_id": "ann", "query": "?!"}))["items"]

    assert ([item["text"] for item in best], none) == (["high"], [])


def test_recall_hides_what_is_superseded_or_past_its_time_while_retention_is_on(api):
    container = governed(a_policy(relevance={"ttl_days": 30}), external_id="c1", owner={"name": "ana"})
    store(
        container,
        a_memory("expired tea", days_old=9000, owner="ana"),
        a_memory("kept tea", days_old=9000, owner="ana", pin=a_pin()),
        a_memory("replaced tea", created_at=None, owner="ana", superseded_by=UUID(int=1)),
    )

    def found():
        return {item["text"] for item in said(api.post(f"{ONE}/recall", {"user_id": "ann", "query": "tea"}))["items"]}

    assert found() == {"kept tea"}
    configuration.change("retention_enabled", False, actor=ACTOR, now=NOON + days(1))
    assert found() == {"kept tea", "expired tea"}


def test_another_writers_memory_is_not_there(container):
    container.backend_roles = ["cs"]
    container.save()
    memory = make_memory(container, owner="ana")
    ben = caller_of("ben", backend_roles=("cs",))
    path = f"{ONE}/memories/{memory.uid}"

    assert said(ben.get(f"{ONE}/memories?user_id=ann"))["items"] == []
    assert [ben.call(method, path, {"revision": 1}).status_code for method in ("GET", "PATCH", "DELETE")] == [404, 404, 404]
    assert ben.call("PUT", f"{path}/pin", {"reason": "x"}).status_code == 404
    assert said(ben.post(f"{ONE}/recall", {"user_id": "ann"}))["items"] == []
    assert LongTermMemory.objects.get().hits == 0


def test_each_method_asks_for_its_scope(container):
    memory = make_memory(container, owner="ana")
    reader = caller_of("ana", scopes=[Scope.MEMORY_READ])
    path = f"{ONE}/memories/{memory.uid}"

    assert reader.get(path).status_code == 200
    refused = [reader.call("PATCH", path, {}), reader.call("DELETE", path), reader.call("PUT", f"{path}/pin", {})]
    refused += [reader.post(f"{ONE}/{name}", {}) for name in ("memories", "history", "preview", "runs")]
    refused += [reader.get(f"{ONE}/export"), reader.get("/containers"), reader.post(f"{ONE}/bulk", b"{}")]
    assert [problem(answer)[:2] for answer in refused] == [(403, "permission_denied")] * len(refused)


def test_without_a_token_there_is_nothing_and_other_methods_are_refused(client, api, container):
    assert client.get(f"/api/v1{ONE}").status_code == 401
    assert client.get(f"/api/v1{ONE}").headers["WWW-Authenticate"].startswith("Bearer")
    assert problem(api.call("DELETE", ONE))[:2] == (405, "method_not_allowed")
    assert problem(api.call("OPTIONS", ONE))[0] == 405
    assert [problem(api.get(path))[0] for path in ("/containers/%00", "/nothing", "/runs/%0A1/x")] == [404, 404, 404]
    assert api.get(ONE).headers["Cache-Control"] == "private, no-store"


def test_too_many_requests_are_told_when_to_come_back(api, container):
    configuration.change("api_requests_per_minute", 1, actor=ACTOR, now=NOON)
    api.get(ONE)

    answer = api.get(ONE)

    assert problem(answer)[:2] == (429, "throttled")
    assert 0 < int(answer.headers["Retry-After"]) <= 60


def test_another_tenants_container_is_not_there(api, container):
    configuration.change("multi_tenancy_enabled", True, actor=ACTOR, now=NOON)

    assert problem(api.get(ONE))[0] == 404
    assert said(api.get("/containers"))["items"] == []


def test_a_memory_names_what_it_was_made_of(api, container):
    source = uuid4()
    memory = make_memory(container, owner="ana", sources=(Source(item_type=ItemType.WORKING, uid=source),))

    assert said(api.get(f"{ONE}/memories/{memory.uid}"))["sources"] == [{"type": "working", "uid": str(source)}]


def test_what_was_erased_and_waits_for_a_person_is_said_to_be_set_aside(api, container, settings, tmp_path):
    settings.SUPPRESSION_KEYS = str(tmp_path / "keys.json")
    terms = {"terms": Terms(mode=Mode.QUARANTINE), "request_ref": "erasure/1", "actor": ACTOR, "now": NOON}
    suppression.suppress_users(["bob"], container=container, **terms)
    fact = {"user_id": "bob", "text": "likes tea"}
    change = {"user_id": "bob", "memory_uid": str(uuid4()), "action": "ADD", "after": {"memory": "x"}}

    found = [
        said(api.post(f"{ONE}/{path}", body, **key), 202)
        for path, body in (("memories", fact), ("history", change))
        for key in ({}, {"Idempotency_Key": path}, {"Idempotency_Key": path})
    ]

    assert [one["status"] for one in found] == ["set_aside"] * 6
    assert not LongTermMemory.objects.exists()
    assert not HistoryEntry.objects.exists()
