import html

import pytest
from django.urls import reverse

from memadmin.access.actors import actor_of
from memadmin.access.models import Person
from memadmin.access.roles import Role
from memadmin.jobs.models import Job, Schedule
from memadmin.jobs.runner import run_inline
from memadmin.lifecycle import approval, runs
from memadmin.lifecycle.models import Approval, Run, RunState
from memadmin.store import policies
from memadmin.store.models import LongTermMemory
from tests.factories import ACTOR, NOON, days, make_container, make_session
from tests.lifecycle.second_people import a_large_run, published_by
from tests.people import a_browser_of
from tests.runs import a_policy, fill, pin, preview

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _at_noon(time_machine):
    time_machine.move_to(NOON, tick=False)


@pytest.fixture
def pia(db):
    return a_browser_of(Role.POLICY_EDITOR, login="pia")


@pytest.fixture
def piet(db):
    return a_browser_of(Role.POLICY_EDITOR, login="piet")


@pytest.fixture
def run(pia, piet):
    """A run that pia caused and piet can decide."""
    container, by = make_container(), actor_of(Person.objects.get(login="pia"))
    published_by(by, container)
    return a_large_run(container, by=by)


def url(view, *args):
    return reverse(f"pages:{view}", args=args)


def words(response):
    return " ".join(html.unescape(response.content.decode()).split())


def test_starting_a_large_preview_says_first_that_it_will_wait_and_then_it_waits(pia, piet):
    container = make_container()
    published_by(actor_of(Person.objects.get(login="pia")), container)
    fill(container, 10)
    number = preview(container).number

    page = words(pia.get(url("run-detail", number)))
    asked = words(pia.post(url("run-start", number), follow=True))
    done = words(pia.post(url("run-start", number), {"sure": "yes"}, follow=True))

    assert "Ask for a second person…" in page
    assert "7 items are a large run (more than 10 % of one memory type, or more than 1,000 items): it waits until a second person" in asked
    assert "Put before a second person" in asked
    assert f"Run {number} waits for a second person" in done
    assert (Run.objects.get().state, LongTermMemory.objects.count()) == (RunState.WAITING, 10)


def test_the_page_shows_fresh_numbers_what_changed_and_who_can_decide(run, piet):
    pin(LongTermMemory.objects.order_by("-id").first())
    fill(run.container, 5, user_id="bob")

    page = words(piet.get(url("run-detail", run.number)))

    assert "It names <strong>7</strong>. If it were planned now, it would name <strong>9</strong>." in page
    assert "1 was pinned since the preview and stays." in page
    assert "Can decide: piet." in page
    assert "waiting for a second person" in page


def test_approving_asks_with_numbers_and_binds_the_answer_to_the_list(run, piet):
    asked = words(piet.post(url("run-approve", run.number), follow=True))
    stale = words(piet.post(url("run-approve", run.number), {"sure": "yes", "digest": "f" * 64}, follow=True))
    done = words(piet.post(url("run-approve", run.number), {"sure": "yes", "digest": run.approval.digest}, follow=True))

    assert "Approve: evict 7 items" in asked
    assert f"You approve the list {run.approval.digest[:16]}…" in asked
    assert "is not the one that you saw" in stale
    assert f"You approved run {run.number}" in done
    run_inline(Job.objects.get(kind="run"), now=NOON)
    page = words(piet.get(url("run-detail", run.number)))
    assert "Evicted 7" in page
    assert "Approved" in page
    assert "by piet" in page


def test_who_caused_the_run_is_told_that_it_is_not_theirs_to_decide(run, pia):
    page = words(pia.get(url("run-detail", run.number)))
    tried = words(pia.post(url("run-approve", run.number), {"sure": "yes", "digest": run.approval.digest}, follow=True))

    assert "Not for you to decide: you caused it." in page
    assert "You caused run" in tried
    assert LongTermMemory.objects.count() == 10


def test_a_refusal_asks_for_a_reason_keeps_it_and_shows_it(run, piet):
    asked = piet.post(url("run-refuse", run.number), follow=True)
    empty = piet.post(url("run-refuse", run.number), {"reason": "   "})
    done = words(piet.post(url("run-refuse", run.number), {"reason": "too <b>few</b>"}, follow=True))

    assert (asked.status_code, empty.status_code) == (200, 422)
    assert "Say why in 1 to 2,000 characters" in words(empty)
    assert "too <b>few</b>" in done
    assert b"too <b>few</b>" not in piet.get(url("run-detail", run.number)).content
    assert Approval.objects.get().reason == "too <b>few</b>"


