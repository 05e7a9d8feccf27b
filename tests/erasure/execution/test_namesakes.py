"""Other people whose ids say the erased one stay, and what is theirs is no residue."""

import pytest

from memadmin.access.actors import actor_of
from memadmin.erasure import workflow as verbs
from memadmin.erasure.models import Status
from memadmin.store.models import LongTermMemory, Subject
from memadmin.store.opening import Suppressed
from tests.erasure.execution.test_execution import execute
from tests.erasure.workflow import approved, officer, opened
from tests.factories import NOON, a_message, make_container, make_memory, store, subject_of

pytestmark = pytest.mark.django_db(transaction=True)


def erased_alone(user_id, **details):
    """Erase exactly this user; nobody who only looks alike is meant."""
    request = opened(user_id, **details)
    others = {subject.subject_ref: False for subject in request.subjects.exclude(user_id=user_id)}
    verbs.tick(request, others, actor=actor_of(officer()), now=NOON)
    approved(request)
    return execute(request)


def findings(request):
    return [(finding.table, finding.column) for finding in request.verifications.latest("number").findings.all()]


@pytest.mark.parametrize("other", ["Ann", "ann#2"])
def test_27_who_looks_alike_and_is_not_meant_stays_and_is_no_residue(other):
    container = make_container()
    make_memory(container, "likes tea", user_id="ann")
    make_memory(container, "likes coffee", user_id=other, namespace={"user_id": other})
    store(container, a_message("hello", user_id=other, namespace={"user_id": other}))

    request = erased_alone("ann")

    assert (request.state, findings(request)) == (Status.COMPLETED, [])
    namesake = subject_of(container, other)
    assert (namesake.long_term, namesake.suppressed, namesake.epoch) == (1, "", 1)
    make_memory(container, "likes milk", user_id=other)  # who may write as before
    assert not Subject.objects.filter(user_id="ann").exists()


@pytest.mark.parametrize(
    "who", ["%", "_nn", "' OR 1=1 --", '"; DELETE FROM store_subject; --', "a.n|b*b", "\\", "*", "NEAR(ann bob)", "{{ 7*7 }}"]
)
def test_30_an_id_that_is_code_elsewhere_is_taken_literally_to_the_end(who):
    container = make_container()
    make_memory(container, "likes tea", user_id=who, namespace={"user_id": who})
    for other in ("ann", "bob"):
        make_memory(container, "likes coffee", user_id=other, namespace={"user_id": other})

    request = opened(who)
    approved(request)
    execute(request)

    assert (request.state, findings(request)) == (Status.COMPLETED, [])
    assert sorted(LongTermMemory.objects.values_list("subject__user_id", flat=True)) == ["ann", "bob"]
    with pytest.raises(Suppressed):
        make_memory(container, "again", user_id=who)


def test_31_two_people_who_are_named_as_each_others_aliases_are_each_erased_alone():
    container = make_container()
    make_memory(container, "likes tea", user_id="annika-77")
    make_memory(container, "likes coffee", user_id="bob-9")
    one, two = opened("annika-77", aliases=["bob-9", "annika-77"]), opened("bob-9", aliases=["annika-77", "bob-9"])

    for request, left in ((one, ["bob-9"]), (two, [])):
        approved(request)
        execute(request)

        assert (request.state, findings(request)) == (Status.COMPLETED, [])
        assert list(LongTermMemory.objects.values_list("subject__user_id", flat=True)) == left


def test_29_the_same_id_in_another_container_stays_and_is_no_residue():
    here, there = make_container("here"), make_container("there")
    for container in (here, there):
        make_memory(container, "likes tea", user_id="ann", namespace={"user_id": "ann"})

    request = erased_alone("ann", containers=[here])

    assert (request.state, findings(request)) == (Status.COMPLETED, [])
    assert list(LongTermMemory.objects.values_list("container__name", flat=True)) == ["there"]


def test_29_an_open_request_of_who_has_the_id_elsewhere_or_one_that_says_it_stays_as_it_is():
    here, there = make_container("here"), make_container("there")
    make_memory(here, "likes tea", user_id="ann")
    make_memory(here, "likes milk", user_id="ann#2")
    make_memory(there, "likes coffee", user_id="ann")
    elsewhere = opened("ann", containers=[there])
    part = opened("ann#2", containers=[here])

    request = erased_alone("ann", containers=[here])

    assert (request.state, request.error_code) == (Status.COMPLETED, "")
    assert elsewhere.subjects.get(ticked=True).user_id == "ann"
    assert part.subjects.get(ticked=True).user_id == "ann#2"
