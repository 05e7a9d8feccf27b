import json
from uuid import UUID, uuid5

import pytest
from django.http import HttpRequest
from django.http.request import UnreadablePostError

from memadmin.access.tokens import revoke_token
from memadmin.api.v1 import bulk
from memadmin.audit.actions import Action
from memadmin.audit.models import AuditEntry
from memadmin.store import suppression
from memadmin.store.identity import item_uid
from memadmin.store.models import HistoryEntry, LongTermMemory, Mode, Session, WorkingMemory
from memadmin.store.suppression import Terms
from tests.api.v1.calls import Caller, caller_of, problem
from tests.factories import ACTOR, NOON, a_memory, a_session, make_container, store, subject_of
from tests.tokens import make_token

pytestmark = pytest.mark.django_db
ONE = "/containers/c1"
FROM_NAMES = uuid5(UUID(int=1), "an import")


@pytest.fixture
def api(db):
    return caller_of("ana")


@pytest.fixture
def container(db):
    return make_container(external_id="c1", owner={"name": "ana"}, backend_roles=["cs"])


def lines(*records):
    return b"\n".join(record if isinstance(record, bytes) else json.dumps(record).encode() for record in records)


def answers(api, *records):
    answer = api.post(f"{ONE}/bulk", lines(*records))
    assert answer.status_code == 200, answer.content
    assert answer.headers["Content-Type"].startswith("application/x-ndjson")
    return [json.loads(line) for line in b"".join(answer.streaming_content).splitlines()]


def test_every_line_is_answered_and_a_bad_one_costs_only_itself(api, container):
    found = answers(
        api,
        {"type": "session", "user_id": "ann", "external_id": "s1", "summary": "about tea"},
        {"type": "working", "user_id": "ann", "session_ref": "s1", "messages": [{"role": "user", "content": "hi"}]},
        {"type": "long-term", "user_id": "ann", "text": "likes tea", "external_id": "m1"},
        b"{broken",
        {"type": "long-term", "user_id": "ann", "text": "x", "importance": 7},
        {"type": "long-term", "user_id": "ann", "text": "x", "pin": {"reason": "y"}},
        {"type": "nothing"},
        {"type": "long-term", "user_id": "ann", "text": "x", "colour": "red"},
        {"type": "history", "user_id": "ann", "action": "ADD", "after": {"memory": "likes tea"}},
    )

    assert [(one["line"], one["status"]) for one in found[:-1]] == [
        *[(number, "stored") for number in (1, 2, 3)],
        *[(number, "refused") for number in (4, 5, 6, 7, 8)],
        (9, "stored"),
    ]
    assert [one["code"] for one in found[3:8]] == ["not_json", "out_of_range", "not_taken", "unknown_type", "field_unknown"]
    assert found[-1] == {"done": True, "stored": 4, "refused": 5}
    memory = LongTermMemory.objects.get()
    assert (found[2]["uid"], memory.owner) == (str(memory.uid), "ana")
    assert (Session.objects.get().owner, WorkingMemory.objects.get().owner, HistoryEntry.objects.get().owner) == ("ana", "ana", "ana")
    assert subject_of(container).long_term == subject_of(container).sessions == 1
    assert AuditEntry.objects.get(action=Action.IMPORT_FINISHED).counts == {"stored": 4, "refused": 5}


def test_a_token_that_is_ended_half_way_ends_the_upload_and_says_what_is_not_stored(container, monkeypatch):
    monkeypatch.setattr(bulk, "AT_ONCE", 2)
    token, secret = make_token("ana")
    records = [{"type": "long-term", "user_id": "ann", "text": f"fact {number}"} for number in range(6)]

    parts = Caller(secret).post(f"{ONE}/bulk", lines(*records)).streaming_content
    first = next(parts)
    revoke_token(token, actor=ACTOR, now=NOON)
    [last] = [json.loads(line) for line in b"".join(parts).splitlines()]

    assert first.count(b"stored") == LongTermMemory.objects.count() == 2
    assert (last["done"], last["stored"], last["refused"], last["code"]) == (False, 2, 0, "token_ended")
    assert AuditEntry.objects.get(action=Action.IMPORT_FINISHED).counts == {"stored": 2, "refused": 0}


