from datetime import timedelta

import pytest

from memadmin.access.actors import actor_of
from memadmin.access.models import Person
from memadmin.access.roles import Role
from memadmin.access.scopes import Scope
from memadmin.access.tokens import TokenSpec, create_token
from memadmin.audit.models import AuditEntry
from memadmin.jobs import queue
from memadmin.jobs.models import Job
from memadmin.jobs.runner import run_inline
from memadmin.lifecycle import approval, nightly, runs, second_person
from memadmin.lifecycle.approval import NoReason, NotSecondPerson, OtherList
from memadmin.lifecycle.drift import drift_of
from memadmin.lifecycle.models import Approval, Run, RunState, RunVictim, Verdict
from memadmin.lifecycle.states import WrongState
from memadmin.store import configuration, pinning, policies
from memadmin.store.models import LongTermMemory
from tests.factories import ACTOR, NOON, make_container
from tests.lifecycle.second_people import KEEP_THREE, a_large_run, approved, digest_of, published_by, two_approvers
from tests.people import make_person
from tests.runs import a_policy, assert_store_agrees, fill, governed, memories_of, pin, preview

pytestmark = pytest.mark.django_db
HOURS = timedelta(hours=1)


@pytest.fixture(autouse=True)
def _no_naps(monkeypatch):
    monkeypatch.setattr(nightly.time, "sleep", lambda _: None)


def a_night(now=NOON):
    return run_inline(queue.reserve("nightly", requested_by="job/nightly", now=now), now=now)


def work_off(now=NOON):
    for job in Job.objects.live().filter(kind=runs.RUN):
        run_inline(job, now=now)


def actions():
    return list(AuditEntry.objects.order_by("seq").values_list("action", flat=True))


def test_f64_a_number_of_100_for_10000_memories_waits_for_a_second_person_with_9900_victims():
    pia, piet = two_approvers()
    container = make_container()
    fill(container, 10_000)
    published_by(pia, container, a_policy(long_term={"max_count": 100}))
    run = preview(container, actor=pia)

    assert runs.start(run, actor=pia, now=NOON) is None

    assert (run.state, run.planned, len(memories_of(container))) == (RunState.WAITING, 9_900, 10_000)
    assert second_person.foresee(container, run.summary).text.startswith("9,900 items are a large run")
    approved(run, by=piet)
    work_off()
    run.refresh_from_db()
    assert (run.state, run.removed, len(memories_of(container))) == (RunState.FINISHED, 9_900, 100)
    assert_store_agrees()


def test_a_run_at_the_share_and_below_goes_at_once_and_one_above_waits():
    pia, _ = two_approvers()
    container = make_container()
    published_by(pia, container, a_policy(relevance={"max_records": 18}))
    fill(container, 20)

    assert runs.start(preview(container, actor=pia), actor=pia, now=NOON) is not None

    other = make_container("other")
    published_by(pia, other, a_policy(relevance={"max_records": 17}))
    fill(other, 20)
    assert runs.start(preview(other, actor=pia), actor=pia, now=NOON) is None


def test_the_number_counts_all_types_together():
    pia, _ = two_approvers()
    configuration.change("approval_percent", 100, actor=ACTOR, now=NOON)
    configuration.change("approval_items", 5, actor=ACTOR, now=NOON)
    container = make_container()
    published_by(pia, container, a_policy(relevance={"max_records": 10}))
    fill(container, 16)

    assert runs.start(preview(container, actor=pia), actor=pia, now=NOON) is None


def test_with_one_holder_of_the_right_the_rule_is_off_and_the_run_says_so():
    make_person(Role.POLICY_EDITOR, login="pia")
    container = governed(KEEP_THREE)
    fill(container, 10)
    run = preview(container)

    assert runs.start(run, actor=ACTOR, now=NOON) is not None

    assert run.outcome["second_person"] == second_person.RULE_IS_OFF
    assert "only one person may approve" in second_person.foresee(container, run.summary).text


def test_only_people_who_see_the_container_and_are_active_count():
    container, other = governed(KEEP_THREE), make_container("other")
    make_person(Role.POLICY_EDITOR, login="pia")
    make_person(Role.POLICY_EDITOR, login="piet", containers=[other])
    gone = make_person(Role.COMPLIANCE, login="cora")
    Person.objects.filter(pk=gone.pk).update(is_active=False)
    make_person(Role.SUPPORT, login="sam")

    assert [str(person) for person in second_person.holders(container)] == ["pia"]
    assert [str(person) for person in second_person.holders(other)] == ["pia", "piet"]


