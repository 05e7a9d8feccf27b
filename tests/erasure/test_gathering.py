"""What is past a container's hard limit: gathered into one request, pins included, and never evicted for it."""

import itertools

import pytest

from memadmin.access.actors import actor_of
from memadmin.audit.models import AuditEntry
from memadmin.erasure import deciding, gathering, purging, workflow
from memadmin.erasure.deciding import Verdict
from memadmin.erasure.execution import steps
from memadmin.erasure.models import ErasureRequest, Ground, Kind, ManifestItem, Status
from memadmin.jobs import queue
from memadmin.jobs.models import Job
from memadmin.jobs.runner import run_inline
from memadmin.lifecycle.models import Run
from memadmin.store import hard_limits, holding
from memadmin.store.hard_limits import InvalidLimit, set_limit
from memadmin.store.locations import Act
from memadmin.store.models import Archived, Container, HistoryEntry, LongTermMemory, Session, Suppression, WorkingMemory
from tests.erasure.workflow import approved, discovered, officer
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
)
from tests.holds import hold

pytestmark = pytest.mark.django_db
executes = pytest.mark.django_db(transaction=True)


@pytest.fixture
def container() -> Container:
    return make_container(hard_limit_days=100)


def gather(now=NOON) -> ErasureRequest | None:
    run_inline(queue.enqueue(gathering.GATHER, requested_by="test", now=now), now=now)
    return ErasureRequest.objects.order_by("-number").first()


def listed(request):
    return set(request.items.values_list("item_uid", flat=True))


def erased(request, now=NOON):
    approved(request, now=now)
    steps.begin_approved(now=now)
    run_inline(Job.objects.get(kind=steps.EXECUTE, target__endswith=str(request.uid)), now=now)
    request.refresh_from_db()
    return request


@pytest.mark.parametrize("days_given", [0, -1, 1.5, True, "30", 36_501])
def test_a_limit_is_a_whole_number_of_days_or_none(container, days_given):
    with pytest.raises(InvalidLimit, match="1 to 36,500"):
        set_limit(container, days_given, actor=ACTOR, now=NOON)

    assert Container.objects.get().hard_limit_days == 100


def test_a_change_of_the_limit_is_in_the_log_once(container):
    set_limit(container, None, actor=ACTOR, now=NOON)
    set_limit(container, None, actor=ACTOR, now=NOON)

    entries = AuditEntry.objects.filter(action="container.limit_set")
    assert [entry.actor for entry in entries] == [ACTOR]
    assert container.hard_limit_days is None


def test_everything_past_the_limit_is_gathered_pinned_or_not_and_the_rest_is_left_alone(container):
    store(
        container,
        a_memory("old", days_old=101),
        a_memory("old and pinned", days_old=101, pin=a_pin()),
        a_memory("young", days_old=99),
        a_session("old", days_old=101, pin=a_pin()),
        a_session("young", days_old=1),
        a_message("old, in the old session", session_ref="old", created_at=NOON - days(101)),
        a_message("old, in a living session", session_ref="young", created_at=NOON - days(101)),
        a_change("old", created_at=NOON - days(101)),
        a_change("young", created_at=NOON),
    )
    elsewhere = make_container("elsewhere")
    store(elsewhere, a_memory("old", days_old=900))

    request = gather()

    assert (request.kind, request.ground, request.channel, request.state) == (
        Kind.STORAGE_LIMIT,
        Ground.STORAGE_LIMIT,
        "nightly",
        Status.RECEIVED,
    )
    old = [*LongTermMemory.objects.filter(container=container, text__startswith="old"), Session.objects.get(external_id="old")]
    old += [WorkingMemory.objects.get(session__external_id="young"), HistoryEntry.objects.get(created_at__lt=NOON - days(100))]
    assert listed(request) == {row.uid for row in old}
    assert not Run.objects.exists()


