"""Rows B of the list of behaviours, by their numbers."""

import uuid

import pytest

from memadmin.store.models import Session
from tests.factories import make_container
from tests.tokens import api_of, reason_of

pytestmark = pytest.mark.django_db
GIVEN = {"session_id": "s1", "summary": "about tea", "metadata": {"k": {"deep": [1]}}, "namespace": {"user_id": "bob", "n": 5}}


@pytest.fixture
def api():
    return api_of("ana")


@pytest.fixture
def cid(api):
    return api.post("/_create", {"name": "bot"}).json()["memory_container_id"]


def session_of(api, cid, name="s1"):
    return api.get(f"/{cid}/memories/sessions/{name}").json()


def test_b2_a_session_without_id_gets_one(api, cid):
    answer = api.post(f"/{cid}/memories/sessions", {"summary": "about tea", "namespace": {"user_id": "bob"}}).json()

    assert answer["status"] == "created"
    assert session_of(api, cid, answer["session_id"])["summary"] == "about tea"


def test_a_session_answers_what_it_was_given(api, cid):
    assert api.post(f"/{cid}/memories/sessions", GIVEN).json() == {"session_id": "s1", "status": "created"}

    found = session_of(api, cid)
    assert found.pop("created_time") == found.pop("last_updated_time")
    assert found == {
        "owner_id": "ana",
        "memory_container_id": cid,
        "summary": "about tea",
        "metadata": {"k": {"deep": [1]}},
        "namespace": {"user_id": "bob", "n": "5"},
    }


def test_b3_an_existing_session_is_left_as_it_is(api, cid):
    api.post(f"/{cid}/memories/sessions", GIVEN)
    before = session_of(api, cid)

    assert api.post(f"/{cid}/memories/sessions", {**GIVEN, "metadata": {"other": 1}}).json() == {"session_id": "s1", "status": "exists"}
    assert session_of(api, cid) == before


def test_b4_a_blank_id_is_none(api, cid):
    answer = api.post(f"/{cid}/memories/sessions", {"session_id": "  "}).json()

    assert uuid.UUID(answer["session_id"])


def test_b5_a_container_without_sessions(api):
    cid = api.post("/_create", {"name": "bot", "configuration": {"disable_session": True}}).json()["memory_container_id"]

    answer = reason_of(api.post(f"/{cid}/memories/sessions", {}))
    assert answer == (400, "illegal_argument_exception", "Session is disabled for this container")


def test_b7_without_access(cid):
    reason = "User doesn't have permissions to add memory to this container"

    assert reason_of(api_of("bob").post(f"/{cid}/memories/sessions", {})) == (403, "status_exception", reason)
    assert not Session.objects.exists()


def test_b8_an_empty_object_is_enough_and_no_body_is_not(api, cid):
    assert api.post(f"/{cid}/memories/sessions", {}).status_code == 200
    assert reason_of(api.post(f"/{cid}/memories/sessions"))[:2] == (400, "parse_exception")


def test_b9_nested_objects_come_back_unchanged(api, cid):
    nested = {name: {"a": [{"b": None}, 1.5, "x"], "c": {"d": True}} for name in ("agents", "metadata", "additional_info")}

    api.post(f"/{cid}/memories/sessions", {"session_id": "s1", **nested})

    found = session_of(api, cid)
    assert {name: found[name] for name in nested} == nested


def test_b10_the_owner_is_the_caller_whatever_the_body_says(api, cid):
    api.post(f"/{cid}/memories/sessions", {"session_id": "s1", "owner_id": "x", "pinned": True})

    assert session_of(api, cid)["owner_id"] == "ana"
    assert "pinned" not in session_of(api, cid)


def test_two_containers_may_have_a_session_of_the_same_id(api, cid):
    other = api.post("/_create", {"name": "other"}).json()["memory_container_id"]
    api.post(f"/{cid}/memories/sessions", {"session_id": "s1", "summary": "one"})

    assert api.post(f"/{other}/memories/sessions", {"session_id": "s1", "summary": "two"}).json()["status"] == "created"
    assert (session_of(api, cid)["summary"], session_of(api, other)["summary"]) == ("one", "two")


def test_an_unknown_container(api):
    assert reason_of(api.post("/nope/memories/sessions", {})) == (404, "status_exception", "Memory container not found")


@pytest.mark.parametrize(
    "wrong",
    [{"session_id": ["s"]}, {"session_id": "x" * 513}, {"summary": {"a": 1}}, {"metadata": "x"}, {"agents": [1]}, {"namespace": 5}],
)
def test_fields_of_another_shape_are_refused_and_nothing_is_stored(api, cid, wrong):
    assert reason_of(api.post(f"/{cid}/memories/sessions", wrong))[0] == 400
    assert not Session.objects.exists()


def test_a_session_of_several_users_is_ambiguous():
    root, container = api_of("root", all_access=True), make_container(external_id="c1")
    for user in ("ann", "bob"):
        root.post("/c1/memories", {"namespace": {"user_id": user, "session_id": "s1"}})

    assert Session.objects.filter(container=container).count() == 2
    assert reason_of(root.get("/c1/memories/sessions/s1"))[:2] == (409, "version_conflict_engine_exception")
    assert root.get(f"/c1/memories/sessions/{Session.objects.first().uid}").status_code == 200
