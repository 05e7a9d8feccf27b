import json

import pytest
from django.core.management import CommandError, call_command

from memadmin.audit.models import AuditEntry
from memadmin.jobs.lease import LeaseLost
from memadmin.jobs.models import Job
from memadmin.jobs.runner import run_inline, run_stretch
from memadmin.lifecycle import comeback, restoring
from memadmin.lifecycle.models import Run
from memadmin.store import deleting, ingest, policies, suppression
from memadmin.store.intake import IncomingArchived, Source
from memadmin.store.models import (
    Archived,
    HistoryEntry,
    ItemType,
    LongTermMemory,
    Mode,
    Pin,
    Provenance,
    RecallEvent,
    Session,
    WorkingMemory,
)
from memadmin.store.recalls import recalls_of
from memadmin.store.suppression import Terms
from tests.factories import (
    ACTOR,
    NOON,
    a_change,
    a_memory,
    a_message,
    a_pin,
    a_session,
    days,
    make_container,
    make_memory,
    make_session,
    store,
    subject_of,
)
from tests.runs import a_policy, assert_store_agrees, carry_out, fill, governed, make_old_session, preview, publish

pytestmark = pytest.mark.django_db
KEEP_THREE = a_policy(relevance={"max_records": 3})
NO_CAP = a_policy(relevance={"ttl_days": 3_000})


def restore_user(subject, **details):
    return run_inline(restoring.restore_user(subject, actor=ACTOR, now=NOON, **details), now=NOON)


def all_copies():
    return list(Archived.objects.order_by("id"))


def test_all_that_a_user_has_in_the_archive_comes_back_and_the_neighbours_stays():
    container = governed(KEEP_THREE)
    fill(container, 8)
    fill(container, 5, user_id="ben")
    carry_out(preview(container))

    job = restore_user(subject_of(container))

    assert (job.done, job.total) == (5, 5)
    assert (subject_of(container).long_term, subject_of(container).archived) == (8, 0)
    assert (subject_of(container, "ben").long_term, subject_of(container, "ben").archived) == (3, 2)
    entry = AuditEntry.objects.get(action="user.restored")
    assert (entry.target, entry.counts["items"]) == (f"users/{subject_of(container).uid}", 5)
    assert Run.objects.get().restored == 5
    assert_store_agrees()


def test_a_restore_since_a_date_leaves_what_went_before():
    container = governed(KEEP_THREE)
    fill(container, 5)
    carry_out(preview(container))
    fill(container, 2)
    carry_out(preview(container, now=NOON + days(2)), now=NOON + days(2))

    restore_user(subject_of(container), since=NOON + days(1))

    assert Archived.objects.count() == 2
    assert set(Archived.objects.values_list("run_number", flat=True)) == {Run.objects.earliest("number").number}


def test_what_is_evicted_after_the_wish_is_no_part_of_it():
    container = governed(KEEP_THREE)
    fill(container, 4)
    carry_out(preview(container))
    job = restoring.restore_user(subject_of(container), actor=ACTOR, now=NOON)
    store(container, a_memory("older", days_old=300), a_memory("oldest", days_old=301))
    carry_out(preview(container))

    run_inline(job, now=NOON)

    assert Archived.objects.count() == 2


def test_counts_history_provenance_and_times_come_back_with_the_same_uid():
    container = governed(KEEP_THREE)
    session = make_session(container)
    source = Source(item_type=ItemType.SESSION, uid=session.uid)
    memory = make_memory(container, "likes tea", days_old=300, hits=7, last_accessed_at=NOON - days(200), importance=0.1, sources=(source,))
    store(container, a_change(memory_uid=memory.uid))
    fill(container, 3)
    before = LongTermMemory.objects.filter(uid=memory.uid).values().get()
    carry_out(preview(container))
    assert not LongTermMemory.objects.filter(uid=memory.uid).exists()

    restoring.restore_items(all_copies(), actor=ACTOR, now=NOON)

    after = LongTermMemory.objects.filter(uid=memory.uid).values().get()
    assert {**after, "id": 0} == {**before, "id": 0}
    assert Provenance.objects.filter(derived_uid=memory.uid, source_uid=session.uid).count() == 1
    assert HistoryEntry.objects.filter(memory_uid=memory.uid).count() == 1
    assert_store_agrees()


def test_a_restored_memory_waits_for_its_vector_again(settings):
    settings.EMBEDDING_URL = "http://127.0.0.1:1/v1"
    container = governed(KEEP_THREE)
    fill(container, 4)
    carry_out(preview(container))

    restoring.restore_items(all_copies(), actor=ACTOR, now=NOON)

    assert Job.objects.filter(kind="embed").exists()
    assert LongTermMemory.objects.filter(embedding_model="").count() == 4


