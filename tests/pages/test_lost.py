"""The pages of working memories without a session, and the consent of a container."""

import html

import pytest
from django.urls import reverse

from memadmin.access.roles import Role
from memadmin.audit.models import AuditEntry
from memadmin.lifecycle import lost, nightly
from memadmin.lifecycle.lost import Group
from memadmin.lifecycle.models import Run, RunState
from memadmin.pages import lists
from memadmin.store import configuration, policies
from memadmin.store.models import Container, WorkingMemory
from tests.factories import ACTOR, NOON, a_message, a_session, days, make_container, store
from tests.people import HTMX, a_browser_of, auditor, editor, support
from tests.runs import governed, preview, publish
from tests.working import POLICY, a_night, ages, opt_in, orphans_of, put, sessionless, watched, without_a_policy

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _at_noon(time_machine, monkeypatch):
    time_machine.move_to(NOON, tick=False)
    monkeypatch.setattr(nightly.time, "sleep", lambda _: None)


def text_of(response):
    assert response.status_code == 200
    return html.unescape(response.content.decode())


def overall(client):
    return text_of(client.get(reverse("pages:working-list")))


def detail(client, container, group="", **query):
    return text_of(client.get(reverse("pages:working-detail", args=[container.uid]), {"group": group, **query}))


def agree(client, container, **values):
    return client.post(reverse("pages:working-agree", args=[container.uid]), values, follow=True)


def mixed():
    """One container with a row of each kind that it can have, and one whose session is there."""
    container = watched()
    store(container, a_session("here"), a_message("stays with it", session_ref="here", created_at=NOON - days(90)))
    orphans_of(container, 60)
    put(container, days_old=50, user_id=None)
    put(container, days_old=40, user_id="bob")
    put(container, days_old=40, user_id=None, namespace={"agent_id": "clerk"})
    return container


def test_the_list_shows_each_kind_of_each_container_with_number_age_and_fate():
    mixed()
    other = sessionless()
    Container.objects.filter(pk=other.pk).update(name="kiosk")
    put(other, days_old=60)

    page = overall(support())

    assert "pharmacy" in page
    assert "Whose session has gone" in page
    assert "They go 7 days after they were written." in page
    assert "this container has not agreed that what names no session, user or agent is deleted" in page
    assert "they name a user or an agent, and no rule takes them" in page
    assert "They go 30 days after they were written." in page


def test_the_kinds_are_disjoint_and_leave_out_what_has_its_session():
    container = mixed()

    found = lost.tallies([container.pk])[container.pk]

    assert {group: tally.rows for group, tally in found.items()} == {Group.ORPHANS: 1, Group.UNATTRIBUTED: 1, Group.ATTRIBUTED: 2}
    assert found[Group.ORPHANS].oldest == NOON - days(60)
    assert sum(lost.rows_of(container, group).count() for group in Group) == WorkingMemory.objects.count() - 1


@pytest.mark.parametrize(
    ("make", "group", "says"),
    [
        (lambda: governed(POLICY), Group.ORPHANS, "the next run starts the clock, and 7 days later they can go"),
        (lambda: governed(POLICY, orphan_baseline_at=NOON), Group.ORPHANS, "They stay until 08 Mar 2026 12:00 UTC"),
        (lambda: without_a_policy(), Group.EXPIRING, "They go 30 days after they were written."),
        (lambda: without_a_policy(-1), Group.EXPIRING, "no age is set for working memories"),
        (lambda: make_container(), Group.ORPHANS, "Nothing will run: retention is off."),
        (lambda: opt_in(watched()), Group.UNATTRIBUTED, "They go 7 days after they were written."),
    ],
    ids=["no clock", "grace", "no policy", "no age", "off", "agreed"],
)
def test_it_says_when_they_go_or_why_they_stay(make, group, says):
    assert says in lost.outlook(make(), group, now=NOON).why


def test_an_opted_out_container_and_a_policy_without_limits_keep_them():
    container = watched()
    publish(container, POLICY.__class__())
    assert "The policy in force has no limit" in lost.outlook(container, Group.ORPHANS, now=NOON).why.replace("the policy", "The policy")
    policies.opt_out(container, actor=ACTOR, now=NOON, base=2)

    assert "opted out" in lost.outlook(container, Group.ORPHANS, now=NOON).why