@pytest.mark.parametrize("view", ["run-approve", "run-refuse"])
def test_only_the_right_opens_it_and_only_by_post(run, view):
    support = a_browser_of(Role.SUPPORT)

    assert support.post(url(view, run.number), {"sure": "yes", "reason": "x"}).status_code == 403
    assert support.get(url(view, run.number)).status_code == 405
    assert Run.objects.get().state == RunState.WAITING


def test_a_run_of_a_container_that_one_may_not_see_is_not_there(run):
    elsewhere = a_browser_of(Role.POLICY_EDITOR, login="eve", containers=[make_container("other")])

    assert elsewhere.post(url("run-approve", run.number), {"sure": "yes", "digest": run.approval.digest}).status_code == 404


@pytest.mark.parametrize("view", ["overview", "run-list"])
def test_overview_and_list_show_what_waits_and_who_can_decide(run, pia, piet, view):
    assert "Look at it and decide" in words(piet.get(url(view)))
    assert "You caused it" in words(pia.get(url(view)))


def test_the_overview_says_where_the_rule_is_off():
    editor = a_browser_of(Role.POLICY_EDITOR, login="pia")
    make_container()

    assert "Fewer than two people may approve large runs in 1 of the containers" in words(editor.get(url("overview")))


def test_a_large_run_without_a_second_person_says_so_before_and_after(pia):
    container = make_container()
    published_by(ACTOR, container)
    fill(container, 10)
    run = preview(container)

    before = words(pia.get(url("run-detail", run.number)))
    runs.start(run, actor=ACTOR, now=NOON)
    after = words(pia.get(url("run-detail", run.number)))

    assert "no second person is asked: only one person may approve runs here" in before
    assert "went without a second person" in after


def test_what_can_no_longer_be_approved_says_why(run, piet):
    policies.opt_out(run.container, actor=ACTOR, now=NOON, base=1)
    opted_out = words(piet.get(url("run-detail", run.number)))
    tried = words(piet.post(url("run-approve", run.number), follow=True))

    assert "Not for you to decide: Nothing will run: this container is opted out" in opted_out
    assert "this container is opted out of retention" in tried
    approval.expire_one(actor=ACTOR, now=NOON + days(4))
    assert "it had waited too long" in words(piet.get(url("run-detail", run.number)))


def test_publishing_says_first_that_the_run_will_wait(pia, piet):
    container = make_container()
    published_by(ACTOR, container)
    fill(container, 10)
    form = {"base": "1", "use_relevance": "on", "max_records": "2", "half_life_days": "30"}
    form |= {"recency": "0.4", "frequency": "0.2", "importance": "0.4", "ttl_days_none": "on", "max_tokens_none": "on"}
    form |= {f"{name}_none": "on" for name in ("sessions_days", "sessions_count", "long_term_days", "long_term_count", "history_count")}

    asked = words(pia.post(url("policy-publish", container.uid), form, follow=True))

    assert asked.index("waits until a second person has approved it") < asked.index("From the next run on")


@pytest.fixture
def every_night():
    Schedule.objects.update_or_create(kind="nightly", defaults={"cron": "0 3 * * *", "next_run_at": NOON + days(0.625)})


def test_while_a_run_waits_nothing_is_said_to_go_at_the_next_one(run, every_night):
    reader = a_browser_of(Role.SUPPORT, login="sam")
    memory = LongTermMemory.objects.order_by("id").last()
    pages = {
        "list": reader.get(url("user-memories", memory.subject.uid)),
        "memory": reader.get(url("memory-detail", memory.uid)),
        "forecast": reader.get(url("memory-forecast", memory.uid)),
        "at risk": reader.get(url("container-at-risk", run.container.uid)),
    }

    said = {name: words(page) for name, page in pages.items()}

    awaited = f"with run {run.number}, which waits for a second person, or with a later one"
    assert {name for name, page in said.items() if awaited in page} == {"list", "memory", "forecast", "at risk"}
    assert {name for name, page in said.items() if "next run" in page} == set()
    assert "goes once approved" in said["at risk"]


def test_a_session_and_a_user_over_a_cap_wait_for_the_second_person_too(pia, piet, every_night):
    container, by = make_container(), actor_of(Person.objects.get(login="pia"))
    published_by(by, container, a_policy(sessions={"retention_days": 1}, relevance={"max_records": 2}))
    fill(container, 10)
    session = make_session(container, days_old=9)
    runs.start(preview(container), actor=by, now=NOON)
    reader = a_browser_of(Role.SUPPORT, login="sam")

    of_session = words(reader.get(url("session-detail", session.uid)))
    of_user = words(reader.get(url("user-memories", LongTermMemory.objects.all()[0].subject.uid)))

    awaited = f"with run {Run.objects.get().number}, which waits for a second person, or with a later one"
    assert f"It goes {awaited}: older than" in of_session
    assert f"Over the cap by 8 memories: the lowest scores that are not pinned go {awaited}." in of_user
