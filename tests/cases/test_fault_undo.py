"""Undoing what a run did, after something else has happened meanwhile. Numbers: docs/cases.md."""

import pytest

from memadmin.access.roles import Role
from memadmin.erasure import intake
from memadmin.erasure.intake import Opening, Thing
from memadmin.erasure.look_alikes import Origin, candidates
from memadmin.erasure.models import Channel, ErasureRequest, Ground, Kind
from memadmin.jobs.runner import run_inline
from memadmin.lifecycle import comeback, restoring, runs
from memadmin.store import pinning, suppression
from memadmin.store.models import Archived, Container, ItemType, LongTermMemory, Mode
from memadmin.store.suppression import Terms
from tests.factories import ACTOR, NOON, days, subject_of
from tests.people import a_browser_of
from tests.runs import a_policy, assert_store_agrees, carry_out, fill, governed, preview

pytestmark = pytest.mark.django_db
KEEP_THREE = a_policy(relevance={"max_records": 3})


@pytest.fixture(autouse=True)
def own_keys(settings, tmp_path):
    settings.SUPPRESSION_KEYS = str(tmp_path / "keys.json")


@pytest.fixture
def container(db):
    made = governed(KEEP_THREE)
    fill(made, 5)
    fill(made, 5, user_id="ben")
    return made


def evict(container):
    return carry_out(preview(container))


def undo(run):
    return run_inline(runs.restore_run(run, actor=ACTOR, now=NOON), now=NOON)


def ask_to_erase(user_id="ann", *, kind=Kind.SUBJECT, things=()):
    found = candidates(user_id, [each.pk for each in Container.objects.all()])
    ticked = [each for each in found if each.origin == Origin.GIVEN] if kind is Kind.SUBJECT else []
    opening = Opening(kind=kind, ground=Ground.CONSENT_WITHDRAWN, channel=Channel.PAGE, ticked=ticked, things=things)
    return intake.open_request(opening, actor=ACTOR, now=NOON)


def test_f74_undo_after_another_edit_keeps_the_edit(container):
    run = evict(container)
    copy = Archived.objects.filter(subject=subject_of(container)).first()
    restoring.restore_item(copy, actor=ACTOR, now=NOON)
    LongTermMemory.objects.filter(uid=copy.uid).update(text="edited since", revision=5)

    undo(run)

    assert LongTermMemory.objects.get(uid=copy.uid).text == "edited since"
    assert_store_agrees()


def test_f74_undo_after_another_run_brings_back_what_the_first_one_took(container):
    first = evict(container)
    fill(container, 2)
    second = carry_out(preview(container, now=NOON + days(1)), now=NOON + days(1))

    undo(first)

    assert set(Archived.objects.values_list("run_number", flat=True)) == {second.number}
    assert_store_agrees()


def test_f74_undo_is_refused_for_a_user_whose_erasure_somebody_has_asked_for_and_not_for_the_neighbour(container):
    run = evict(container)
    ask_to_erase("ann")

    job = undo(run)

    assert (job.done, job.cursor["refused"]) == (2, 2)
    assert (subject_of(container).long_term, subject_of(container, "ben").long_term) == (3, 5)
    assert comeback.look_ahead(Archived.objects.all(), now=NOON).barred == 2
    assert_store_agrees()


@pytest.mark.parametrize("of", ["run", "user"])
def test_f74_after_a_restore_its_page_says_what_was_not_put_back_and_why(container, time_machine, of):
    time_machine.move_to(NOON, tick=False)
    run, browser = evict(container), a_browser_of(Role.POLICY_EDITOR)
    page = f"/runs/{run.number}/" if of == "run" else f"/users/{subject_of(container).uid}/archive/"
    before = browser.get(page).content.decode()
    job = (
        runs.restore_run(run, actor=ACTOR, now=NOON)
        if of == "run"
        else restoring.restore_user(subject_of(container), actor=ACTOR, now=NOON)
    )
    ask_to_erase("ann")

    run_inline(job, now=NOON)

    assert "2 not restored: their erasure was asked for or has been carried out." in browser.get(page).content.decode()
    assert "not restored" not in before


def test_f74_the_page_says_why_nothing_came_back(container, time_machine):
    time_machine.move_to(NOON, tick=False)
    evict(container)
    ask_to_erase("ann")
    browser = a_browser_of(Role.POLICY_EDITOR)
    where = f"/users/{subject_of(container).uid}/archive/restore/"
    copies = ",".join(str(uid) for uid in Archived.objects.filter(subject=subject_of(container)).values_list("uid", flat=True))

    asked = browser.post(where, {"copies": copies}, follow=True).content.decode()
    answer = browser.post(where, {"copies": copies, "sure": "yes"}, follow=True).content.decode()

    assert "Nothing is restored: of 2 in the archive the erasure was asked for or has been carried out." in asked
    assert "2 not restored: their erasure was asked for or has been carried out" in answer
    assert subject_of(container).long_term == 3


def test_f74_a_request_about_one_memory_bars_that_one_alone(container):
    evict(container)
    first, second = Archived.objects.filter(subject=subject_of(container)).order_by("id")
    ask_to_erase(kind=Kind.MEMORY, things=[Thing(ItemType.LONG_TERM, first.uid, container.pk, first.subject_id)])

    restoring.restore_items([first, second], actor=ACTOR, now=NOON)

    assert list(Archived.objects.filter(subject=subject_of(container))) == [first]


def test_f74_a_request_that_has_ended_without_erasing_bars_nothing(container):
    run = evict(container)
    request = ask_to_erase("ann")
    ErasureRequest.objects.filter(pk=request.pk).update(state="cancelled")

    assert undo(run).done == 4


def test_f74_nothing_of_an_erased_person_comes_back(container):
    run = evict(container)
    suppression.suppress_users(["ann"], container=None, terms=Terms(mode=Mode.BLOCK), request_ref="erasure/7", actor=ACTOR, now=NOON)

    job = undo(run)
    again = run_inline(restoring.restore_user(subject_of(container), actor=ACTOR, now=NOON), now=NOON)

    assert (job.done, job.cursor["refused"], again.done) == (2, 2, 0)
    assert subject_of(container).long_term == 3
    assert_store_agrees()


def test_f74_a_pin_that_was_taken_away_comes_back_with_its_reason_unless_the_memory_has_gone(container):
    memory = LongTermMemory.objects.filter(subject=subject_of(container)).order_by("created_at").first()
    pinning.pin(memory, reason="allergy", actor=ACTOR, now=NOON)
    pinning.unpin(memory, actor=ACTOR, now=NOON)
    evict(container)

    with pytest.raises(pinning.Gone):
        pinning.pin_again(memory, actor=ACTOR, now=NOON)

    assert not LongTermMemory.objects.filter(pk=memory.pk).exists()