def test_exactly_as_old_as_the_limit_is_kept_and_a_missing_or_absurd_date_counts_from_storing(container):
    exact, later = make_memory(container, "exact", days_old=100), make_memory(container, "from tomorrow", days_old=-9_000)
    undated = make_memory(container, "no date", created_at=None)
    unchanged = make_memory(container, "made tomorrow, never changed", days_old=-9_000)
    LongTermMemory.objects.filter(pk=unchanged.pk).update(last_updated_at=None)
    LongTermMemory.objects.filter(pk__in=[undated.pk, later.pk, unchanged.pk]).update(stored_at=NOON - days(101))
    LongTermMemory.objects.filter(pk=exact.pk).update(stored_at=NOON - days(50))

    assert listed(gather()) == {undated.uid, later.uid, unchanged.uid}


DATES = [None, NOON - days(101), NOON - days(100), NOON - days(99), NOON + days(9_000)]


def test_what_a_page_says_of_one_item_is_what_is_gathered(container):
    rows = []
    for made, changed, stored in itertools.product(DATES, DATES, DATES[1:4]):
        for row in (make_memory(container, f"{made} {changed} {stored}"), make_session(container, f"{made} {changed} {stored}")):
            type(row).objects.filter(pk=row.pk).update(created_at=made, last_updated_at=changed, stored_at=stored)
            row.refresh_from_db()
            rows.append(row)

    gathered = listed(gather())

    for row in rows:
        said = hard_limits.passes_at(row, container.hard_limit_days, now=NOON) < NOON
        assert said == (row.uid in gathered), (row.created_at, row.last_updated_at, row.stored_at)
    assert 0 < len(gathered) < len(rows)


def test_without_a_limit_and_past_the_calendar_nothing_passes():
    memory = make_memory(make_container())

    assert hard_limits.passes_at(memory, None, now=NOON) is None
    LongTermMemory.objects.update(created_at=NOON.replace(year=9998), last_updated_at=None)
    memory.refresh_from_db()
    assert hard_limits.passes_at(memory, 36_500, now=NOON.replace(year=9999)) is None


def test_what_was_changed_a_short_while_ago_is_young(container):
    memory = make_memory(container, days_old=300)
    LongTermMemory.objects.filter(pk=memory.pk).update(last_updated_at=NOON - days(3))

    assert gather() is None


def test_copies_that_lie_in_the_archive_for_longer_are_gathered(container):
    store(container, a_memory())
    subject = LongTermMemory.objects.get().subject
    copy = Archived.objects.create(
        **{"uid": LongTermMemory.objects.get().uid, "container": container, "subject": subject, "item_type": "long-term"},
        **{"payload": b"{}", "reason": "ttl", "archived_at": NOON - days(101)},
    )

    assert listed(gather()) == {copy.uid}


def test_night_after_night_it_is_one_request_whose_list_is_brought_up_to_date(container):
    first, second = make_memory(container, "one", days_old=101), make_memory(container, "two", days_old=99)
    request = gather()
    gather()
    assert listed(request) == {first.uid}

    LongTermMemory.objects.filter(pk=first.pk).update(last_updated_at=NOON)
    again = gather(NOON + days(2))

    assert again == request
    assert listed(request) == {second.uid}
    entry = AuditEntry.objects.filter(action="erasure.gathered").latest("seq")
    assert AuditEntry.objects.filter(action="erasure.gathered").count() == 2
    assert entry.actor == "job/erasure.gather"


@executes
def test_from_its_search_on_the_list_is_fixed_and_the_rest_waits_for_the_next_request(container):
    memory = make_memory(container, "one", days_old=101)
    request = gather()
    discovered(request)
    late = make_memory(container, "two", days_old=200)

    assert gather() == request
    assert listed(request) == {memory.uid}
    erased_request = erased(request)
    following = gather()

    assert erased_request.state == Status.COMPLETED
    assert (following.follows, listed(following)) == (request, {late.uid})


