"""Rows I of the list of behaviours, by their numbers."""

import pytest
from django.utils import timezone

from memadmin.access.scopes import Scope
from memadmin.jobs.models import Job
from memadmin.jobs.runner import run_inline
from memadmin.lifecycle import nightly
from memadmin.lifecycle.models import Run
from memadmin.store import configuration, policies
from memadmin.store.models import Session
from tests.factories import ACTOR, NOON, a_change, a_memory, a_message, a_pin, a_session, days, make_container, store
from tests.runs import a_policy, governed, switch_on
from tests.tokens import api_of, reason_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def api():
    return api_of("root", all_access=True)


@pytest.fixture(autouse=True)
def _no_naps(monkeypatch):
    monkeypatch.setattr(nightly.time, "sleep", lambda seconds: None)


def dry_run(api, container):
    answer = api.post(f"/{container.uid}/_retention/_dry_run")
    assert answer.status_code == 200, answer.content
    return answer.json()


def sessions_of_ages(container, *ages, messages=0, **details):
    now = timezone.now()
    for age in ages:
        name = f"s-{age}-{len(details)}"
        store(container, a_session(name, created_at=now - days(age), last_updated_at=now - days(age), **details))
        said = [a_message(session_ref=name, created_at=now - days(age)) for _ in range(messages)]
        store(container, *said)


def test_i1_all_keys_are_there_and_the_stored_policy(api):
    container = governed(a_policy(sessions={"max_count": 5}))

    answer = dry_run(api, container)

    assert answer["policy_source"] == "stored"
    assert answer["effective_policy"] == {"sessions": {"max_count": 5}}
    assert answer.keys() >= {
        "container_id",
        "evaluated_at",
        "policy_source",
        "effective_policy",
        "would_delete",
        "total_would_delete",
        "pinned_would_skip",
        "warnings",
    }
    assert answer["would_delete"].keys() == {"sessions", "long_term", "history", "working_memory"}
    assert answer["container_id"] == str(container.uid)


@pytest.mark.parametrize("opted_out", [False, True])
def test_i2_without_policy_and_defaults_nothing_goes(api, opted_out):
    switch_on()
    container = make_container()
    sessions_of_ages(container, 900)
    if opted_out:
        policies.opt_out(container, actor=ACTOR, now=NOON, base=None)

    answer = dry_run(api, container)

    assert (answer["policy_source"], answer["total_would_delete"], answer["effective_policy"]) == ("none", 0, {})
    assert answer["would_delete"]["sessions"] == {"total": 0, "by_reason": {}}
    assert any("no retention policy" in warning for warning in answer["warnings"])


def test_i3_the_defaults_are_shown_and_not_stored(api):
    switch_on()
    configuration.change("default_session_max_count", 10, actor=ACTOR, now=NOON)
    container = make_container()

    answer = dry_run(api, container)

    container.refresh_from_db()
    assert (answer["policy_source"], answer["effective_policy"]) == ("default", {"sessions": {"max_count": 10}})
    assert container.policy_state == "never_set"


def test_i4_what_would_go_is_still_there_afterwards(api):
    container = governed(a_policy(sessions={"max_count": 1}))
    sessions_of_ages(container, 1, 2, 3)

    answer = dry_run(api, container)

    assert answer["would_delete"]["sessions"] == {"total": 2, "by_reason": {"retention_days": 0, "max_count": 2}}
    assert len(answer["first_victims"]) == 2
    assert answer["first_victims"][0]["reasons"] == ["max_count"]
    assert (Session.objects.count(), Run.objects.count()) == (3, 0)


def test_i6_an_unknown_container(api):
    reason = "Failed to find memory container with the provided memory container id: nope"

    assert reason_of(api.post("/nope/_retention/_dry_run")) == (404, "status_exception", reason)


def test_i7_switched_off(api):
    configuration.change("agentic_memory_enabled", False, actor=ACTOR, now=NOON)

    for path in ("/x/_retention/_dry_run", "/_retention/_dry_run", "/_retention/_execute"):
        assert reason_of(api.post(path))[0] == 403


@pytest.mark.parametrize(("setting", "value"), [("retention_enabled", False), ("multi_tenancy_enabled", True)])
def test_i8_while_nothing_runs_the_numbers_are_zero_and_the_source_stays(api, setting, value):
    container = governed(a_policy(sessions={"max_count": 1}), tenant="t1")
    sessions_of_ages(container, 1, 2)
    configuration.change(setting, value, actor=ACTOR, now=NOON)

    answer = api.post(f"/{container.uid}/_retention/_dry_run", **{"x-tenant-id": "t1"}).json()

    assert (answer["policy_source"], answer["total_would_delete"]) == ("stored", 0)
    assert len(answer["warnings"]) == 1


def test_i9_age_and_number_are_told_apart_and_messages_go_along(api):
    container = governed(a_policy(sessions={"retention_days": 7, "max_count": 5}))
    sessions_of_ages(container, 8, 9, 10, messages=2)
    sessions_of_ages(container, 1, 2, 3, 4, 5)
    sessions_of_ages(container, 6, messages=3)
    twice = [{"role": role, "content": "hello"} for role in ("user", "assistant")]
    store(container, a_message(session_ref="s-6-0", messages=twice))  # one working memory of two messages counts once

    answer = dry_run(api, container)

    assert answer["would_delete"]["sessions"] == {"total": 4, "by_reason": {"retention_days": 3, "max_count": 1}}
    assert answer["would_delete"]["working_memory"]["by_reason"] == {"cascade": 10, "ttl": 0, "orphan": 0}
    assert answer["total_would_delete"] == 14


