import pytest

from memadmin.audit.actions import Action
from memadmin.audit.models import AuditEntry, AuditPayload
from memadmin.erasure import rechecking
from memadmin.erasure.models import FoundAgain, FoundAgainKind, Recheck
from memadmin.erasure.rechecking import NIGHTLY, WEEKLY, NothingSaid
from memadmin.jobs import queue
from memadmin.jobs.runner import run_inline
from memadmin.store import suppression
from memadmin.store.locations import Act
from memadmin.store.models import LongTermMemory, Mode, Suppression
from memadmin.store.suppression import Terms
from memadmin.webhooks import subscriptions, telling
from memadmin.webhooks.models import Delivery
from memadmin.webhooks.subscriptions import SubscriptionSpec
from tests.erasure.papers import a_manifest, a_request
from tests.factories import ACTOR, NOON, a_memory, days, make_container, make_memory, store

pytestmark = pytest.mark.django_db
LATER = NOON + days(3650)  # after the rows of tests, which the database dates itself


@pytest.fixture
def container():
    return make_container()


@pytest.fixture
def ann(container):
    return make_memory(container, "likes tea", user_id="ann").subject


def erased(subject, *, at=LATER, mode=Mode.BLOCK):
    """What an erasure leaves: its papers and a suppression."""
    request = a_request(subject)
    terms = Terms(mode=mode)
    ref = f"erasure/{request.uid}"
    suppression.suppress_users(["ann"], container=subject.container, terms=terms, request_ref=ref, actor=ACTOR, now=at)
    return request


def look(kind=NIGHTLY, now=NOON):
    run_inline(queue.enqueue(kind, requested_by=ACTOR, now=now), now=now)


def kinds():
    return sorted(FoundAgain.objects.values_list("kind", flat=True))


def test_who_was_erased_and_is_there_as_before_is_an_alarm(container, ann):
    make_memory(container, "coffee", user_id="bob")
    erased(ann)

    look()

    found = FoundAgain.objects.get()
    assert (found.kind, found.table, found.row_key) == (FoundAgainKind.STAYED, "store_subject", str(ann.pk))
    entry = AuditEntry.objects.get(action=Action.ERASURE_FOUND_AGAIN)
    assert entry.counts == {"looked_at": 2, "found": 1}
    assert "ann" not in "".join(AuditEntry.objects.filter(action=Action.ERASURE_FOUND_AGAIN).values_list("leaf", flat=True))


def test_who_is_refused_and_came_back_is_an_alarm_and_after_the_block_it_is_somebody_new(ann):
    erased(ann, at=NOON - days(9999))
    look()
    assert kinds() == [FoundAgainKind.CAME_BACK]

    FoundAgain.objects.all().delete()
    Suppression.objects.update(mode=Mode.FLAG)
    look()
    assert kinds() == []


@pytest.mark.parametrize("kind", [NIGHTLY, WEEKLY])
def test_what_a_request_withholds_is_no_alarm(ann, kind):
    request, memory = erased(ann), LongTermMemory.objects.get()
    LongTermMemory.objects.update(metadata={"said_by": "ann"})
    a_manifest(request, [("store.long_term", memory)], acts={"store.long_term": Act.WITHHOLD})
    request.manifests.get().items.update(subject_id=ann.pk)

    look(kind)

    assert kinds() == []
    assert AuditEntry.objects.filter(action=Action.ERASURE_RECHECKED).count() == 1


def test_the_same_id_in_another_container_is_somebody_else(ann):
    erased(ann)
    other = make_container("other")
    make_memory(other, "gin", user_id="ann")
    type(ann).objects.filter(pk=ann.pk).update(user_id="carl")

    look()

    assert kinds() == []


def test_a_suppression_that_no_erasure_made_is_no_promise(container, ann):
    terms = Terms(mode=Mode.BLOCK)
    suppression.suppress_users(["ann"], container=container, terms=terms, request_ref="suppressions/x", actor=ACTOR, now=LATER)

    look()

    assert kinds() == []


def test_all_users_are_looked_at_in_steps(container, ann, monkeypatch):
    monkeypatch.setattr(rechecking, "USERS_AT_ONCE", 2)
    for number in range(5):
        make_memory(container, "x", user_id=f"user{number}")
    erased(ann)

    look()

    recheck = Recheck.objects.get()
    assert (recheck.looked_at, recheck.found, recheck.ended_at) == (6, 1, NOON)


