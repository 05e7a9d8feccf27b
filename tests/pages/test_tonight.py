import html

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from memadmin.access.roles import Role
from memadmin.jobs import queue
from memadmin.jobs.models import Job
from memadmin.lifecycle import nightly, runs
from memadmin.lifecycle.models import Run, RunState
from memadmin.pages import tonight
from memadmin.store.models import PolicyVersion
from tests.factories import ACTOR, NOON
from tests.people import HTMX, auditor, editor, make_person
from tests.runs import a_policy, carry_out, fill, governed, preview, publish, switch_on

pytestmark = pytest.mark.django_db
OLD = a_policy(long_term={"retention_days": 2})


@pytest.fixture(autouse=True)
def _at_noon(time_machine):
    time_machine.move_to(NOON, tick=False)


def url(view, *args):
    return reverse(f"pages:{view}", args=args)


def text_of(response):
    return html.unescape(response.content.decode())


def test_the_nights_work_asks_first_with_the_numbers_of_each_container():
    fill(governed(OLD, "shop"), 5)
    fill(governed(OLD, "other"), 1)

    page = text_of(editor().post(url("schedule-run-now", "nightly"), follow=True))

    assert "The rules of 2 containers are carried out now. 3 items would go." in page
    assert "shop: 3 items are a large run, and no second person is asked: only one person may approve runs here." in page
    assert "other: " not in page
    assert not Job.objects.exists()


def test_what_would_wait_for_a_second_person_is_told_apart():
    client, large = editor(), governed(a_policy(relevance={"max_records": 3}), "large")
    make_person(Role.POLICY_EDITOR, login="piet")
    fill(large, 10)
    fill(governed(a_policy(long_term={"retention_days": 40}), "shop"), 41)

    page = text_of(client.post(url("schedule-run-now", "nightly"), follow=True))

    assert "The rules of 2 containers are carried out now. 1 item would go, and 7 would wait for a second person." in page
    assert "large: 7 items are a large run (more than 10 % of one memory type, or more than 1,000 items): it waits until a second" in page
    assert "shop: 1 would go now." in page


def test_a_yes_queues_it_and_the_list_of_runs_follows_it():
    fill(governed(OLD), 5)
    client = editor()

    client.post(url("schedule-run-now", "nightly"), {"sure": "yes"})

    assert Job.objects.filter(kind="nightly").count() == 1
    assert 'hx-trigger="every 3s"' in text_of(client.get(url("run-list")))
    Job.objects.all().delete()
    assert 'hx-trigger="every 3s"' not in text_of(client.get(url("run-list"), headers=HTMX))


def test_many_containers_and_one_whose_policy_cannot_be_read_are_told(monkeypatch):
    monkeypatch.setattr(tonight, "LOOKED_AT", 1)
    governed(OLD, "broken")
    fill(governed(OLD, "shop"), 5)
    PolicyVersion.objects.filter(container__name="broken").update(document="{")

    page = text_of(editor().post(url("schedule-run-now", "nightly"), follow=True))

    assert "In the 1 looked at here 0 items would go." in page
    assert "1 container more were not looked at here." in page
    assert "broken: its policy cannot be read, so its run fails." in page


def test_while_retention_is_off_nothing_is_asked_and_nothing_runs():
    client = editor()

    response = client.post(url("schedule-run-now", "nightly"), follow=True)

    assert "Nothing would run: retention is off" in text_of(response)
    assert not Job.objects.exists()


def test_g36_a_second_night_is_refused_with_the_numbers_of_the_first_by_page_and_command():
    container = governed(OLD)
    fill(container, 5)
    job = queue.enqueue("nightly", requested_by="job/nightly", now=NOON)
    Job.objects.update(cursor=nightly.next_place(nightly.Place(), now=NOON).as_cursor())
    number = Run.objects.get().number

    page = text_of(editor().post(url("schedule-run-now", "nightly"), {"sure": "yes"}, follow=True))
    with pytest.raises(CommandError, match=f"under way as job {job.pk}, at run {number}. Wait for its end, or name one container"):
        call_command("run_retention", commit=True)

    assert f"Nothing was started. The night's work is under way as job {job.pk}, at run {number}." in page
    assert (Job.objects.count(), Run.objects.count()) == (1, 1)


def test_the_audit_page_shows_a_restore_and_its_numbers():
    container = governed(OLD)
    fill(container, 5)
    run = carry_out(preview(container))
    runs.note_restored(run, {"items": 3, "already_there": 1, "refused": 0}, actor=ACTOR, now=NOON)

    page = text_of(auditor().get(url("audit-list"), {"action": "run.restored"}))

    assert "What a run evicted was put back" in page
    assert "already_there" in page


def test_a_restore_under_way_is_followed_and_not_offered_again():
    container = governed(OLD)
    fill(container, 5)
    run = carry_out(preview(container))
    client = editor()
    client.post(url("run-restore", run.number), {"sure": "yes"})

    under_way = text_of(client.get(url("run-progress", run.number), headers=HTMX))
    Job.objects.all().delete()
    over = client.get(url("run-progress", run.number), headers=HTMX)

    assert "It is being put back." in under_way
    assert 'hx-trigger="every 2s"' in under_way
    assert "Restore 3" not in under_way
    assert "Restore 3" in text_of(over)
    assert "run-ended" in over.headers["HX-Trigger"]


def test_a_preview_of_values_that_were_published_later_is_carried_out_under_that_version():
    switch_on()
    container = governed(a_policy(long_term={"retention_days": 900}))
    fill(container, 5)
    run = preview(container, OLD)
    client = editor()
    refused = text_of(client.get(url("run-detail", run.number)))
    version = publish(container, OLD)

    carry_out(run)

    assert "Publish these values, and this preview can be carried out." in refused
    assert (run.state, run.policy_version) == (RunState.FINISHED, version)
    assert ">version 2</a>)" in text_of(client.get(url("run-detail", run.number)))
