import pytest

from memadmin.access.scopes import Scope
from memadmin.jobs.models import Job
from memadmin.jobs.runner import run_inline
from memadmin.lifecycle.models import Run
from memadmin.store.models import Archived, LongTermMemory
from tests.api.v1.calls import caller_of, problem, said
from tests.factories import a_memory, a_pin, a_session, make_container, store, subject_of
from tests.runs import a_policy, carry_out, governed, preview

pytestmark = pytest.mark.django_db
ONE = "/containers/c1"


@pytest.fixture
def api(db):
    return caller_of("root", all_access=True)


@pytest.fixture
def container(db):
    container = governed(a_policy(relevance={"max_records": 2}), external_id="c1")
    store(container, *(a_memory(f"m{number}", importance=number / 10, days_old=1) for number in range(5)), a_memory("kept", pin=a_pin()))
    return container


def test_a_preview_names_victims_of_the_policy_in_force_or_of_one_that_is_not_saved(api, container):
    in_force = said(api.post(f"{ONE}/preview", {"limit": 3}))
    tried = said(api.post(f"{ONE}/preview", {"policy": {"retention": {"long-term": {"max_count": 4}}}}))

    assert in_force["totals"]["by_type"]["long-term"]["total"] == 4
    assert (len(in_force["items"]), in_force["items"][0]["reason"]) == (3, "max_records")
    assert tried["totals"]["by_type"]["long-term"]["by_reason"] == {"count": 1}
    assert in_force["items"][0]["user_uid"] == str(subject_of(container).uid)
    assert "text" not in in_force["items"][0]
    assert Run.objects.count() == 0


def test_a_preview_without_any_policy_says_what_is_missing(api):
    make_container(external_id="c1")

    assert problem(api.post(f"{ONE}/preview", {}))[:2] == (409, "no_policy")
    assert problem(api.post(f"{ONE}/preview", {"policy": {"retention": {"long-term": {"max_count": -1}}}}))[::2] == (
        400,
        "policy.retention.long-term.max_count",
    )


def test_a_run_is_recorded_listed_started_and_restored(api, container):
    run = said(api.post(f"{ONE}/runs", {}), 201)
    number = run["number"]
    victims = said(api.get(f"/runs/{number}/victims?limit=3"))
    started = said(api.post(f"/runs/{number}/start"), 202)
    run_inline(Job.objects.get(target=f"runs/{number}"), now=Run.objects.get().created_at)

    ended = said(api.get(f"/runs/{number}"))
    assert (run["state"], run["planned"], started["state"]) == ("ready", 4, "queued")
    assert (ended["state"], ended["removed"], LongTermMemory.objects.count()) == ("finished", 4, 2)
    assert (len(victims["items"]), victims["next"] is not None, victims["items"][0]["kept"]) == (3, True, None)
    assert [item["number"] for item in said(api.get(f"{ONE}/runs"))["items"]] == [number]
    assert problem(api.post(f"/runs/{number}/start"))[0] == 409

    copies = said(api.get(f"{ONE}/archive?user_id=ann"))["items"]
    assert said(api.post(f"{ONE}/archive/{copies[0]['uid']}/restore", {"force": True})) == {"items": 1, "already_there": 0, "refused": 0}
    assert problem(api.post(f"{ONE}/archive/{copies[0]['uid']}/restore"))[0] == 404
    assert said(api.post(f"/runs/{number}/restore", {"force": True}), 202)["number"] == number
    assert Archived.objects.count() == 3


def test_a_preview_of_a_policy_that_is_not_in_force_cannot_be_started(api, container):
    run = said(api.post(f"{ONE}/runs", {"policy": {"retention": {"long-term": {"max_count": 1}}}}), 201)

    assert problem(api.post(f"/runs/{run['number']}/start"))[0] == 409
    assert LongTermMemory.objects.count() == 6


def test_a_preview_of_what_is_in_force_can_be_started_however_it_spells_no_limit(api, container):
    policy = {"retention": {"history": {"retention_days": None}}, "relevance": {"ttl_days": None, "max_records": 2, "max_tokens": None}}
    run = said(api.post(f"{ONE}/runs", {"policy": policy}), 201)

    assert run["policy_version"] == 1
    assert said(api.post(f"/runs/{run['number']}/start"), 202)["state"] == "queued"


def test_a_kept_victim_says_why(api, container):
    run = preview(container)
    victim = LongTermMemory.objects.get(text="m0")
    LongTermMemory.objects.filter(pk=victim.pk).update(revision=9)
    carry_out(run)

    items = said(api.get(f"/runs/{run.number}/victims"))["items"]

    assert {item["uid"]: item["kept"] for item in items}[str(victim.uid)] == "changed"


def test_what_shows_everybodys_memories_needs_all_access_and_the_container(container):
    run = preview(container)
    listed = caller_of("ana", containers=[container])
    elsewhere = caller_of("root", containers=[make_container("other")], all_access=True)
    paths = [("GET", f"{ONE}/{name}") for name in ("users", "runs", "archive", "export")]
    paths += [("POST", f"{ONE}/{name}") for name in ("preview", "runs")]
    paths += [("GET", f"/runs/{run.number}"), ("GET", f"/runs/{run.number}/victims"), ("POST", f"/runs/{run.number}/start")]

    assert [listed.call(method, path).status_code for method, path in paths] == [403] * len(paths)
    assert [elsewhere.call(method, path).status_code for method, path in paths] == [404] * len(paths)


def test_containers_and_users_are_listed_by_key(api, container):
    make_container("other")
    store(container, a_session(user_id="Bob"), a_memory(user_id=None), a_memory(user_id="zoe"))

    first = said(api.get("/containers?limit=1"))
    second = said(api.get(f"/containers?limit=1&cursor={first['next']}"))
    users = said(api.get(f"{ONE}/users"))["items"]

    assert [page["items"][0]["name"] for page in (first, second)] == ["pharmacy", "other"]
    assert (first["items"][0]["policy_state"], first["items"][0]["policy_version"], second["next"]) == ("set", 1, None)
    assert [(user["user_id"], user["long_term"], user["sessions"]) for user in users] == [("Bob", 0, 1), ("ann", 6, 0), ("zoe", 1, 0)]
    assert [user["user_id"] for user in said(api.get(f"{ONE}/users?user_id=ann"))["items"]] == ["ann"]
    assert said(api.get(ONE))["name"] == "pharmacy"


def test_the_hard_limit_of_a_container_is_set_and_read_and_needs_scope_and_all_access(api):
    container = make_container(external_id="c1")
    path = f"{ONE}/hard-limit"

    assert said(api.put(path, {"days": 400}))["hard_limit_days"] == 400
    assert said(api.get(ONE))["hard_limit_days"] == 400
    assert [api.put(path, {"days": bad}).status_code for bad in (0, -1, 1.5, "30", True, 36_501)] == [400] * 6
    assert api.put(path, {}).status_code == 400
    assert caller_of("bea", scopes=[Scope.CONTAINER_WRITE], all_access=True).put(path, {"days": None}).status_code == 403
    assert caller_of("cid", containers=[container]).put(path, {"days": None}).status_code == 403
    container.refresh_from_db()
    assert container.hard_limit_days == 400
    assert said(api.put(path, {"days": None}))["hard_limit_days"] is None