def test_while_a_run_waits_nothing_goes_and_what_is_pinned_meanwhile_is_kept():
    pia, piet = two_approvers()
    container = make_container()
    published_by(pia, container)
    run = a_large_run(container, by=pia)
    pin(LongTermMemory.objects.get(pk=RunVictim.objects.of_run(run).in_order().first().item_id))

    assert (drift_of(run).pinned, Job.objects.filter(kind=runs.RUN).count()) == (1, 0)
    approved(run, by=piet)
    work_off()

    run.refresh_from_db()
    assert (run.removed, run.kept) == (6, 1)


@pytest.mark.parametrize("how", ["published", "wrote the draft", "edited", "started"])
def test_who_caused_a_run_cannot_be_its_second_person(how):
    pia, piet = two_approvers()
    container = make_container()
    published_by(pia if how == "published" else piet, container)
    if how == "wrote the draft":
        policies.published(container).__class__.objects.update(author=pia)
    if how == "edited":
        policies.published(container).__class__.objects.update(changed_by=pia)
    run = a_large_run(container, by=pia if how == "started" else piet)

    with pytest.raises(NotSecondPerson, match="You caused run"):
        approval.approve(run, digest=digest_of(run), actor=pia, now=NOON)
    with pytest.raises(NotSecondPerson):
        approval.refuse(run, reason="mine", actor=pia, now=NOON)
    assert (len(memories_of(container)), run.state) == (10, RunState.WAITING)


def test_a_token_counts_as_whoever_made_it():
    pia, piet = two_approvers()
    spec = TokenSpec(label="bot", owner_name="bot", scopes=tuple(Scope), containers=None)
    of_pia = f"token/{create_token(spec, actor=pia, now=NOON)[0].uid}"
    of_piet = f"token/{create_token(spec, actor=piet, now=NOON)[0].uid}"
    of_nobody = f"token/{create_token(spec, actor='command/create_token', now=NOON)[0].uid}"
    container = make_container()
    published_by(of_pia, container)
    run = a_large_run(container, by=of_pia)

    for actor in (pia, of_pia):
        with pytest.raises(NotSecondPerson, match="You caused"):
            approval.approve(run, digest=digest_of(run), actor=actor, now=NOON)
    with pytest.raises(NotSecondPerson, match="nobody knows who made this token"):
        approval.approve(run, digest=digest_of(run), actor=of_nobody, now=NOON)
    assert approved(run, by=of_piet).state == RunState.QUEUED


def test_who_lacks_the_right_cannot_approve_nor_can_a_token_that_they_made():
    pia, _ = two_approvers()
    sam = actor_of(make_person(Role.SUPPORT, login="sam"))
    spec = TokenSpec(label="bot", owner_name="bot", scopes=tuple(Scope), containers=None)
    of_sam = f"token/{create_token(spec, actor=sam, now=NOON)[0].uid}"
    container = make_container()
    published_by(pia, container)
    run = a_large_run(container, by=pia)

    for actor in (sam, of_sam):
        with pytest.raises(NotSecondPerson, match="may not approve runs of this container"):
            approval.approve(run, digest=digest_of(run), actor=actor, now=NOON)


def test_who_turned_retention_on_since_the_last_run_caused_the_first_one():
    pia, piet = two_approvers()
    container = make_container()
    published_by(ACTOR, container)
    configuration.change("retention_enabled", False, actor=ACTOR, now=NOON)
    configuration.change("retention_enabled", True, actor=pia, now=NOON)
    run = a_large_run(container)

    with pytest.raises(NotSecondPerson):
        approval.approve(run, digest=digest_of(run), actor=pia, now=NOON)
    assert approved(run, by=piet).state == RunState.QUEUED


def test_who_unpinned_victims_caused_the_run():
    pia, piet = two_approvers()
    container = make_container()
    fill(container, 10)
    for memory in LongTermMemory.objects.all():
        pin(memory)
        pinning.unpin(memory, actor=pia, now=NOON)
    published_by(ACTOR, container)
    run = preview(container)
    runs.start(run, actor=ACTOR, now=NOON)

    with pytest.raises(NotSecondPerson):
        approval.approve(run, digest=digest_of(run), actor=pia, now=NOON)
    assert approved(run, by=piet).state == RunState.QUEUED


def test_where_nobody_is_left_to_approve_the_refusal_says_what_to_do():
    pia, piet = two_approvers()
    container = make_container()
    published_by(pia, container)
    run = a_large_run(container, by=piet)

    with pytest.raises(NotSecondPerson, match="give the right to one more person"):
        approval.approve(run, digest=digest_of(run), actor=pia, now=NOON)
    assert approval.deciding(run) == []


