import html

import pytest
from django.urls import reverse

from memadmin.access.roles import Role
from memadmin.jobs.models import Job
from memadmin.jobs.runner import run_inline
from memadmin.lifecycle import planning
from memadmin.lifecycle.models import Run, RunState, Trigger
from memadmin.store import configuration, pinning, policies
from memadmin.store.check import check
from memadmin.store.models import Archived, LongTermMemory
from retention.policy import parse_policy
from tests.factories import ACTOR, NOON, a_memory, days, make_container, make_session, store
from tests.people import HTMX, a_browser_of, auditor, editor, support

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _at_noon(time_machine):
    time_machine.move_to(NOON, tick=False)


@pytest.fixture
def run(db):
    configuration.change("retention_enabled", True, actor=ACTOR, now=NOON)
    container = make_container()
    store(container, *(a_memory(f"old {number}", days_old=400 + number) for number in range(5)), a_memory("fresh"))
    make_session(container, "s-old", days_old=100, messages=2)
    document = {"retention": {"sessions": {"retention_days": 90, "max_count": None}}, "relevance": relevance()}
    version = policies.publish(container, parse_policy(document), actor=ACTOR, now=NOON, base=None)
    return planning.plan(container, policies.parse(version), now=NOON, trigger=Trigger.PREVIEW, actor=ACTOR, policy_version=version)


def relevance():
    weights = {"recency": 0.4, "frequency": 0.2, "importance": 0.4}
    return {"ttl_days": 365, "max_records": 500, "max_tokens": 40_000, "half_life_hours": 720, "weights": weights}


def url(view, *args):
    return reverse(f"pages:{view}", args=args)


def text_of(response):
    return html.unescape(response.content.decode())


def carry_out(kind="run"):
    run_inline(Job.objects.filter(kind=kind).latest("id"), now=NOON)


def test_starting_a_preview_asks_with_numbers_and_the_way_back(run):
    response = editor().post(url("run-start", run.number), follow=True)

    page = text_of(response)
    assert "Evict 6 items" in page
    assert "can be restored for 30 days" in page
    run.refresh_from_db()
    assert run.state == RunState.READY


def test_a_started_run_is_followed_to_its_end_and_restored_from_its_page(run):
    client = editor()
    client.post(url("run-start", run.number), {"sure": "yes"})
    waiting = text_of(client.get(url("run-progress", run.number), headers=HTMX))
    carry_out()

    ended = text_of(client.get(url("run-detail", run.number)))
    asked = text_of(client.post(url("run-restore", run.number), follow=True))
    client.post(url("run-restore", run.number), {"sure": "yes"})
    carry_out("restore-run")

    assert "Restore 6 items" in asked
    assert "6 of them are past an age or a time to live: the next run would evict them again" in asked

    assert 'hx-trigger="every 2s"' in waiting
    assert "Evicted 6" in ended
    assert "Restore 6" in ended
    assert 'hx-trigger="every 2s"' not in ended
    assert LongTermMemory.objects.count() == 6
    assert Archived.objects.count() == 0
    assert list(check()) == []


def test_what_changed_since_the_preview_is_said_before_and_after(run):
    saved = LongTermMemory.objects.get(text="old 2")
    pinning.pin(saved, reason="why", actor=ACTOR, now=NOON)
    client = editor()

    asked = text_of(client.post(url("run-start", run.number), follow=True))
    client.post(url("run-start", run.number), {"sure": "yes"})
    carry_out()

    assert "Evict 5 items" in asked
    assert "1 was pinned since the preview and stays." in asked
    assert "kept: pinned" in text_of(client.get(url("run-detail", run.number)))
    assert LongTermMemory.objects.filter(pk=saved.pk).exists()


def test_a_run_that_ends_lets_the_rest_of_the_page_know(run):
    client = editor()
    client.post(url("run-start", run.number), {"sure": "yes"})
    waiting = client.get(url("run-progress", run.number), headers=HTMX)
    carry_out()

    assert "HX-Trigger" not in waiting
    assert "run-ended" in client.get(url("run-progress", run.number), headers=HTMX)["HX-Trigger"]


def test_a_preview_that_cannot_be_carried_out_says_why_before_anybody_tries(run):
    configuration.change("retention_enabled", False, actor=ACTOR, now=NOON)
    client = editor()

    page = text_of(client.get(url("run-detail", run.number)))
    asked = client.post(url("run-start", run.number), follow=True)

    assert "It cannot be carried out: Nothing will run: retention is off." in page
    assert "Nothing will run: retention is off." in text_of(asked)
    assert "Evict 6 items" not in text_of(asked)


def test_the_overview_names_what_only_a_pin_keeps(run):
    pinning.pin(LongTermMemory.objects.get(text="old 2"), reason="why", actor=ACTOR, now=NOON)
    planning.plan(run.container, policies.current(run.container), now=NOON, trigger=Trigger.PREVIEW, actor=ACTOR)

    assert "Past a limit and kept by a pin or a hold, by the latest run or preview of each container: 1." in text_of(
        support().get(url("overview"))
    )


def test_a_double_click_starts_one_run(run):
    client = editor()

    for _ in range(2):
        response = client.post(url("run-start", run.number), {"sure": "yes"}, follow=True)

    assert "is waiting" in text_of(response)
    assert Job.objects.filter(kind="run").count() == 1


def test_a_waiting_run_can_be_called_off_and_a_preview_dropped(run):
    client = editor()
    client.post(url("run-start", run.number), {"sure": "yes"})
    client.post(url("run-cancel", run.number))

    run.refresh_from_db()
    assert run.state == RunState.CANCELLED
    assert LongTermMemory.objects.count() == 6
    assert "called off" in text_of(client.get(url("run-list")))


