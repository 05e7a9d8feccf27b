"""Group H of the inputs that broke others: nobody approves what they made, whatever their hand in it. Numbers: docs/cases.md."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from memadmin.access.actors import actor_of
from memadmin.access.models import Person
from memadmin.access.roles import Role
from memadmin.access.scopes import Scope
from memadmin.access.tokens import TokenSpec, create_token
from memadmin.lifecycle import approval, runs, second_person
from memadmin.lifecycle.models import Run, RunState, Verdict
from memadmin.store import configuration, drafts, pinning, policies
from memadmin.store.models import Container, LongTermMemory, PolicyVersion
from retention.policy import RetentionPolicy
from tests.api.v1.calls import Caller
from tests.factories import ACTOR, NOON, make_container
from tests.lifecycle.second_people import KEEP_THREE, a_large_run, approved, digest_of, published_by
from tests.people import make_person
from tests.runs import a_policy, fill, pin, preview, switch_on

pytestmark = pytest.mark.django_db
KEEP_FIVE = a_policy(relevance={"max_records": 5})
Made = Callable[[Container, str, str], Run]


@pytest.fixture(autouse=True)
def _at_noon(time_machine: Any) -> None:
    time_machine.move_to(NOON, tick=False)


def approver(login: str) -> str:
    return actor_of(make_person(Role.POLICY_EDITOR, login=login))


def a_draft(container: Container, by: str, policy: RetentionPolicy = KEEP_THREE) -> int:
    switch_on()
    return policies.save_draft(container, policy, actor=by, now=NOON).number


def who_wrote_the_policy(container: Container, maker: str, other: str) -> Run:
    policies.publish_draft(container, a_draft(container, maker), actor=other, now=NOON, base=None)
    return a_large_run(container, by=other)


def who_changed_the_policy(container: Container, maker: str, other: str) -> Run:
    number = a_draft(container, other, KEEP_FIVE)
    drafts.edit(container, number, KEEP_THREE, revision=1, actor=maker, now=NOON)
    policies.publish_draft(container, number, actor=other, now=NOON, base=None)
    return a_large_run(container, by=other)


def who_published_the_policy(container: Container, maker: str, other: str) -> Run:
    policies.publish_draft(container, a_draft(container, other), actor=maker, now=NOON, base=None)
    return a_large_run(container, by=other)


def who_scheduled_the_policy(container: Container, maker: str, other: str) -> Run:
    number, soon = a_draft(container, other), NOON + timedelta(minutes=1)
    seen = PolicyVersion.objects.get().digest
    version = drafts.schedule(container, number, at=soon, base=None, seen=seen, actor=maker, now=NOON)
    assert drafts.publish_due(version.pk, actor=ACTOR, now=soon)
    return a_large_run(container, by=other)


def who_had_it_planned(container: Container, maker: str, other: str) -> Run:
    published_by(other, container)
    fill(container, 10)
    run = preview(container, actor=maker)
    runs.start(run, actor=other, now=NOON)
    return run


def who_started_it(container: Container, maker: str, other: str) -> Run:
    published_by(other, container)
    fill(container, 10)
    run = preview(container, actor=other)
    runs.start(run, actor=maker, now=NOON)
    return run


def who_turned_retention_on(container: Container, maker: str, other: str) -> Run:
    published_by(other, container)
    configuration.change("retention_enabled", False, actor=other, now=NOON)
    configuration.change("retention_enabled", True, actor=maker, now=NOON)
    return a_large_run(container, by=other)


def who_took_the_pins_away(container: Container, maker: str, other: str) -> Run:
    fill(container, 10)
    for memory in LongTermMemory.objects.all():
        pin(memory)
        pinning.unpin(memory, actor=maker, now=NOON)
    published_by(other, container)
    run = preview(container, actor=other)
    runs.start(run, actor=other, now=NOON)
    return run


WAYS: list[Made] = [
    who_wrote_the_policy,
    who_changed_the_policy,
    who_published_the_policy,
    who_scheduled_the_policy,
    who_had_it_planned,
    who_started_it,
    who_turned_retention_on,
    who_took_the_pins_away,
]


def try_every_entrance(run: Run, login: str) -> None:
    """Approve and refuse the run on its page, with the answers that the page would ask for, and by the API with a token of one's own."""
    person, digest = Person.objects.get(login=login), digest_of(run)
    browser = Client()
    browser.force_login(person)
    browser.post(reverse("pages:run-approve", args=[run.number]), {"sure": "yes", "digest": digest})
    browser.post(reverse("pages:run-refuse", args=[run.number]), {"reason": "mine"})
    spec = TokenSpec(label="bot", owner_name="bot", scopes=tuple(Scope), containers=None, all_access=True)
    token = Caller(create_token(spec, actor=actor_of(person), now=NOON)[1])
    assert token.post(f"/runs/{run.number}/approve", {"digest": digest}).status_code == 403
    assert token.post(f"/runs/{run.number}/refuse", {"reason": "mine"}).status_code == 403


@pytest.mark.parametrize("again", ["pia@x.org", "pia+two@x.org"], ids=["with the same account", "with another account of theirs"])
@pytest.mark.parametrize("made", WAYS)
def test_f88_nobody_decides_about_a_run_that_they_have_a_hand_in(made: Made, again: str):
    pia, piet = approver("pia@x.org"), approver("piet@x.org")
    if again != "pia@x.org":
        approver(again)
    third = approver("rita@x.org")
    run = made(make_container(), pia, piet)

    try_every_entrance(run, again)

    run.refresh_from_db()
    assert (run.state, run.approval.verdict, LongTermMemory.objects.count()) == (RunState.WAITING, Verdict.ASKED, 10)
    assert [str(person) for person in approval.deciding(run)] == ["rita@x.org"]
    assert approved(run, by=third).state == RunState.QUEUED


def test_f88_two_accounts_of_one_person_are_no_second_person():
    """Where they were two, every large run would wait for somebody who is not there; and the pages say that nobody is asked."""
    pia = approver("pia@x.org")
    approver("pia+two@x.org")
    container = make_container()
    published_by(pia, container)
    fill(container, 10)
    run = preview(container, actor=pia)

    assert runs.start(run, actor=pia, now=NOON) is not None

    assert run.outcome["second_person"] == second_person.RULE_IS_OFF
    assert second_person.without_one(Container.objects.all()) == 1
    approver("piet@x.org")
    assert second_person.without_one(Container.objects.all()) == 0


def test_f88_two_accounts_of_one_person_are_one_where_only_some_see_the_container_too():
    container, other = make_container(), make_container("other")
    make_person(Role.POLICY_EDITOR, login="pia@x.org")
    make_person(Role.POLICY_EDITOR, login="pia+two@x.org", containers=[container])
    make_person(Role.POLICY_EDITOR, login="piet@x.org", containers=[other])

    assert second_person.without_one(Container.objects.all()) == 1
    assert (second_person.is_active(container), second_person.is_active(other)) == (False, True)