def test_an_approval_is_of_the_list_that_was_seen():
    pia, piet = two_approvers()
    container = make_container()
    published_by(pia, container)
    run = a_large_run(container, by=pia)

    with pytest.raises(OtherList):
        approval.approve(run, digest="0" * 64, actor=piet, now=NOON)
    digest = digest_of(run)
    RunVictim.objects.of_run(run).filter(seq=1).delete()
    with pytest.raises(OtherList):
        approval.approve(run, digest=digest, actor=piet, now=NOON)
    assert run.state == RunState.WAITING


def test_a_list_that_changed_after_its_approval_evicts_nothing():
    pia, piet = two_approvers()
    container = make_container()
    published_by(pia, container)
    run = approved(a_large_run(container, by=pia), by=piet)
    RunVictim.objects.of_run(run).filter(seq=1).update(item_id=10**9, item_uid="00000000-0000-0000-0000-000000000000")

    work_off()

    run.refresh_from_db()
    assert (run.state, run.error_code, run.removed) == (RunState.CANCELLED, "approval_void", 0)
    assert Approval.objects.get().verdict == Verdict.VOID


def test_a_plan_above_what_was_approved_evicts_nothing():
    pia, piet = two_approvers()
    container = make_container()
    published_by(pia, container)
    run = approved(a_large_run(container, by=pia), by=piet)
    Approval.objects.update(items=run.planned - 1)

    work_off()

    assert (Run.objects.get().error_code, len(memories_of(container))) == ("approval_void", 10)


def test_an_approval_that_no_worker_took_up_in_its_time_is_void():
    pia, piet = two_approvers()
    container = make_container()
    published_by(pia, container)
    run = approved(a_large_run(container, by=pia), by=piet)

    work_off(NOON + 73 * HOURS)

    run.refresh_from_db()
    assert (run.state, run.error_code, len(memories_of(container))) == (RunState.CANCELLED, "approval_expired", 10)


def test_a_question_that_waited_too_long_cannot_be_answered_and_the_night_calls_it_off():
    pia, piet = two_approvers()
    container = make_container()
    published_by(pia, container)
    run = a_large_run(container, by=pia)
    policies.opt_out(container, actor=ACTOR, now=NOON, base=1)
    late = NOON + 73 * HOURS

    with pytest.raises(WrongState, match="too long"):
        approval.approve(run, digest=digest_of(run), actor=piet, now=late)
    a_night(late)

    run.refresh_from_db()
    assert (run.state, run.error_code) == (RunState.CANCELLED, "approval_expired")


def test_a_refusal_needs_a_reason_evicts_nothing_and_is_in_the_log():
    pia, piet = two_approvers()
    container = make_container()
    published_by(pia, container)
    run = a_large_run(container, by=pia)

    with pytest.raises(NoReason):
        approval.refuse(run, reason="  ", actor=piet, now=NOON)
    approval.refuse(run, reason="three is too few", actor=piet, now=NOON)

    assert (run.state, Approval.objects.get().reason, len(memories_of(container))) == (RunState.REFUSED, "three is too few", 10)
    assert actions()[-2:] == ["run.approval_asked", "run.refused"]
    assert AuditEntry.objects.order_by("-seq").first().actor == piet
    with pytest.raises(WrongState):
        approval.approve(run, digest=digest_of(run), actor=piet, now=NOON)


def test_approving_is_in_the_log_before_the_start():
    pia, piet = two_approvers()
    container = make_container()
    published_by(pia, container)

    approved(a_large_run(container, by=pia), by=piet)

    assert actions()[-3:] == ["run.approval_asked", "run.approved", "run.started"]


def test_another_policy_in_force_makes_the_question_void_with_its_reason():
    pia, piet = two_approvers()
    container = make_container()
    published_by(pia, container)
    run = a_large_run(container, by=pia)
    published_by(pia, container, a_policy(relevance={"max_records": 9}))

    with pytest.raises(runs.StalePolicy):
        approval.approve(run, digest=digest_of(run), actor=piet, now=NOON)


def test_while_retention_is_off_nothing_can_be_approved():
    pia, piet = two_approvers()
    container = make_container()
    published_by(pia, container)
    run = a_large_run(container, by=pia)
    configuration.change("retention_enabled", False, actor=ACTOR, now=NOON)

    with pytest.raises(runs.NothingRuns):
        approval.approve(run, digest=digest_of(run), actor=piet, now=NOON)


def test_who_asked_can_call_it_off_while_it_waits():
    pia, piet = two_approvers()
    container = make_container()
    published_by(pia, container)
    run = a_large_run(container, by=pia)

    runs.cancel(run, actor=pia, now=NOON)

    assert (run.state, Approval.objects.get().verdict) == (RunState.CANCELLED, Verdict.VOID)
    with pytest.raises(WrongState):
        approval.approve(run, digest=digest_of(run), actor=piet, now=NOON)
