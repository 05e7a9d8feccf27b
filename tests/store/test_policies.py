import pytest

from memadmin.store import configuration, policies
from memadmin.store.models import PolicyState, PolicyVersion
from retention.policy import parse_policy
from tests.factories import ACTOR, NOON, make_container

pytestmark = pytest.mark.django_db


@pytest.fixture
def retention_on(db):
    configuration.change("retention_enabled", True, actor=ACTOR, now=NOON)


def policy(days=90):
    return parse_policy({"retention": {"sessions": {"retention_days": days, "max_count": None}}})


def publish(container, days=90, base=None):
    return policies.publish(container, policy(days), actor=ACTOR, now=NOON, base=base)


@pytest.mark.usefixtures("retention_on")
def test_publishing_replaces_the_version_in_force():
    container = make_container()
    publish(container, 90)

    second = publish(container, 30, base=1)

    assert policies.published(container) == second
    assert policies.current(container) == policy(30)
    assert container.policy_state == PolicyState.SET
    assert list(PolicyVersion.objects.order_by("number").values_list("number", "status")) == [(1, "superseded"), (2, "published")]


@pytest.mark.usefixtures("retention_on")
def test_the_second_of_two_editors_sees_a_conflict_with_what_stands():
    container = make_container()
    publish(container, 90)

    with pytest.raises(policies.Conflict, match="version 1") as conflict:
        publish(container, 30, base=None)

    assert conflict.value.published.number == 1
    assert policies.current(container) == policy(90)


def test_while_retention_is_off_publishing_is_refused_and_opting_out_is_not():
    container = make_container()

    with pytest.raises(policies.RetentionIsOff):
        publish(container)
    policies.opt_out(container, actor=ACTOR, now=NOON, base=None)

    assert container.policy_state == PolicyState.OPTED_OUT
    assert policies.current(container) is None


@pytest.mark.usefixtures("retention_on")
def test_a_concrete_policy_ends_the_opting_out():
    container = make_container()
    policies.opt_out(container, actor=ACTOR, now=NOON, base=None)

    publish(container)

    assert container.policy_state == PolicyState.SET


@pytest.mark.usefixtures("retention_on")
def test_rolling_back_publishes_the_old_content_as_a_new_version():
    container = make_container()
    publish(container, 90)
    publish(container, 30, base=1)

    back = policies.roll_back(container, 1, actor=ACTOR, now=NOON, base=2)

    assert (back.number, policies.current(container)) == (3, policy(90))


@pytest.mark.usefixtures("retention_on")
def test_rolling_back_to_a_version_that_never_was_is_refused():
    container = make_container()

    with pytest.raises(policies.NoSuchVersion):
        policies.roll_back(container, 9, actor=ACTOR, now=NOON, base=None)


def test_a_draft_is_kept_once_and_changes_nothing():
    container = make_container()

    first, second = (policies.save_draft(container, policy(), actor=ACTOR, now=NOON) for _ in range(2))

    assert first == second
    assert container.policy_state == PolicyState.NEVER_SET


@pytest.mark.parametrize(("raw", "stored"), [(True, True), ("off", False), ("On", True), ("false", False), (False, False)])
def test_a_switch_takes_what_json_and_forms_send(raw, stored):
    assert configuration.change("retention_enabled", raw, actor=ACTOR, now=NOON) is stored
    assert configuration.value("retention_enabled") is stored


@pytest.mark.parametrize("raw", ["", "maybe", 2, None.__class__, "1e3"])
def test_a_switch_refuses_anything_else(raw):
    with pytest.raises(configuration.InvalidSetting):
        configuration.change("retention_enabled", raw, actor=ACTOR, now=NOON)


@pytest.mark.parametrize("raw", [0, 61, -1, "five", "", 2.5, True, float("inf"), 10**30])
def test_a_number_outside_its_range_is_refused_with_the_range(raw):
    with pytest.raises(configuration.InvalidSetting, match="from 1 to 60"):
        configuration.change("retention_throttle_seconds", raw, actor=ACTOR, now=NOON)


def test_null_goes_back_to_the_default():
    configuration.change("retention_throttle_seconds", "30", actor=ACTOR, now=NOON)

    configuration.change("retention_throttle_seconds", None, actor=ACTOR, now=NOON)

    assert configuration.values()["retention_throttle_seconds"] == 5


def test_an_unknown_setting_is_an_error():
    with pytest.raises(KeyError):
        configuration.value("no_such_setting")
