import pytest

from memadmin.access.scopes import Scope
from memadmin.store.models import Pin
from tests.api.v1.calls import caller_of, problem, said
from tests.factories import a_memory, a_pin, make_container, store
from tests.runs import a_policy, assert_store_agrees, governed

pytestmark = pytest.mark.django_db
PINS = "/containers/c1/pins"


@pytest.fixture
def api(db):
    return caller_of("root", all_access=True)


@pytest.fixture
def container(db):
    container = governed(a_policy(relevance={"ttl_days": 365}), external_id="c1")
    store(
        container,
        a_memory("old", days_old=400, tokens=9, pin=a_pin("imported")),
        *(a_memory(f"new {n}", pin=a_pin("allergy")) for n in range(3)),
    )
    return container


def test_pins_are_listed_with_cost_limit_and_revision(api, container):
    [old] = said(api.get(f"{PINS}?state=past-limit"))["items"]
    first = said(api.get(f"{PINS}?limit=3"))
    rest = said(api.get(f"{PINS}?limit=3&cursor={first['next']}"))

    assert (old["past"], old["tokens"], old["revision"], old["reason"], old["user_id"]) == (["ttl"], 9, 1, "imported", "ann")
    assert [len(first["items"]), len(rest["items"]), rest["next"]] == [3, 1, None]
    assert len(said(api.get(f"{PINS}?state=unreasoned"))["items"]) == 1
    assert problem(api.get(f"{PINS}?state=odd"))[0] == 400


def test_a_review_keeps_or_unpins_what_has_not_changed_and_names_the_rest(api, container):
    shown = [{"uid": pin["uid"], "revision": pin["revision"]} for pin in said(api.get(PINS))["items"]]
    kept = said(api.post(f"{PINS}/review", {"action": "keep", "pins": shown[:2], "reason": "seen", "review_on": "2027-01-01"}))
    gone = said(api.post(f"{PINS}/review", {"action": "unpin", "pins": shown, "reason": "over"}))

    assert kept == {"done": [one["uid"] for one in shown[:2]], "changed": []}
    assert gone == {"done": [one["uid"] for one in shown[2:]], "changed": [one["uid"] for one in shown[:2]]}
    assert Pin.objects.count() == 2
    assert_store_agrees()


def test_a_review_on_a_day_that_is_over_is_refused(api, container):
    shown = {"uid": str(Pin.objects.first().target_uid), "revision": 1}

    answer = api.post(f"{PINS}/review", {"action": "keep", "pins": [shown], "reason": "seen", "review_on": "2001-01-01"})

    assert problem(answer)[0] == 400
    assert "This day is over." in answer.content.decode()


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"action": "drop", "pins": [], "reason": "x"},
        {"action": "keep", "pins": [{"uid": "x", "revision": 1}], "reason": "x"},
        {"action": "keep", "pins": [{"uid": "00000000-0000-0000-0000-000000000000", "revision": 1}], "reason": " "},
        {"action": "keep", "pins": [{"uid": "00000000-0000-0000-0000-000000000000", "revision": 1}] * 101, "reason": "seen"},
    ],
)
def test_a_review_that_cannot_be_read_is_refused_by_field(api, container, body):
    assert problem(api.post(f"{PINS}/review", body))[0] == 400
    assert Pin.objects.count() == 4


def test_pins_of_another_container_are_out_of_reach(api, container):
    make_container("other", external_id="c2")
    [first, *_] = said(api.get(PINS))["items"]

    answer = said(
        api.post("/containers/c2/pins/review", {"action": "unpin", "reason": "over", "pins": [{"uid": first["uid"], "revision": 1}]})
    )

    assert answer == {"done": [], "changed": [first["uid"]]}
    assert Pin.objects.count() == 4


def test_the_register_needs_all_access_and_its_scopes(container):
    assert problem(caller_of("ana", containers=[container]).get(PINS))[0] == 403
    reader = caller_of("rea", all_access=True, scopes=[Scope.MEMORY_READ])
    assert reader.get(PINS).status_code == 200
    assert problem(reader.post(f"{PINS}/review", {}))[0] == 403