def test_a_copy_that_was_pinned_elsewhere_comes_back_with_its_pin():
    container = make_container()
    copies = [
        IncomingArchived(user_id="ann", item=item, reason="ttl", archived_at=NOON)
        for item in (a_memory("kept", pin=a_pin("allergy")), a_session("s-9", pin=a_pin("complaint")))
    ]
    ingest.write(container, copies, actor=ACTOR, now=NOON)

    restoring.restore_items(all_copies(), actor=ACTOR, now=NOON)

    assert set(Pin.objects.values_list("reason", "actor", "created_at")) == {("allergy", ACTOR, NOON), ("complaint", ACTOR, NOON)}
    assert (subject_of(container).pinned_long_term, subject_of(container).pinned_sessions) == (1, 1)
    assert_store_agrees()


def test_recalls_of_a_restored_memory_are_still_known():
    container = governed(KEEP_THREE)
    fill(container, 4)
    memory = LongTermMemory.objects.order_by("created_at").first()
    RecallEvent.objects.create(container=container, subject=memory.subject, memory_uid=memory.uid, at=NOON - days(90))
    carry_out(preview(container))
    assert not LongTermMemory.objects.filter(uid=memory.uid).exists()

    restoring.restore_items(all_copies(), actor=ACTOR, now=NOON)

    assert list(recalls_of(LongTermMemory.objects.get(uid=memory.uid)).values_list("at", flat=True)) == [NOON - days(90)]


def test_what_was_deleted_by_hand_is_in_no_archive():
    container = governed(KEEP_THREE)
    memory = make_memory(container)
    deleting.delete_item(ItemType.LONG_TERM, memory, actor=ACTOR, now=NOON)

    with pytest.raises(restoring.NothingToRestore):
        restoring.restore_user(subject_of(container), actor=ACTOR, now=NOON)


def test_a_message_that_came_back_by_itself_keeps_its_newer_form_when_its_session_is_restored():
    container = governed(a_policy(sessions={"retention_days": 30}))
    session = make_old_session(container, messages=3)
    first = WorkingMemory.objects.of_session(session).in_order().first()
    carry_out(preview(container))
    store(container, a_message("newer", uid=first.uid, session_ref="old", session_gone=True))

    restoring.restore_items(all_copies(), actor=ACTOR, now=NOON)

    back = WorkingMemory.objects.of_session(Session.objects.get(uid=session.uid))
    assert back.count() == 3
    assert back.get(uid=first.uid).messages[0]["content"] == "newer"
    assert_store_agrees()


@pytest.mark.parametrize("state", ["deleted", "without a policy"])
def test_items_come_back_into_a_container_that_was_deleted_or_has_no_policy(state):
    container = governed(KEEP_THREE)
    fill(container, 4)
    carry_out(preview(container))
    if state == "deleted":
        deleting.delete_container(container, with_memories=(), actor=ACTOR, now=NOON)
    else:
        policies.opt_out(container, actor=ACTOR, now=NOON, base=1)

    restore_user(subject_of(container))

    assert subject_of(container).long_term == 4


def test_a_held_user_is_restored_like_any_other():
    container = governed(KEEP_THREE)
    fill(container, 4)
    carry_out(preview(container))
    LongTermMemory.objects.update(held=True)

    assert restore_user(subject_of(container)).done == 1


def test_restoring_is_idempotent_and_a_killed_worker_counts_right(monkeypatch):
    container = governed(KEEP_THREE)
    fill(container, 10)
    carry_out(preview(container))
    monkeypatch.setattr(restoring, "AT_ONCE", 3)
    job = restoring.restore_user(subject_of(container), actor=ACTOR, now=NOON)
    assert restoring.restore_user(subject_of(container), actor=ACTOR, now=NOON).pk == job.pk  # a double click

    steps = []
    real = restoring.lease.checkpoint
    monkeypatch.setattr(
        restoring.lease, "checkpoint", lambda *given, **named: steps.append(1) or _die_at(2, steps) or real(*given, **named)
    )
    with pytest.raises(KeyboardInterrupt):
        run_stretch(job.pk, clock=lambda: NOON)
    monkeypatch.setattr(restoring.lease, "checkpoint", real)
    run_stretch(job.pk, clock=lambda: NOON + days(1))

    job.refresh_from_db()
    assert (job.state, job.done) == ("done", 7)
    assert AuditEntry.objects.get(action="user.restored").counts["items"] == 7
    assert (subject_of(container).long_term, Run.objects.get().restored) == (10, 7)
    assert_store_agrees()