def test_the_same_lines_again_are_the_same_items(api, container):
    record = {"type": "long-term", "user_id": "ann", "text": "likes tea", "external_id": "m1", "created_at": "2026-01-01T00:00:00Z"}

    first, second = answers(api, record), answers(api, record)

    assert first[0]["uid"] == second[0]["uid"]
    assert LongTermMemory.objects.count() == 1


def test_what_the_store_refuses_is_found_out_line_by_line(api, container, monkeypatch):
    monkeypatch.setattr(bulk, "AT_ONCE", 10)
    store(container, a_memory("bob's", user_id="bob", uid=UUID(int=7), owner="ana"))

    found = answers(
        api,
        {"type": "long-term", "user_id": "ann", "text": "first"},
        {"type": "long-term", "user_id": "ann", "text": "stolen", "uid": str(UUID(int=7))},
        {"type": "long-term", "user_id": "ann", "text": "third"},
    )

    assert [one.get("code") for one in found[:-1]] == [None, "uid_taken", None]
    assert set(LongTermMemory.objects.values_list("text", flat=True)) == {"bob's", "first", "third"}


def test_nobody_changes_what_another_writer_has_stored(api, container):
    store(container, a_session("s1", owner="ana", summary="hers"), a_memory("hers", owner="ana", external_id="m1"))
    ben = caller_of("ben", backend_roles=("cs",))

    found = answers(
        ben,
        {"type": "session", "user_id": "ann", "external_id": "s1", "summary": "his"},
        {"type": "long-term", "user_id": "ann", "text": "his", "external_id": "m1"},
    )

    assert [one["code"] for one in found[:-1]] == ["not_yours", "not_yours"]
    assert (Session.objects.get().summary, LongTermMemory.objects.get().text) == ("hers", "hers")


def test_a_few_bad_lines_among_many_cost_only_themselves(api, container, monkeypatch):
    monkeypatch.setattr(bulk, "AT_ONCE", 40)
    store(container, a_memory("bob's", user_id="bob", uid=UUID(int=7), owner="ana"), a_memory("root's", owner="root", external_id="m20"))
    records = [{"type": "long-term", "user_id": "ann", "text": str(number), "external_id": f"m{number}"} for number in range(50)]
    records[3]["uid"] = records[45]["uid"] = str(UUID(int=7))

    found = answers(api, *records)

    assert {one["line"]: one["code"] for one in found[:-1] if one["status"] == "refused"} == {
        4: "uid_taken",
        21: "not_yours",
        46: "uid_taken",
    }
    assert [one["line"] for one in found[:-1]] == list(range(1, 51))
    assert found[-1] == {"done": True, "stored": 47, "refused": 3}
    assert LongTermMemory.objects.filter(owner="ana").count() == 48
    assert subject_of(container).long_term == 48


def test_lines_about_an_erased_user_are_refused_and_their_neighbours_stay(api, container, settings, tmp_path):
    settings.SUPPRESSION_KEYS = str(tmp_path / "keys.json")
    terms = {"terms": Terms(mode=Mode.BLOCK), "request_ref": "erasure/1", "actor": ACTOR, "now": NOON}
    suppression.suppress_users(["bob"], container=container, **terms)
    suppression.suppress_texts(["likes tea"], container=container, **terms)

    found = answers(
        api,
        *[{"type": "long-term", "user_id": user, "text": text} for user, text in (("ann", "a"), ("bob", "b"), ("ann", "likes tea"))],
        {"type": "long-term", "user_id": "ann", "text": "c"},
    )

    assert [one.get("code") for one in found[:-1]] == [None, "suppressed", "suppressed", None]
    assert set(LongTermMemory.objects.values_list("text", flat=True)) == {"a", "c"}


def test_lines_that_wait_for_a_person_are_not_called_stored(api, container, settings, tmp_path):
    settings.SUPPRESSION_KEYS = str(tmp_path / "keys.json")
    terms = {"terms": Terms(mode=Mode.QUARANTINE), "request_ref": "erasure/1", "actor": ACTOR, "now": NOON}
    suppression.suppress_users(["bob"], container=container, **terms)

    found = answers(
        api,
        {"type": "session", "user_id": "bob", "external_id": "s1"},
        {"type": "long-term", "user_id": "ann", "text": "a"},
        {"type": "long-term", "user_id": "bob", "text": "b"},
    )

    assert [one["status"] for one in found[:-1]] == ["set_aside", "stored", "set_aside"]
    assert found[-1] == {"done": True, "stored": 1, "refused": 0, "set_aside": 2}
    assert list(LongTermMemory.objects.values_list("text", flat=True)) == ["a"]