def test_a_dropped_preview_leaves_the_list(run):
    client = editor()

    client.post(url("run-discard", run.number))

    assert f"Run {run.number}<" not in text_of(client.get(url("run-list")))


def test_one_item_can_be_restored_from_its_users_archive(run):
    client = editor()
    client.post(url("run-start", run.number), {"sure": "yes"})
    carry_out()
    copy = Archived.objects.filter(item_type="long-term").first()

    asked = text_of(client.post(url("archived-restore", copy.uid), follow=True))
    response = client.post(url("archived-restore", copy.uid), {"sure": "yes"}, follow=True)

    assert "1 of them is past an age or a time to live" in asked
    assert "Restored 1 item, with score, uid and links" in text_of(response)
    assert LongTermMemory.objects.filter(uid=copy.uid).exists()


@pytest.mark.parametrize("view", ["run-start", "run-cancel", "run-discard", "run-restore"])
def test_runs_are_moved_by_post_alone_and_only_with_the_right(run, view):
    assert editor().get(url(view, run.number)).status_code == 405
    for client in (support(), auditor()):
        assert client.post(url(view, run.number), {"sure": "yes"}).status_code == 403
    run.refresh_from_db()
    assert run.state == RunState.READY


def test_runs_of_containers_that_a_person_may_not_see_do_not_exist(run):
    from_elsewhere = a_browser_of(Role.POLICY_EDITOR, login="eve", containers=[make_container("other")])

    assert from_elsewhere.get(url("run-detail", run.number)).status_code == 404
    assert f"Run {run.number}<" not in text_of(from_elsewhere.get(url("run-list")))


def test_the_overview_counts_and_says_when_the_next_run_is(run):
    page = text_of(support().get(url("overview")))

    assert "Long-term memories" in page
    assert "2026-03-02 03:00:00 UTC" in page
    assert "The worker gives no sign of life" in page


def test_the_overview_says_that_nothing_runs_while_retention_is_off(run):
    configuration.change("retention_enabled", False, actor=ACTOR, now=NOON)

    assert "Nothing will run: retention is off." in text_of(support().get(url("overview")))


def test_a_settings_change_is_validated_confirmed_and_audited(run):
    admin = a_browser_of(Role.ADMINISTRATOR, login="ali")
    wrong = admin.post(url("setting-change", "retention_throttle_seconds"), {"value": "0"})
    admin.post(url("setting-change", "retention_enabled"), {"value": "off"})
    asked = admin.post(url("setting-change", "retention_enabled"), {"value": "on"}, follow=True)
    assert configuration.value("retention_enabled") is False
    admin.post(url("setting-change", "retention_enabled"), {"value": "on", "sure": "yes"})

    assert wrong.status_code == 422
    assert "from 1 to 60" in text_of(wrong)
    assert "Turn retention on" in text_of(asked)
    assert configuration.value("retention_enabled") is True
    assert "A run-time setting was changed" in text_of(auditor().get(url("audit-list")))


def test_only_administrators_change_settings_and_schedules(run):
    for client in (editor(), auditor()):
        assert client.post(url("setting-change", "retention_enabled"), {"value": "off"}).status_code == 403
        assert client.post(url("schedule-change", "nightly"), {"cron": "0 4 * * *"}).status_code == 403


def test_a_schedule_is_changed_run_at_once_and_refused_when_it_is_no_cron(run):
    admin = a_browser_of(Role.ADMINISTRATOR, login="ali")

    wrong = admin.post(url("schedule-change", "nightly"), {"cron": "whenever"})
    admin.post(url("schedule-change", "nightly"), {"cron": "30 4 * * *"})
    admin.post(url("schedule-run-now", "nightly"), {"sure": "yes"})

    assert wrong.status_code == 422
    assert "2026-03-02 04:30:00 UTC" in text_of(admin.get(url("setting-list")))
    assert Job.objects.filter(kind="nightly").count() == 1


def test_what_is_not_the_night_does_not_say_so_when_it_is_started_at_once(run):
    page = text_of(a_browser_of(Role.ADMINISTRATOR, login="ali").post(url("schedule-run-now", "account"), follow=True))

    assert "Hourly bookkeeping: queued now." in page
    assert "nightly work" not in page
    assert Job.objects.filter(kind="account").count() == 1


def test_the_audit_page_filters_and_shows_who(run):
    page = text_of(auditor().get(url("audit-list"), {"action": "policy.published"}))

    assert "A policy version came into force" in page
    assert ">1 entry<" in page
    assert support().get(url("audit-list")).status_code == 403


def test_the_night_run_shows_up_with_its_trigger(run):
    Run.objects.all()._raw_delete("default")
    run = planning.plan(run.container, policies.current(run.container), now=NOON, trigger=Trigger.NIGHTLY, actor="job/nightly")

    assert "job nightly" in text_of(support().get(url("run-detail", run.number)))


def test_a_preview_as_of_a_later_moment_cannot_be_carried_out(run):
    later = planning.plan(
        run.container,
        policies.current(run.container),
        now=NOON,
        as_of=NOON + days(4000),
        trigger=Trigger.COMMAND,
        actor=ACTOR,
        policy_version=run.policy_version,
    )
    client = editor()

    page = text_of(client.get(url("run-detail", later.number)))
    client.post(url("run-start", later.number), {"sure": "yes"})

    later.refresh_from_db()
    assert "cannot be carried out" in page
    assert later.state == RunState.READY
