from datetime import timedelta

import pytest

from memadmin.access.scopes import Scope
from memadmin.store import configuration, policies
from memadmin.store.models import PolicyStatus, PolicyVersion
from tests.api.v1.calls import caller_of, problem, said
from tests.factories import ACTOR, NOON, make_container
from tests.runs import a_policy, publish, switch_on

pytestmark = pytest.mark.django_db
ALL = "/containers/c1/policies"


@pytest.fixture(autouse=True)
def _at_noon(time_machine):
    time_machine.move_to(NOON, tick=False)


@pytest.fixture
def api(db):
    return caller_of("root", all_access=True)


@pytest.fixture
def container(db):
    switch_on()
    container = make_container(external_id="c1")
    publish(container, a_policy(relevance={"max_records": 500}))
    return container


def a_rule(most):
    return {"relevance": {"max_records": most, "ttl_days": None, "max_tokens": None}}


def a_draft(api, most=400):
    return said(api.post(ALL, {"policy": a_rule(most), "note": "fewer"}), 201)


def test_a_draft_is_made_listed_edited_and_dropped(api, container):
    draft = a_draft(api)
    number = draft["number"]

    edited = said(api.call("PATCH", f"{ALL}/{number}", {"revision": 1, "policy": a_rule(300)}))
    listed = said(api.get(ALL))
    dropped = api.call("DELETE", f"{ALL}/{number}")

    assert (draft["status"], draft["base"], draft["revision"], draft["note"]) == ("draft", 1, 1, "fewer")
    assert (edited["revision"], edited["policy"]["relevance"]["max_records"], edited["note"]) == (2, 300, "fewer")
    assert [item["number"] for item in listed["items"]] == [2, 1]
    assert (dropped.status_code, said(api.get(f"{ALL}/{number}"))["status"]) == (204, "dropped")
    assert problem(api.call("DELETE", f"{ALL}/{number}"))[0] == 409


def test_the_second_of_two_editors_gets_both_versions(api, container):
    number = a_draft(api)["number"]
    said(api.call("PATCH", f"{ALL}/{number}", {"revision": 1, "policy": a_rule(300)}))

    late = api.call("PATCH", f"{ALL}/{number}", {"revision": 1, "policy": a_rule(200)})

    assert problem(late)[:2] == (409, "draft_changed")
    body = late.json()
    assert body["yours"]["policy"]["relevance"]["max_records"] == 200
    assert body["current"]["policy"]["relevance"]["max_records"] == 300


def test_how_two_versions_differ_is_told_in_fields_and_in_sentences(api, container):
    number = a_draft(api)["number"]

    found = said(api.get(f"{ALL}/differences?new={number}"))

    assert (found["old"], found["new"]) == (1, number)
    assert found["changes"] == [
        {
            "field": "relevance.max_records",
            "before": 500,
            "after": 400,
            "effect": "more",
            "sentence": "A user keeps at most 400 memories instead of 500.",
        }
    ]
    assert problem(api.get(f"{ALL}/differences"))[::2] == (400, "new")


def test_a_draft_is_published_bound_to_what_was_seen(api, container):
    draft = a_draft(api)
    one = f"{ALL}/{draft['number']}"

    assert problem(api.post(f"{one}/publish", {"base": None, "digest": draft["digest"]}))[:2] == (409, "base_changed")
    assert problem(api.post(f"{one}/publish", {"base": 1, "digest": "0" * 64}))[:2] == (409, "draft_changed")
    assert problem(api.post(f"{one}/publish", {"digest": draft["digest"]}))[::2] == (400, "base")
    assert said(api.post(f"{one}/publish", {"base": 1, "digest": draft["digest"]}))["status"] == "published"
    assert problem(api.post(f"{one}/publish", {"base": 2, "digest": draft["digest"]}))[0] == 409


def test_while_retention_is_off_nothing_is_published(api, container):
    draft = a_draft(api)
    configuration.change("retention_enabled", False, actor=ACTOR, now=NOON)

    answer = api.post(f"{ALL}/{draft['number']}/publish", {"base": 1, "digest": draft["digest"]})

    assert problem(answer)[:2] == (409, "retention_off")


def test_a_draft_gets_its_time_and_loses_it_again(api, container):
    draft, at = a_draft(api), NOON + timedelta(days=1)
    one = f"{ALL}/{draft['number']}"
    given = {"base": 1, "digest": draft["digest"]}

    past = problem(api.post(f"{one}/publish", {**given, "publish_at": NOON.isoformat()}))
    scheduled = said(api.post(f"{one}/publish", {**given, "publish_at": at.isoformat()}))
    other = a_draft(api, 300)
    second = problem(api.post(f"{ALL}/{other['number']}/publish", {"base": 1, "digest": other["digest"], "publish_at": at.isoformat()}))
    cancelled = said(api.post(f"{one}/unschedule"))

    assert past[::2] == (400, "publish_at")
    assert (scheduled["status"], scheduled["publish_at"]) == ("scheduled", "2026-03-02T12:00:00Z")
    assert second[0] == 409
    assert (cancelled["status"], cancelled["publish_at"]) == ("draft", None)


def test_an_earlier_version_is_put_in_force_again(api, container):
    publish(container, a_policy(relevance={"max_records": 5}))

    back = said(api.post(f"{ALL}/1/roll-back", {"base": 2}), 201)

    assert (back["number"], back["status"], policies.number_in_force(container)) == (3, PolicyStatus.PUBLISHED, 3)


def test_a_version_is_copied_as_drafts_or_not_at_all(api, container):
    make_container("two", external_id="c2")
    made = said(api.post(f"{ALL}/1/copy", {"containers": ["c2", "c2"]}))

    assert [(item["status"], item["number"]) for item in made["items"]] == [("draft", 1)]
    make_container("three", external_id="c3")
    assert api.post(f"{ALL}/1/copy", {"containers": ["c3", "nowhere"]}).status_code == 404
    assert PolicyVersion.objects.filter(container__external_id="c3").count() == 0


@pytest.mark.parametrize("number", ["99", "0", "9" * 30])
def test_a_version_that_is_not_there_is_not_found(api, container, number):
    assert api.get(f"{ALL}/{number}").status_code == 404
    assert api.post(f"{ALL}/{number}/unschedule").status_code == 404


def test_writing_needs_the_scope_and_a_container_of_the_token(container):
    reader = caller_of("root", all_access=True, scopes=[Scope.CONTAINER_READ])
    stranger = caller_of("eve")

    assert reader.post(ALL, {"policy": a_rule(1)}).status_code == 403
    assert said(reader.get(ALL))["items"][0]["number"] == 1
    assert stranger.post(f"{ALL}/1/copy", {"containers": ["c1"]}).status_code == 404
    assert PolicyVersion.objects.count() == 1


def test_a_draft_with_an_impossible_limit_is_refused_by_field(api, container):
    assert problem(api.post(ALL, {"policy": a_rule(0)}))[::2] == (400, "policy.relevance.max_records")