def test_where_nothing_is_past_the_limit_any_more_the_request_ends_and_may_come_again(container):
    memory = make_memory(container, days_old=101)
    request = gather()
    set_limit(container, None, actor=ACTOR, now=NOON)

    gather()
    request.refresh_from_db()
    assert request.state == Status.CANCELLED
    set_limit(container, 100, actor=ACTOR, now=NOON)

    assert listed(gather()) == {memory.uid}


def test_what_was_refused_is_not_asked_for_again_the_next_night(container):
    make_memory(container, days_old=101)
    request = gather()
    workflow.refuse(request, "art_17_3_e", letter="A case is pending.", actor=actor_of(officer()), now=NOON)

    assert gather() == request


def test_what_was_refused_is_asked_for_again_once_its_papers_are_purged(container):
    memory = make_memory(container, days_old=101)
    request = gather()
    workflow.refuse(request, "art_17_3_e", letter="A case is pending.", actor=actor_of(officer()), now=NOON)
    purging.purge(request, now=NOON + days(91))

    assert listed(gather(NOON + days(91))) == {memory.uid}


@executes
def test_what_is_held_comes_along_and_is_withheld_and_not_asked_for_again(container):
    make_memory(container, "going", days_old=101, pin=a_pin())
    kept = make_memory(container, "kept", days_old=101)
    hold(kept)
    request = gather()

    erased(request)

    assert (request.state, request.outcome_code) == (Status.COMPLETED, "partly")
    assert [each.uid for each in LongTermMemory.objects.all()] == [kept.uid]
    assert ManifestItem.objects.filter(act=Act.WITHHOLD, row_uid=kept.uid).exists()
    assert gather() == request


def test_held_things_alone_are_no_request_until_the_hold_ends(container):
    memory = make_memory(container, days_old=101)
    held = hold(memory)
    assert gather() is None

    holding.release(held, reason="the case is closed", actor=ACTOR, now=NOON)

    assert listed(gather()) == {memory.uid}


def test_a_reviewer_may_withhold_and_that_holds_the_next_night_too(container):
    memory = make_memory(container, days_old=101)
    make_memory(container, "goes", days_old=102)
    request = gather()
    manifest = discovered(request)
    line = manifest.items.get(row_uid=memory.uid)
    verdict = Verdict(act=Act.WITHHOLD, code="art_17_3_b", review_on=(NOON + days(30)).date())
    deciding.decide(request, [line.pk], verdict, actor=actor_of(officer()), now=NOON)

    deciding.submit(request, actor=actor_of(officer()), now=NOON)

    assert request.state == Status.AWAITING_APPROVAL
    assert gather() == request


@executes
def test_the_erasure_takes_what_was_pinned_leaves_the_rest_and_forbids_no_text(container):
    store(container, a_memory("likes tea", days_old=101, pin=a_pin()), a_memory("likes tea", user_id="bob"))

    erased(gather())

    assert [memory.subject.user_id for memory in LongTermMemory.objects.all()] == ["bob"]
    assert not Suppression.objects.exists()
    store(container, a_memory("likes tea"))


def test_two_containers_have_a_request_each(container):
    other = make_container("other", hard_limit_days=10)
    make_memory(container, days_old=101)
    make_memory(other, days_old=11)

    gather()

    assert ErasureRequest.objects.open().filter(kind=Kind.STORAGE_LIMIT).count() == 2


@executes
def test_a_list_has_an_end_and_the_next_request_takes_the_rest(container, monkeypatch):
    monkeypatch.setattr(gathering, "MOST", 2)
    for number in range(3):
        make_memory(container, f"memory {number}", days_old=101)

    request = gather()

    assert len(listed(request)) == 2
    erased(request)
    assert len(listed(gather())) == 1


def test_without_a_limit_nothing_is_past_it():
    container = make_container()
    make_memory(container, days_old=9_000)

    assert list(hard_limits.past_limit(container, now=NOON)) == []
    assert gather() is None
