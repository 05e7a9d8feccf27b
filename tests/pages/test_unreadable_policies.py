"""A stored policy that the rules of today do not read, as after going back to an older program: told on every page, and replaced."""

import pytest

from memadmin.access.roles import Role
from memadmin.lifecycle.models import Run, RunState
from memadmin.recall.search import Question, recall
from memadmin.store import policies
from memadmin.store.models import PolicyState, PolicyVersion
from retention.policy import parse_policy
from tests.cases.governing import form, post, under, words
from tests.cases.seen import look, pages_about
from tests.factories import ACTOR, NOON, a_memory, a_session, store, subject_of
from tests.people import a_browser_of
from tests.runs import preview
from tests.transfer.running import run

pytestmark = pytest.mark.django_db
TOLD = "says something that this program does not know"


@pytest.fixture(autouse=True)
def _at_noon(time_machine):
    time_machine.move_to(NOON, tick=False)


@pytest.fixture
def client(db):
    return a_browser_of(*Role)


@pytest.fixture(
    params=['{"retention": {}, "relevance": {"ttl_days": 999999999}}', '{"relevance": {"half_life_hours": 1e300}}', '{"new": 1}', "{"]
)
def container(request, db):
    container = under(ttl_days=10)
    store(container, a_session(days_old=20), a_memory(days_old=20))
    preview(container)
    for stored in (PolicyVersion, Run):
        stored.objects.update(document=request.param)
    return container


def test_every_page_stands_and_says_why_nothing_goes(client, container):
    pages = dict(pages_about(client, subject_of(container)))
    pages |= {view: look(client, view, container.uid) for view in ("policy-detail", "policy-versions", "user-list")}
    pages |= {
        "policy-version": look(client, "policy-version", container.uid, 1),
        "run-detail": look(client, "run-detail", Run.objects.get().number),
    }

    assert {page.status for page in pages.values()} == {200}
    assert all(
        TOLD in pages[view].flat
        for view in ("policy-detail", "policy-version", "run-detail", "user-memories", "memory-detail", "session-detail")
    )


def test_another_policy_can_be_published_over_it(client, container):
    asked = post(client, "policy-publish", container.uid, **{**form(ttl_days="30"), "base": "1"})
    done = post(client, "policy-publish", container.uid, **{**form(ttl_days="30"), "base": "1"}, sure="yes")

    assert "Version 1" in words(asked) or "version 1" in words(asked)
    assert "Published as version 2" in words(done)
    assert policies.current(container) == parse_policy(
        {"retention": {}, "relevance": {"ttl_days": 30, "max_records": None, "max_tokens": None}}
    )


def test_it_can_be_opted_out_of(client, container):
    post(client, "policy-opt-out", container.uid, base="1")
    post(client, "policy-opt-out", container.uid, base="1", sure="yes")

    container.refresh_from_db()
    assert container.policy_state == PolicyState.OPTED_OUT


@pytest.mark.parametrize("sure", ["", "yes"])
def test_it_cannot_be_put_in_force_again(client, container, sure):
    policies.opt_out(container, actor=ACTOR, now=NOON, base=1)

    said = words(post(client, "policy-roll-back", container.uid, 1, sure=sure))

    assert "Version 1 cannot be put in force." in said
    assert PolicyVersion.objects.count() == 1


def test_agents_go_on_recalling(container):
    (found,) = recall(container, Question("tea", "ann", limit=5), now=NOON)

    assert found.memory.text == "likes tea"


def test_the_command_names_it(container):
    answer = run("run_retention", "--container", container.name)

    assert answer.code != 0
    assert "the policy in force, version 1, cannot be read" in answer.words
    assert Run.objects.exclude(state=RunState.READY).count() == 0
