import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memadmin.audit import log, verification
from memadmin.audit.models import AuditEntry, AuditPayload
from memadmin.store import arrivals_together, releasing, suppression
from memadmin.store.arrivals_together import Word
from memadmin.store.models import LongTermMemory, Mode, Returned, Subject
from memadmin.store.suppression import NoReason, Terms
from tests.factories import ACTOR, NOON, a_memory, make_container, store
from tests.runs import assert_store_agrees

pytestmark = pytest.mark.django_db
USERS = ("ann", "ben", "cem")


@pytest.fixture
def container():
    return make_container()


def set_aside(container, number=7, users=USERS):
    """Let so many memories of erased people arrive, in turn, and return their keys."""
    suppression.suppress_users(users, container=None, terms=Terms(mode=Mode.QUARANTINE), request_ref="erasure/7f0c", actor=ACTOR, now=NOON)
    store(container, *(a_memory(f"likes tea {each}", user_id=users[each % len(users)]) for each in range(number)))
    return list(Returned.objects.order_by("pk").values_list("pk", flat=True))


def decide(keys, word, reason="she agreed"):
    return arrivals_together.decide(keys, word, reason=reason, actor=ACTOR, now=NOON)


def entries(action):
    log.seal(actor=ACTOR, now=NOON)
    return AuditEntry.objects.filter(action=action)


def test_many_come_back_for_one_reason_with_an_entry_each_and_one_that_counts(container, monkeypatch):
    monkeypatch.setattr(arrivals_together, "AT_ONCE", 3)
    keys = set_aside(container)

    decided = decide(keys, Word.LET_IN)

    assert (decided.done, decided.stay.total(), decided.changed) == (7, 0, 0)
    assert sorted(LongTermMemory.objects.values_list("text", flat=True)) == [f"likes tea {each}" for each in range(7)]
    assert not Returned.objects.exists()
    assert entries("arrival.released").count() == 7
    counted = entries("arrivals.decided").order_by("seq")
    assert [(each.counts["items"], each.reason_code, each.target) for each in counted] == [
        (number, "let_in", f"containers/{container.uid}") for number in (3, 3, 1)
    ]
    assert AuditPayload.objects.filter(body__contains="she agreed").count() == 3
    assert_store_agrees()
    assert verification.verify(connection).exit_code == 0


def test_many_are_dropped_with_the_rows_of_the_erased(container):
    keys = set_aside(container)

    decided = decide(keys, Word.DROP, "nobody wants them")

    assert decided.done == 7
    assert not Returned.objects.exists()
    assert not LongTermMemory.objects.exists()
    assert not Subject.objects.filter(user_id__in=USERS).exists()
    assert entries("arrival.dropped").count() == 7
    assert entries("arrivals.decided").get().counts == {"items": 7}


def test_those_of_two_containers_are_counted_apart(container):
    other = make_container("other")
    set_aside(container, 2)
    keys = set_aside(other, 1)

    decide([*Returned.objects.values_list("pk", flat=True), *keys], Word.DROP)

    assert {(each.target, each.counts["items"]) for each in entries("arrivals.decided")} == {
        (f"containers/{container.uid}", 2),
        (f"containers/{other.uid}", 1),
    }


def test_what_may_not_come_back_stays_and_the_rest_comes(container):
    keys = set_aside(container)
    suppression.suppress_users(["ben"], container=None, terms=Terms(mode=Mode.BLOCK), request_ref="erasure/8a", actor=ACTOR, now=NOON)

    decided = decide(keys, Word.LET_IN)

    assert (decided.done, dict(decided.stay)) == (5, {"user_shut_out": 2})
    assert set(Returned.objects.values_list("subject__user_id", flat=True)) == {"ben"}
    assert entries("arrivals.decided").get().counts == {"items": 5, "user_shut_out": 2}


def test_what_was_decided_about_or_sent_anew_meanwhile_is_left(container):
    keys = set_aside(container, 3)
    released, renewed = Returned.objects.get(pk=keys[0]), Returned.objects.get(pk=keys[1])
    releasing.release(released, reason="hers", actor="person/other", now=NOON)
    store(container, a_memory("something else", user_id="ben", uid=renewed.uid))

    decided = decide(keys, Word.DROP)

    assert (decided.done, decided.changed) == (1, 2)
    assert LongTermMemory.objects.get().text == "likes tea 0"
    assert Returned.objects.get().uid == renewed.uid


def test_no_reason_no_decision(container):
    keys = set_aside(container, 2)

    with pytest.raises(NoReason):
        decide(keys, Word.DROP, " \u200b")

    assert Returned.objects.count() == 2


@pytest.mark.parametrize("word", Word)
def test_many_cost_hardly_more_statements_than_few(container, word):
    few, many = set_aside(container, 3), set_aside(container, 90)[3:]

    costs = []
    for keys in (few, many):
        with CaptureQueriesContext(connection) as made:
            decide(keys, word)
        costs.append(len(made))

    assert costs[1] <= costs[0] + 10