@pytest.mark.parametrize("value", [{"said_by": "ann"}, {"ann": 1}, {"deep": [{"who": ["ann"]}]}])
def test_weekly_an_id_is_found_in_every_value_leaf_and_key(container, ann, value):
    erased(ann)
    type(ann).objects.filter(pk=ann.pk).update(user_id="carl")
    store(container, a_memory("something", user_id="bob", metadata=value))

    look(WEEKLY)

    assert (FoundAgainKind.NAMED, "store_longtermmemory", "metadata") in set(FoundAgain.objects.values_list("kind", "table", "column"))


def test_weekly_a_word_in_a_text_is_no_id(container, ann):
    erased(ann)
    type(ann).objects.filter(pk=ann.pk).update(user_id="carl", canonical_id="carl")
    store(container, a_memory("met ann at noon; anna, annex", user_id="bob"))

    look(WEEKLY)

    assert "store_longtermmemory" not in set(FoundAgain.objects.values_list("table", flat=True))


def test_weekly_an_erased_text_is_found_in_other_case_and_spaces(container, ann):
    request = a_request(ann)
    ref, terms = f"erasure/{request.uid}", Terms(mode=Mode.BLOCK)
    memory = make_memory(container, "The  GATE opens at nine.", user_id="bob")
    suppression.suppress_texts(["the gate opens at nine"], container=container, terms=terms, request_ref=ref, actor=ACTOR, now=NOON)

    look(WEEKLY)

    found = set(FoundAgain.objects.values_list("kind", "table", "row_key"))
    assert (FoundAgainKind.TEXT, "store_longtermmemory", str(memory.pk)) in found


def test_weekly_everything_is_looked_at_in_steps(container, ann, monkeypatch):
    monkeypatch.setattr(rechecking, "ROWS_AT_ONCE", 3)
    store(container, *[a_memory(f"fact {number}", user_id="bob", metadata={"n": "ann"} if number == 6 else {}) for number in range(7)])
    erased(ann)

    look(WEEKLY)

    assert FoundAgain.objects.filter(table="store_longtermmemory").count() == 1
    assert Recheck.objects.get().ended_at == NOON


def test_a_finding_is_told_once_until_somebody_explains_it_and_not_again(ann):
    erased(ann)
    look()
    look(now=NOON + days(1))
    assert (FoundAgain.objects.count(), rechecking.alarms()) == (1, 1)
    assert AuditEntry.objects.filter(action=Action.ERASURE_FOUND_AGAIN).count() == 1
    found = FoundAgain.objects.get()

    with pytest.raises(NothingSaid):
        rechecking.settle(found, "\u2800", actor=ACTOR, now=NOON)
    rechecking.settle(found, "Restored by hand; erased with request 9.", actor=ACTOR, now=NOON)
    look(now=NOON + days(2))

    assert (FoundAgain.objects.count(), rechecking.alarms()) == (1, 0)
    assert AuditPayload.objects.filter(body__contains="request 9").exists()


def test_who_listens_to_all_containers_hears_the_alarm(container, ann):
    def subscribe(containers):
        spec = SubscriptionSpec(url="https://hooks.example.org/", events=["erasure.found_again"], containers=containers)
        return subscriptions.subscribe(spec, actor=ACTOR, now=NOON)[0]

    everywhere, here = subscribe(None), subscribe([container])
    erased(ann)
    look()

    assert [telling.tell(each, now=NOON) for each in (everywhere, here)] == [1, 0]
    body = Delivery.objects.get().body
    assert '"event":"erasure.found_again"' in body
    assert '"found":1' in body
    assert "ann" not in body.replace("channel", "")


def test_without_anything_suppressed_nothing_is_read(ann, django_assert_max_num_queries):
    with django_assert_max_num_queries(60):
        look(WEEKLY)

    assert Recheck.objects.get().looked_at == 0


def test_weekly_what_belongs_to_who_has_the_id_elsewhere_is_no_finding(ann):
    make_memory(make_container("elsewhere"), "likes tea", user_id="ann", namespace={"user_id": "ann"})
    erased(ann)

    look(WEEKLY)

    assert not FoundAgain.objects.filter(table="store_longtermmemory").exists()