def _die_at(number, steps):
    if len(steps) == number:
        raise KeyboardInterrupt


def test_a_cancelled_restore_stops_and_says_where(monkeypatch):
    container = governed(KEEP_THREE)
    fill(container, 8)
    carry_out(preview(container))
    monkeypatch.setattr(restoring, "AT_ONCE", 2)
    job = restoring.restore_user(subject_of(container), actor=ACTOR, now=NOON)
    real = restoring.archive.restore

    def cancelled_meanwhile(*given, **named):
        Job.objects.filter(pk=job.pk).update(state="cancelled", lease_until=None, leased_by="", finished_at=NOON)
        return real(*given, **named)

    monkeypatch.setattr(restoring.archive, "restore", cancelled_meanwhile)
    with pytest.raises(LeaseLost):
        run_inline(job, now=NOON)

    assert subject_of(container).long_term == 3  # the batch was rolled back with its checkpoint
    assert_store_agrees()


def test_the_outlook_says_who_gets_over_which_cap_and_what_is_past_a_limit():
    container = governed(a_policy(relevance={"ttl_days": 365}))
    store(container, *(a_memory(f"old {n}", days_old=400 + n, tokens=10) for n in range(2)))
    carry_out(preview(container))
    publish(container, a_policy(relevance={"max_records": 3}))
    fill(container, 6, tokens=10)
    carry_out(preview(container))
    publish(container, a_policy(relevance={"ttl_days": 365, "max_records": 4, "max_tokens": 40}))

    found = comeback.look_ahead(Archived.objects.all(), now=NOON)

    [over] = found.over
    assert (found.items, found.coming, found.past, found.whole) == (5, 5, 2, True)
    assert (over.held, over.coming, over.too_many, over.too_heavy) == (3, 3, 2, 20)
    assert found.again == 4


def test_the_outlook_counts_expired_copies_apart_and_warns_of_nothing_without_limits():
    container = governed(KEEP_THREE, archive_days=10)
    fill(container, 5)
    carry_out(preview(container))
    publish(container, NO_CAP)

    fresh, late = comeback.look_ahead(Archived.objects.all(), now=NOON), comeback.look_ahead(Archived.objects.all(), now=NOON + days(11))

    assert (fresh.items, fresh.expired, fresh.warns) == (2, 0, False)
    assert (late.items, late.expired, late.warns) == (0, 2, False)


def test_the_outlook_says_when_it_did_not_look_at_all(monkeypatch):
    container = governed(KEEP_THREE)
    fill(container, 8)
    carry_out(preview(container))
    monkeypatch.setattr(comeback, "LOOKED_AT", 2)

    found = comeback.look_ahead(Archived.objects.all(), now=NOON)

    assert (found.items, found.looked_at, found.whole) == (5, 2, False)


def test_the_command_shows_first_and_restores_with_commit(capsys, time_machine):
    time_machine.move_to(NOON, tick=False)
    container = governed(KEEP_THREE)
    fill(container, 6)
    run = carry_out(preview(container))

    call_command("restore_archived", "--container", "pharmacy", "--user", "ann")
    shown = capsys.readouterr().out
    assert subject_of(container).long_term == 3
    call_command("restore_archived", "--run", str(run.number), "--commit", "--json")

    assert "Would restore 3 items." in shown
    assert "the next run would evict at least 3 again" in shown
    assert json.loads(capsys.readouterr().out)["restored"] == 3
    assert subject_of(container).long_term == 6


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--run", "999"], "There is no run 999"),
        (["--user", "ann"], "Say with --container"),
        (["--user", "eve", "--container", "pharmacy"], "There is no such user"),
        (["--user", "ann", "--container", "pharmacy", "--since", "soon"], "--since is not a time"),
    ],
)
def test_the_command_says_what_is_wrong(given, words):
    store(make_container(), a_memory())

    with pytest.raises(CommandError, match=words):
        call_command("restore_archived", *given)


def test_the_command_says_that_of_somebody_erased_nothing_is_left_to_restore():
    container = make_container()
    terms = Terms(mode=Mode.BLOCK)
    suppression.suppress_users(["ann"], container=container, terms=terms, request_ref="erasure/1", actor=ACTOR, now=NOON)

    with pytest.raises(CommandError, match="Somebody with this id was erased on request there"):
        call_command("restore_archived", "--user", "ann", "--container", "pharmacy")
