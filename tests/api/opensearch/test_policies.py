"""Rows E of the list of behaviours, by their numbers."""

import pytest

from memadmin.access.scopes import Scope
from memadmin.api.opensearch.policies import ABOUT_WORKING, OFF
from memadmin.store import configuration, policies
from memadmin.store.models import Container, PolicyState, PolicyVersion
from tests.factories import ACTOR, NOON
from tests.runs import switch_on
from tests.tokens import api_of, reason_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def api():
    switch_on()
    return api_of("ana")


def create(api, policy=..., **configuration):
    given = {} if policy is ... else {"retention_policy": policy}
    return api.post("/_create", {"name": "bot", "configuration": {**given, **configuration}})


def cid_of(answer):
    assert answer.status_code == 200, answer.content
    return answer.json()["memory_container_id"]


def change(api, cid, policy, **more):
    return api.put(f"/{cid}", {"configuration": {"retention_policy": policy, **more}})


def policy_of(api, cid):
    return api.get(f"/{cid}").json()["configuration"].get("retention_policy", "absent")


def test_e1_a_policy_is_echoed_as_given(api):
    policy = {"sessions": {"retention_days": 30, "max_count": 100}, "long-term": {"retention_days": 90}, "history": {"max_count": 50}}

    assert policy_of(api, cid_of(create(api, policy))) == policy


def test_e3_history_has_no_age(api):
    reason = "retention_days is not supported for history memory type"

    assert reason_of(create(api, {"history": {"retention_days": 5}})) == (400, "illegal_argument_exception", reason)


def test_e4_a_null_age_of_history_is_no_age(api):
    assert policy_of(api, cid_of(create(api, {"history": {"retention_days": None, "max_count": 5}}))) == {"history": {"max_count": 5}}


@pytest.mark.parametrize(("key", "reason"), [("foo", "unknown memory type: foo"), ("working", ABOUT_WORKING)])
def test_e5_other_types_have_no_rule(api, key, reason):
    assert reason_of(create(api, {key: {"max_count": 5}}))[2] == reason


@pytest.mark.parametrize("name", ["retention_days", "max_count"])
@pytest.mark.parametrize("value", [0, -1, 0.5])
def test_e6_a_limit_is_positive(api, name, value):
    assert reason_of(create(api, {"sessions": {name: value}}))[2] == f"{name} must be a positive integer or null"


@pytest.mark.parametrize("value", [2**31, 10**40, True, "many", [], {}, "1e3"])
def test_a_limit_is_a_number_of_32_bits(api, value):
    assert reason_of(create(api, {"sessions": {"max_count": value}}))[:2] == (400, "illegal_argument_exception")


def test_our_own_ceiling_is_said(api):
    assert "10 years" in reason_of(create(api, {"sessions": {"retention_days": 3_651}}))[2]


def test_e8_types_in_any_case_are_echoed_in_lower_case(api):
    cid = cid_of(create(api, {"SESSIONS": {"max_count": 5}, "Long-Term": {"max_count": 6}}))

    assert policy_of(api, cid) == {"sessions": {"max_count": 5}, "long-term": {"max_count": 6}}
    assert reason_of(create(api, {"SESSIONS": {}, "sessions": {}}))[0] == 400


@pytest.mark.parametrize("rule", [None, 5, "x", []])
def test_e9_a_rule_is_an_object(api, rule):
    assert reason_of(create(api, {"sessions": rule}))[:2] == (400, "parsing_exception")


def test_e10_an_empty_rule_is_kept(api):
    assert policy_of(api, cid_of(create(api, {"sessions": {}}))) == {"sessions": {}}


def test_e11_while_retention_is_off_a_policy_is_refused():
    api = api_of("ana")
    cid = cid_of(create(api))

    assert reason_of(create(api, {"sessions": {"max_count": 5}})) == (403, "status_exception", OFF)
    assert reason_of(change(api, cid, {"sessions": {}})) == (403, "status_exception", OFF)
    assert Container.objects.count() == 1


@pytest.mark.parametrize(("policy", "state"), [(..., "never_set"), ({}, "never_set"), (None, "opted_out")])
def test_e13_while_retention_is_off_nothing_empty_and_null_are_accepted(policy, state):
    create(api_of("ana"), policy)

    assert Container.objects.get().policy_state == state


@pytest.mark.parametrize(
    ("patch", "after"),
    [
        ({"sessions": {"retention_days": None}}, {"sessions": {"retention_days": None, "max_count": 5000}}),
        ({"sessions": {"max_count": 10}}, {"sessions": {"retention_days": 90, "max_count": 10}}),
        ({"long-term": {"max_count": 5}}, {"sessions": {"retention_days": 90, "max_count": 5000}, "long-term": {"max_count": 5}}),
    ],
    ids=["E14", "E15", "E16"],
)
def test_e14_to_e16_a_patch_is_laid_over_what_is_there(api, patch, after):
    cid = cid_of(create(api, {"sessions": {"retention_days": 90, "max_count": 5000}}))

    assert change(api, cid, patch).status_code == 200

    assert policy_of(api, cid) == after