def test_what_a_page_calls_due_is_what_the_next_run_takes():
    container = watched()
    orphans_of(container, 60, 8, 6)
    WorkingMemory.objects.filter(session_ref="gone-60").update(held=True)
    outlook = lost.outlook(container, Group.ORPHANS, now=NOON)
    due = {row.pk for row in lost.rows_of(container, Group.ORPHANS) if (at := outlook.goes_from(row)) and at < NOON}

    page = detail(support(), container, "orphans")
    before = set(WorkingMemory.objects.values_list("pk", flat=True))
    a_night()

    assert before - set(WorkingMemory.objects.values_list("pk", flat=True)) == due
    assert len(due) == 1
    assert page.count("at the next run") == 1
    assert "after <time" in page
    assert "held" in page


def test_while_a_run_waits_for_a_second_person_nothing_is_said_to_go_at_the_next_one():
    container = watched()
    orphans_of(container, 60)
    run = preview(container)
    Run.objects.filter(pk=run.pk).update(state=RunState.WAITING)

    page = detail(support(), container, "orphans")

    assert f"with run {run.number}, which waits for a second person, or with a later one" in page
    assert "next run" not in page


def test_text_is_for_those_who_may_read_it():
    container = watched()
    store(container, a_message("my gate code is 4417", session_ref="gone", session_gone=True))

    assert "gate code" in detail(support(), container)
    assert "gate code" not in detail(editor(), container)


def test_the_rows_come_page_by_page(monkeypatch):
    monkeypatch.setattr(lists, "PAGE_SIZE", 2)
    container = watched()
    orphans_of(container, 10, 11, 12)

    page = detail(support(), container, "orphans")

    assert "working memories" in page
    assert "gone-10" in page


def test_an_address_that_names_no_kind_shows_the_first_and_a_part_is_a_part():
    container = mixed()
    client = support()

    assert "gone-60" in detail(client, container, "nonsense")
    part = client.get(reverse("pages:working-detail", args=[container.uid]), headers=HTMX).content.decode()
    assert part.lstrip().startswith('<div id="table"')


def test_nothing_lost_is_said_so_and_other_containers_are_not_seen():
    hidden = watched()
    orphans_of(hidden, 60)
    seen = make_container("seen")
    client = a_browser_of(Role.SUPPORT, containers=[seen])

    assert "Every working memory has its session" in overall(client)
    assert client.get(reverse("pages:working-detail", args=[hidden.uid])).status_code == 404
    assert "Nothing of this kind" in detail(client, seen)


def test_the_overview_leads_there():
    container = watched()
    address = reverse("pages:working-list")
    client = support()
    assert address not in text_of(client.get(reverse("pages:overview")))

    orphans_of(container, 60)

    assert address in text_of(client.get(reverse("pages:overview")))


def test_agreeing_asks_with_numbers_then_stores_and_audits_it_and_can_be_taken_back():
    container = watched()
    put(container, days_old=60, user_id=None)
    put(container, days_old=1, user_id=None)
    client = editor()

    page = text_of(agree(client, container, agreed="yes"))
    assert "Of 2 working memories that name no session, user or agent, 1 would go at a run now." in page
    container.refresh_from_db()
    assert not container.removes_unattributed

    page = text_of(agree(client, container, agreed="yes", sure="yes"))
    container.refresh_from_db()
    assert container.removes_unattributed
    assert "Runs may delete what names nobody from now on." in page
    assert AuditEntry.objects.filter(action="container.changed").count() == 1

    assert "Runs may delete it here already." in text_of(agree(client, container, agreed="yes", sure="yes"))
    assert "Runs keep what names nobody from now on." in text_of(agree(client, container, agreed="no"))
    container.refresh_from_db()
    assert not container.removes_unattributed
    assert ages() == [1, 60]


def test_agreeing_is_for_policy_editors_and_by_post_alone():
    container = watched()
    address = reverse("pages:working-agree", args=[container.uid])

    assert auditor().post(address, {"agreed": "yes", "sure": "yes"}).status_code == 403
    assert support().post(address, {"agreed": "yes", "sure": "yes"}).status_code == 403
    assert editor().get(address).status_code == 405
    container.refresh_from_db()
    assert not container.removes_unattributed


def test_a_run_page_shows_a_working_memory_with_its_text_and_reason():
    container = watched()
    store(container, a_message("forgotten words", session_ref="gone", session_gone=True, created_at=NOON - days(60)))
    configuration.change("orphan_ttl_days", 7, actor=ACTOR, now=NOON)
    run = preview(container)

    page = text_of(support().get(reverse("pages:run-detail", args=[run.number])))
    assert "forgotten words" in page
    assert "Its session has gone" in page
    assert "Working memory" in page
