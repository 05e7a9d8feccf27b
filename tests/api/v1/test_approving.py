import pytest

from memadmin.access.scopes import Scope
from memadmin.access.tokens import TokenSpec, create_token
from memadmin.jobs import queue
from memadmin.jobs.runner import run_inline
from memadmin.lifecycle import approval
from memadmin.lifecycle.models import Run, RunState
from memadmin.store.models import LongTermMemory
from tests.api.v1.calls import Caller, caller_of, problem, said
from tests.factories import NOON, make_container
from tests.lifecycle.second_people import a_large_run, published_by, two_approvers
from tests.runs import fill, switch_on

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _at_noon(time_machine):
    time_machine.move_to(NOON, tick=False)


def token_of(person):
    from_person = {"label": "bot", "owner_name": "bot", "scopes": tuple(Scope), "containers": None, "all_access": True}
    return Caller(create_token(TokenSpec(**from_person), actor=person, now=NOON)[1])


@pytest.fixture
def people(db):
    return two_approvers()


@pytest.fixture
def run(people):
    container = make_container(external_id="c1")
    published_by(people[0], container)
    return a_large_run(container, by=people[0])


def test_a_large_preview_that_is_started_waits_and_says_what_is_asked(people):
    pia = token_of(people[0])
    container = make_container(external_id="c1")
    published_by(people[0], container)
    fill(container, 10)
    number = said(pia.post("/containers/c1/runs", {}), 201)["number"]

    started = said(pia.post(f"/runs/{number}/start"), 202)

    assert (started["state"], started["approval"]["verdict"], started["approval"]["items"]) == ("waiting", "asked", 7)


def test_another_person_approves_by_token_and_who_caused_it_cannot(people, run):
    pia, piet = (token_of(person) for person in people)
    digest = said(piet.get(f"/runs/{run.number}"))["approval"]["digest"]

    assert problem(pia.post(f"/runs/{run.number}/approve", {"digest": digest}))[:2] == (403, "permission_denied")
    assert problem(piet.post(f"/runs/{run.number}/approve", {"digest": "0" * 64}))[:2] == (409, "other_list")
    assert problem(piet.post(f"/runs/{run.number}/approve", {"digest": "none"}))[::2] == (400, "digest")
    done = said(piet.post(f"/runs/{run.number}/approve", {"digest": digest}), 202)
    again = problem(piet.post(f"/runs/{run.number}/approve", {"digest": digest}))

    assert (done["state"], done["approval"]["verdict"], again[0]) == ("queued", "approved", 409)


def test_a_refusal_needs_a_reason_and_ends_the_run(people, run):
    piet = token_of(people[1])

    assert problem(piet.post(f"/runs/{run.number}/refuse", {}))[::2] == (400, "reason")
    refused = said(piet.post(f"/runs/{run.number}/refuse", {"reason": "too few"}))

    assert (refused["state"], refused["approval"]["reason"]) == (RunState.REFUSED, "too few")
    assert LongTermMemory.objects.count() == 10


def test_without_the_scope_nobody_decides(run):
    reader = caller_of("root", all_access=True, scopes=[Scope.RETENTION_PREVIEW, Scope.RETENTION_RUN])

    assert reader.post(f"/runs/{run.number}/approve", {"digest": "0" * 64}).status_code == 403
    assert Run.objects.get().state == RunState.WAITING


def test_the_compatible_put_answers_200_and_its_run_waits(people):
    pia = token_of(people[0])
    switch_on()
    container = make_container(external_id="c1")
    fill(container, 10)

    body = {"configuration": {"retention_policy": {"long-term": {"max_count": 3}}}}
    answer = pia.client.put(
        "/_plugins/_ml/memory_containers/c1", body, content_type="application/json", headers={"Authorization": f"Bearer {pia.secret}"}
    )
    run_inline(queue.reserve("nightly", requested_by="job/nightly", now=NOON), now=NOON)

    run = Run.objects.get()
    assert (answer.status_code, run.state, run.planned, LongTermMemory.objects.count()) == (200, RunState.WAITING, 7, 10)
    with pytest.raises(approval.NotSecondPerson, match="You caused"):
        approval.approve(run, digest=run.approval.digest, actor=people[0], now=NOON)