def test_a32_strategies_and_policy_in_one_request_are_one_version(api):
    embedding = {"embedding_model_type": "SPARSE_ENCODING", "embedding_model_id": "e"}
    cid = cid_of(create(api, llm_id="m", **embedding))

    answer = change(api, cid, {"sessions": {"max_count": 5}}, strategies=[{"type": "SUMMARY", "namespace": ["user_id"]}])

    stored = api.get(f"/{cid}").json()["configuration"]
    assert stored["retention_policy"] == {"sessions": {"max_count": 5}}
    assert stored["strategies"][0]["type"] == "SUMMARY"
    assert answer.json()["_version"] == 2


def test_e18_e19_e20_opting_out_and_in_again(api):
    cid = cid_of(create(api, {"sessions": {"max_count": 5}}))

    change(api, cid, None)
    assert policy_of(api, cid) is None
    change(api, cid, {})
    assert policy_of(api, cid) is None
    change(api, cid, {"history": {"max_count": 7}})
    assert policy_of(api, cid) == {"history": {"max_count": 7}}
    assert Container.objects.get().policy_state == PolicyState.SET


def test_e21_a_cleared_limit_is_null_and_an_absent_one_absent(api):
    cid = cid_of(create(api, {"sessions": {"max_count": 5}}))

    change(api, cid, {"sessions": {"max_count": None}})

    assert policy_of(api, cid) == {"sessions": {"max_count": None}}


def test_e23_a_rule_for_sessions_without_sessions_is_warned_of(api):
    created = create(api, {"sessions": {"max_count": 5}}, disable_session=True)
    changed = change(api, cid_of(created), {"sessions": {"max_count": 6}})

    for answer in (created, changed):
        assert answer.status_code == 200
        assert "plugins.ml_commons.memory.working_memory_ttl_days" in answer["Warning"]
    assert "Warning" not in create(api, {"sessions": {"max_count": 5}})


def test_e24_the_defaults_are_given_at_creation_and_once(api):
    configuration.change("default_session_retention_days", 30, actor=ACTOR, now=NOON)
    cid = cid_of(create(api))

    configuration.change("default_session_retention_days", 60, actor=ACTOR, now=NOON)

    assert policy_of(api, cid) == {"sessions": {"retention_days": 30}}


@pytest.mark.parametrize(
    ("policy", "on", "after"),
    [(None, True, None), ({"history": {"max_count": 5}}, True, {"history": {"max_count": 5}}), (..., False, "absent")],
    ids=["opted out", "own policy", "retention off"],
)
def test_e25_where_the_defaults_are_not_given(api, policy, on, after):
    configuration.change("default_session_retention_days", 30, actor=ACTOR, now=NOON)
    configuration.change("retention_enabled", on, actor=ACTOR, now=NOON)

    assert policy_of(api, cid_of(create(api, policy))) == after


@pytest.mark.parametrize(("given", "stored"), [("30", 30), (30.9, 30), ("30.9", 30)])
def test_e26_numbers_in_text_count_and_fractions_are_cut(api, given, stored):
    assert policy_of(api, cid_of(create(api, {"sessions": {"retention_days": given}}))) == {"sessions": {"retention_days": stored}}


def test_unknown_keys_of_a_rule_are_ignored(api):
    assert policy_of(api, cid_of(create(api, {"sessions": {"max_count": 5, "colour": "red"}}))) == {"sessions": {"max_count": 5}}


def test_a_relevance_rule_that_people_set_survives_a_patch(api):
    cid = cid_of(create(api, {"sessions": {"max_count": 5}}))
    container = Container.objects.get()
    person = policies.parse_policy({"retention": {"sessions": {"max_count": 5}}, "relevance": {"ttl_days": 30}})
    policies.publish(container, person, actor=ACTOR, now=NOON, base=1)

    change(api, cid, {"sessions": {"max_count": 6}})

    current = policies.current(container)
    assert current is not None
    assert current.relevance == person.relevance


def test_a_patch_that_changes_nothing_makes_no_policy_version(api):
    cid = cid_of(create(api, {"sessions": {"max_count": 5}}))

    change(api, cid, {"sessions": {"max_count": 5}})

    assert PolicyVersion.objects.count() == 1


@pytest.mark.parametrize("policy", [{"sessions": {"max_count": 5}}, None])
def test_a_token_changes_policies_only_if_it_says_so(api, policy):
    agent = api_of("ana", scopes=[Scope.CONTAINER_WRITE, Scope.CONTAINER_READ])
    cid = cid_of(create(api))

    for answer in (create(agent, policy), change(agent, cid, policy)):
        assert reason_of(answer)[:2] == (403, "security_exception")
        assert "policy.write" in reason_of(answer)[2]
    assert policy_of(api, cid) == "absent"
    assert change(agent, cid, {}).status_code == 200