def test_i11_more_pins_than_the_limit_are_warned_of(api):
    container = governed(a_policy(long_term={"max_count": 2}))
    store(container, *(a_memory(f"fact {number}", days_old=number, pin=a_pin() if number > 2 else None) for number in range(1, 6)))

    answer = dry_run(api, container)
    store(container, a_memory("one more", days_old=9))
    beyond = dry_run(api, container)

    assert (answer["total_would_delete"], beyond["total_would_delete"]) == (0, 1)  # of those that are not pinned two may stay
    assert any("pinned count (3) exceeds max_count (2) for long-term" in warning for warning in answer["warnings"])


def test_i12_the_age_limit_of_working_memories_without_sessions(api):
    configuration.change("working_memory_ttl_days", 30, actor=ACTOR, now=NOON)
    container = governed(a_policy(history={"max_count": 5}), sessions_enabled=False)
    store(container, *(a_message(session_ref=None, created_at=timezone.now() - days(60)) for _ in range(34)))

    answer = dry_run(api, container)

    assert answer["would_delete"]["working_memory"] == {"total": 34, "by_reason": {"cascade": 0, "ttl": 34, "orphan": 0}}
    assert answer["effective_policy"] == {"history": {"max_count": 5}, "working_memory_ttl_days": 30}


def test_pins_inside_the_age_window_are_counted_as_skipped(api):
    container = governed(a_policy(sessions={"retention_days": 7}))
    sessions_of_ages(container, 8)
    api.put(f"/{container.uid}/memories/sessions/s-8-0", {"pinned": True})

    assert dry_run(api, container)["pinned_would_skip"] == 1


def test_where_orphans_stand_is_told(api):
    container = governed(a_policy(history={"max_count": 5}))
    assert any("starts the clock" in warning for warning in dry_run(api, container)["warnings"])

    container.orphan_baseline_at = timezone.now()
    container.save()
    assert any("are not over" in warning for warning in dry_run(api, container)["warnings"])


def test_the_relevance_rule_has_reasons_of_its_own(api):
    container = governed(a_policy(relevance={"max_records": 1}))
    store(container, a_memory("one"), a_memory("two"), a_change())

    assert dry_run(api, container)["would_delete"]["long_term"] == {"total": 1, "by_reason": {"max_records": 1}}


def test_a_dry_run_of_all_names_the_containers_that_the_token_reaches():
    mine, _ = governed(a_policy(sessions={"max_count": 5}), "mine", owner={"name": "ana"}), make_container("theirs")

    answer = api_of("ana").post("/_retention/_dry_run").json()

    assert [result["container_id"] for result in answer["results"]] == [str(mine.uid)]
    assert (answer["skipped_count"], answer["truncated"]) == (0, False)


def test_i13_and_i17_the_job_is_triggered_once(api):
    switch_on()

    first, second = (api.post("/_retention/_execute").json() for _ in range(2))

    assert {name: first[name] for name in ("acknowledged", "triggered", "status")} == {
        "acknowledged": True,
        "triggered": True,
        "status": "triggered",
    }
    assert (second["status"], second["acknowledged"], second["triggered"]) == ("already_running", False, False)
    assert (second["job"], second["run"]) == (Job.objects.get().pk, None)
    assert Job.objects.filter(kind="nightly").count() == 1


def test_i14_while_retention_is_off_nothing_is_triggered(api):
    answer = api.post("/_retention/_execute")

    assert answer.status_code == 200
    assert (answer.json()["status"], answer.json()["acknowledged"]) == ("retention_disabled", False)
    assert not Job.objects.exists()


def test_i16_what_is_pinned_survives_the_run(api):
    container = governed(a_policy(sessions={"max_count": 1}))
    sessions_of_ages(container, 1, 2, 3, 4)
    api.put(f"/{container.uid}/memories/sessions/s-4-0", {"pinned": True})

    api.post("/_retention/_execute")
    run_inline(Job.objects.get(kind="nightly"), now=timezone.now())

    assert set(Session.objects.values_list("external_id", flat=True)) == {"s-1-0", "s-4-0"}


def test_i18_only_for_all_access_to_everything_and_without_a_body(api):
    switch_on()
    reason = "Only administrators (all_access) may trigger the memory retention job on demand."

    of_a_tenant = api_of("ana", all_access=True, tenant="acme")
    for token in (api_of("ana"), api_of("ana", all_access=True, containers=[make_container()]), of_a_tenant):
        assert reason_of(token.post("/_retention/_execute")) == (403, "status_exception", reason)
    assert reason_of(api.post("/_retention/_execute", {}))[:2] == (400, "illegal_argument_exception")
    assert not Job.objects.exists()


def test_starting_the_job_is_a_scope_of_its_own():
    everything_else = [scope for scope in Scope if scope != Scope.RETENTION_RUN]

    answer = api_of("root", all_access=True, scopes=everything_else).post("/_retention/_execute")

    assert reason_of(answer)[:2] == (403, "security_exception")