def test_whether_a_uid_made_from_names_is_taken_in_another_container_is_not_told(api, container):
    elsewhere = make_container("elsewhere", owner={"name": "ben"})
    store(elsewhere, a_memory("ben's", external_id="m1", owner="ben"))
    taken, free = (str(item_uid(elsewhere.uid, "long-term", "ann", name)) for name in ("m1", "m2"))

    found = answers(api, *[{"type": "long-term", "user_id": "ann", "text": "x", "uid": uid} for uid in (taken, free)])

    assert found[0]["code"] == found[1]["code"] == "uid_from_elsewhere"
    assert {**found[0], "line": 2} == found[1]


def test_lines_of_an_export_go_back_to_where_they_came_from(api, container):
    store(
        container,
        a_memory("likes tea", external_id="m1", owner="ana"),
        a_session("s1", owner="ana"),
        a_memory("imported", owner="ana", uid=FROM_NAMES),
    )
    exported = b"".join(caller_of("root", all_access=True).get(f"{ONE}/export").streaming_content).splitlines()
    items = [{key: value for key, value in json.loads(line).items() if key != "owner"} for line in exported]

    found = answers(api, *[item for item in items if item.get("type") in {"long-term", "session"}])

    assert [one["status"] for one in found[:-1]] == ["stored"] * 3
    assert (LongTermMemory.objects.count(), Session.objects.count()) == (2, 1)


def test_a_body_that_is_too_large_is_refused_before_anything_is_stored(api, container, monkeypatch):
    monkeypatch.setattr(bulk, "LARGEST", 100)

    answer = api.post(f"{ONE}/bulk", lines(*[{"type": "long-term", "user_id": "ann", "text": "x"}] * 3))

    assert problem(answer)[0] == 413
    assert LongTermMemory.objects.count() == 0


def test_an_export_is_the_whole_container_or_one_user_and_is_audited(container):
    store(container, a_memory("likes tea", user_id="ann"), a_memory("likes milk", user_id="bob"))
    root = caller_of("root", all_access=True)

    whole = b"".join(root.get(f"{ONE}/export").streaming_content)
    one = b"".join(root.get(f"{ONE}/export?user_id=ann").streaming_content)

    assert b"likes tea" in whole
    assert b"likes milk" in whole
    assert b"likes tea" in one
    assert b"likes milk" not in one
    assert json.loads(one.splitlines()[-1])["type"] == "end"
    assert AuditEntry.objects.filter(action=Action.EXPORT_FINISHED).count() == 2
    assert problem(root.get(f"{ONE}/export?user_id=zoe"))[0] == 404


@pytest.mark.parametrize("nothing", [{}, {"text": None}, {"text": " \n"}, {"text": "", "parts": []}])
def test_a_memory_that_says_nothing_is_refused(api, container, nothing):
    found = answers(
        api, {"type": "long-term", "user_id": "ann", **nothing}, {"type": "long-term", "user_id": "ann", "parts": [{"text": "a"}]}
    )

    assert [(one["status"], one.get("code")) for one in found[:-1]] == [("refused", "missing"), ("stored", None)]


def test_a_body_that_ends_too_early_is_refused_and_nothing_is_stored(api, container, monkeypatch):
    def cut_off(*_):
        raise UnreadablePostError("connection reset")

    monkeypatch.setattr(HttpRequest, "read", cut_off)

    assert problem(api.post(f"{ONE}/bulk", lines({"type": "long-term", "user_id": "ann", "text": "a"})))[:2] == (400, "cut_off")
    assert not LongTermMemory.objects.exists()


def test_a_body_that_says_it_is_too_large_is_not_read(api, container, monkeypatch):
    monkeypatch.setattr(bulk, "LARGEST", 5)
    monkeypatch.setattr(bulk, "read_part", None)

    assert problem(api.post(f"{ONE}/bulk", lines({"type": "long-term", "user_id": "ann", "text": "a"})))[:2] == (413, "too_large")
