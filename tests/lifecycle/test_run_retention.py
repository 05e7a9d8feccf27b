import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from memadmin.lifecycle import reporting, stepping
from memadmin.lifecycle.models import Run, RunState, Trigger
from memadmin.store import configuration
from memadmin.store.models import LongTermMemory
from tests.factories import ACTOR, NOON, days, make_container, make_memory
from tests.lifecycle.second_people import two_approvers
from tests.runs import a_policy, assert_store_agrees, fill, governed, make_old_session, memories_of, named_by, pin, preview, publish

pytestmark = pytest.mark.django_db
KEEP_THREE = a_policy(relevance={"max_records": 3})


def run_retention(*arguments):
    out = StringIO()
    call_command("run_retention", *arguments, stdout=out)
    return out.getvalue()


def test_a60_without_commit_it_only_shows():
    container = governed(KEEP_THREE)
    fill(container, 5)

    shown = run_retention()

    assert "Would evict 2 from 1 user." in shown
    assert "Evicted" not in shown
    assert len(memories_of(container)) == 5
    assert Run.objects.get().trigger == Trigger.COMMAND


def test_a60_what_it_shows_first_is_what_it_evicts_then():
    container = governed(KEEP_THREE)
    fill(container, 5)
    before = memories_of(container)
    run_retention()
    shown = named_by(Run.objects.get())

    run_retention("--commit")

    real = Run.objects.order_by("number").last()
    assert (named_by(real), memories_of(container)) == (shown, before - shown)
    assert len(shown) == 2


def test_with_commit_it_evicts_and_says_so():
    container = governed(KEEP_THREE)
    fill(container, 5)

    shown = run_retention("--commit")

    assert "Evicted 2." in shown
    assert "Would evict" not in shown
    assert len(memories_of(container)) == 3
    assert_store_agrees()


def test_a_preview_is_carried_out_by_its_number():
    container = governed(KEEP_THREE)
    fill(container, 6)
    run_retention()
    number = Run.objects.get().number
    pin(LongTermMemory.objects.of_container(container).order_by("-id").first())

    shown = run_retention("--run", str(number))
    done = run_retention("--run", str(number), "--commit")

    assert "since the preview: 1 pinned" in shown
    assert "Evicted 2, kept 1." in done


def test_one_container_by_name():
    one, two = governed(KEEP_THREE, "one"), governed(KEEP_THREE, "two")
    fill(one, 5)
    fill(two, 5)

    run_retention("--container", "one", "--commit")

    assert (len(memories_of(one)), len(memories_of(two))) == (3, 5)


def test_as_of_judges_by_another_moment():
    container = governed(a_policy(relevance={"ttl_days": 30}))
    make_memory(container, days_old=10)

    assert "Would evict nothing." in run_retention("--as-of", NOON.isoformat())
    assert "Would evict 1 from 1 user." in run_retention("--as-of", (NOON + days(21)).date().isoformat())


def test_json_is_one_object_with_the_numbers_of_each_run():
    container = governed(a_policy(sessions={"retention_days": 30}))
    make_old_session(container, messages=2)

    answer = json.loads(run_retention("--json"))

    (run,) = answer["runs"]
    assert (answer["committed"], run["state"], run["planned"], run["container"]) == (False, "ready", 1, "pharmacy")
    assert (run["by_type"]["sessions"]["by_reason"], run["by_type"]["sessions"]["messages"]) == ({"age": 1}, 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--container", "nobody"], "There is no container named 'nobody'. Containers: pharmacy."),
        (["--run", "99999"], "There is no run 99999."),
        (["--as-of", "yesterday"], "--as-of takes a date"),
    ],
)
def test_what_it_cannot_do_it_says(arguments, message):
    governed(KEEP_THREE)

    with pytest.raises(CommandError, match=message):
        run_retention(*arguments)


def test_while_retention_is_off_it_previews_and_refuses_to_commit():
    container = governed(KEEP_THREE)
    fill(container, 5)
    configuration.change("retention_enabled", False, actor=ACTOR, now=NOON)

    assert "Nothing will run: retention is off." in run_retention()
    with pytest.raises(CommandError, match="retention is off"):
        run_retention("--commit")
    assert len(memories_of(container)) == 5


def test_a_container_without_a_policy_is_named_as_such():
    make_container("fresh")

    with pytest.raises(CommandError, match="fresh has no policy in force: none was ever published"):
        run_retention("--container", "fresh")
    assert "No container has a policy in force" in run_retention()


def test_a_stale_preview_is_refused_by_number():
    container = governed(KEEP_THREE)
    run = preview(container)
    publish(container, a_policy(relevance={"max_records": 4}))

    with pytest.raises(CommandError, match="Make a new preview"):
        run_retention("--run", str(run.number), "--commit")


def test_a_run_that_fails_makes_the_command_fail_and_leaves_the_others_alone(monkeypatch):
    broken, sound = governed(KEEP_THREE, "broken"), governed(KEEP_THREE, "sound")
    fill(broken, 5)
    fill(sound, 5)
    batch = stepping.paced_batch

    def failing(number, **named):
        if Run.objects.get(pk=number).container == broken:
            raise ZeroDivisionError
        return batch(number, **named)

    monkeypatch.setattr(stepping, "paced_batch", failing)

    with pytest.raises(CommandError, match=r"stopped with an error \(ZeroDivisionError\)"):
        run_retention("--commit")
    assert (len(memories_of(broken)), len(memories_of(sound))) == (5, 3)


def test_a_run_called_off_sounds_unlike_one_that_finished():
    run = preview(governed(KEEP_THREE))
    run.state, run.error_code = RunState.CANCELLED, "retention_off"

    assert reporting.outcome_of(run) == "Is called off (retention_off): evicted 0 of 0 so far."


def test_a_large_run_waits_for_a_second_person_and_the_exit_code_is_3():
    two_approvers()
    large, small = governed(KEEP_THREE, "large"), governed(a_policy(relevance={"max_records": 19}), "small")
    fill(large, 10)
    fill(small, 20)
    out = StringIO()

    with pytest.raises(CommandError, match="waits for a second person: nothing was evicted by it") as refusal:
        call_command("run_retention", "--commit", stdout=out)

    assert refusal.value.returncode == 3
    assert "Waits for a second person: 7 named, nothing evicted." in out.getvalue()
    assert "Evicted 1." in out.getvalue()
    assert len(memories_of(large)) == 10
