import pytest
from django.db import connection

from memadmin.lifecycle import pinned
from memadmin.lifecycle.pinned import PinState
from memadmin.lifecycle.spared import limits_past
from memadmin.store import pinning
from memadmin.store.models import LongTermMemory, Pin
from tests.factories import ACTOR, NOON, a_memory, a_pin, make_container, make_session, store
from tests.runs import a_policy, governed

pytestmark = pytest.mark.django_db
AGES = (10, 100, 364, 366, 900)


@pytest.fixture
def containers():
    same = {"sessions": {"retention_days": 90}, "relevance": {"ttl_days": 365}}
    made = [
        governed(a_policy(**same), name="one"),
        governed(a_policy(**same), name="two"),
        governed(a_policy(long_term={"retention_days": 365}), name="by age"),
        governed(a_policy(relevance={"max_records": 500, "ttl_days": None}), name="by number"),
        make_container("never set"),
    ]
    for container in made:
        store(
            container,
            *(a_memory(f"{age}", days_old=age, tokens=age, pin=a_pin("asked for")) for age in AGES),
            a_memory("free", days_old=999),
        )
        for age in AGES:
            session = make_session(container, f"s-{age}", days_old=age)
            pinning.pin(session, reason="a complaint", actor=ACTOR, now=NOON)
    return made


def test_past_a_limit_are_the_pins_whose_item_a_limit_of_its_own_container_has_passed(containers):
    policies = pinned.policies_of(containers)
    pins = Pin.objects.all()

    found = set(pinned.past_limit(pins, policies, now=NOON).values_list("pk", flat=True))

    items = pinned.items_of(pins)
    expected = {
        pin.pk for pin in pins if pin.container_id in policies and limits_past(items[pin.pk], policies[pin.container_id], as_of=NOON)
    }
    assert found == expected
    assert len(expected) == 2 * (4 + 2) + 2


def test_totals_are_those_of_the_lists(containers):
    policies = pinned.policies_of(containers)
    some = Pin.objects.filter(container__in=containers[:3])

    totals = pinned.totals_of(some, policies, now=NOON)

    rows = LongTermMemory.objects.filter(container__in=containers[:3], pinned=True)
    assert (totals.pins, totals.tokens) == (3 * 10, sum(rows.values_list("tokens", flat=True)))
    for state in PinState:
        assert totals.of_state(state) == pinned._in_state(some, state, policies, now=NOON).count(), state


def test_totals_of_no_pins_are_zero():
    assert pinned.totals_of(Pin.objects.filter(container__in=[]), {}, now=NOON).tokens == 0


def test_what_is_gone_weighs_nothing_and_is_past_nothing(containers):
    policies = pinned.policies_of(containers)
    LongTermMemory.objects.all()._raw_delete(using="default")

    totals = pinned.totals_of(Pin.objects.all(), policies, now=NOON)

    assert (totals.memories, totals.tokens, totals.past_limit) == (25, 0, 2 * 4)


def test_no_list_of_pins_is_joined_row_by_row(containers):
    """A join by two columns is taken for nearly empty; with 115,000 pins such a plan took two minutes."""
    policies = pinned.policies_of(containers)

    plan = plan_of(
        pinned.keyed(pinned.past_limit(Pin.objects.all(), policies, now=NOON), pinned.PinSort.NEWEST).order_by("-key", "-id")[:51]
    )

    assert [word for word in ("Semi Join", "LIST SUBQUERY", "Nested Loop") if word in plan] == []


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite finds pinned rows by their uid, which costs it no more")
@pytest.mark.parametrize("table", ["longterm_pins", "session_pins"])
def test_what_is_pinned_is_read_from_an_index_alone(containers, table):
    plan = plan_of(pinned.past_limit(Pin.objects.all(), pinned.policies_of(containers), now=NOON))

    assert f"Index Only Scan using {table}" in plan


def plan_of(rows):
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":  # the choice must not hang on what statistics a test before this one has left
            cursor.execute("ANALYZE store_pin, store_session, store_longtermmemory")
            cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off")
    return str(rows.explain())
