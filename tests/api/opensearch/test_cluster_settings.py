"""Rows F of the list of behaviours, by their numbers."""

import pytest

from memadmin.access.scopes import Scope
from memadmin.audit.models import AuditEntry
from memadmin.store import configuration
from memadmin.store.models import Setting
from tests.tokens import api_of, reason_of

pytestmark = pytest.mark.django_db
MEMORY = "plugins.ml_commons.memory."


@pytest.fixture
def api():
    return api_of("root", all_access=True)


def put(api, settings, group="persistent"):
    return api.put("/_cluster/settings", {group: settings})


@pytest.mark.parametrize(
    "written",
    [
        {f"{MEMORY}retention_enabled": True},
        {"plugins": {"ml_commons": {"memory": {"retention_enabled": "true"}}}},
        {"plugins.ml_commons": {"memory.retention_enabled": True}},
    ],
)
@pytest.mark.parametrize("group", ["persistent", "transient"])
def test_f1_a_setting_is_changed_however_its_name_is_written(api, written, group):
    answer = put(api, written, group)

    nested = {"plugins": {"ml_commons": {"memory": {"retention_enabled": "true"}}}}
    assert answer.json() == {"acknowledged": True, "persistent": {}, "transient": {}} | {group: nested}
    assert configuration.value("retention_enabled") is True
    assert AuditEntry.objects.get(action="setting.changed").target == "settings/retention_enabled"


@pytest.mark.parametrize(
    ("name", "wrong", "bound"),
    [
        ("retention_job_throttle_seconds", 0, "must be >= 1"),
        ("retention_job_throttle_seconds", 61, "must be <= 60"),
        ("orphan_ttl_days", 0, "must be >= 1"),
        ("orphan_ttl_days", 366, "must be <= 365"),
        ("retention_job_interval_hours", 0, "must be >= 1"),
        ("retention_job_interval_hours", 169, "must be <= 168"),
        ("working_memory_ttl_days", -2, "must be >= -1"),
        ("working_memory_ttl_days", 366, "must be <= 365"),
        ("default_session_retention_days", 3_651, "must be <= 3650"),
        ("default_session_max_count", 1_000_001, "must be <= 1000000"),
        ("default_long_term_max_count", 1_000_001, "must be <= 1000000"),
        ("default_history_max_count", 10_000_001, "must be <= 10000000"),
    ],
)
def test_f2_to_f4_out_of_range_is_refused_with_the_bound(api, name, wrong, bound):
    reason = f"Failed to parse value [{wrong}] for setting [{MEMORY}{name}] {bound}"

    assert reason_of(put(api, {f"{MEMORY}{name}": wrong})) == (400, "illegal_argument_exception", reason)
    assert not Setting.objects.exists()


@pytest.mark.parametrize("value", [-1, 0, 1, 365, "30"])
def test_f3_the_limit_of_working_memories_may_be_off(api, value):
    assert put(api, {f"{MEMORY}working_memory_ttl_days": value}).status_code == 200
    assert configuration.value("working_memory_ttl_days") == int(value)


def test_f5_null_goes_back_to_the_default(api):
    put(api, {f"{MEMORY}orphan_ttl_days": 30})

    assert put(api, {f"{MEMORY}orphan_ttl_days": None}).json()["persistent"] == {}

    assert configuration.value("orphan_ttl_days") == 7
    assert api.get("/_cluster/settings").json() == {"persistent": {}, "transient": {}}


@pytest.mark.parametrize("value", ["yes", 1, [], "", 0])
def test_a_switch_is_true_or_false(api, value):
    assert "as only [true] or [false] are allowed" in reason_of(put(api, {f"{MEMORY}retention_enabled": value}))[2]


@pytest.mark.parametrize("value", ["many", 1.5, True, [], [1], 10**40, "\u0663"])
def test_a_number_is_whole(api, value):
    assert reason_of(put(api, {f"{MEMORY}orphan_ttl_days": value}))[:2] == (400, "illegal_argument_exception")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("plugins.ml_commons.only_run_on_ml_node", "not recognized"),
        ("retention_enabled", "not recognized"),
        ("plugins.ml_commons.multi_tenancy_enabled", "not dynamically updateable"),
    ],
)
def test_other_settings_are_refused(api, name, reason):
    assert reason in reason_of(put(api, {name: True}))[2]


def test_of_several_settings_all_are_changed_or_none(api):
    answer = put(api, {f"{MEMORY}orphan_ttl_days": 30, f"{MEMORY}retention_job_throttle_seconds": 99})

    assert answer.status_code == 400
    assert configuration.value("orphan_ttl_days") == 7


@pytest.mark.parametrize("body", [None, {}, {"persistent": {}}, {"persistent": []}, {"defaults": {"a": 1}}])
def test_a_change_names_a_setting(api, body):
    assert reason_of(api.put("/_cluster/settings", body))[0] == 400


def test_settings_are_read_nested_or_flat_with_defaults_on_request(api):
    put(api, {f"{MEMORY}orphan_ttl_days": 30})

    flat = api.get("/_cluster/settings?flat_settings=true&include_defaults=true").json()

    assert flat["persistent"] == {f"{MEMORY}orphan_ttl_days": "30"}
    assert flat["defaults"][f"{MEMORY}retention_enabled"] == "false"
    assert flat["defaults"]["plugins.ml_commons.agentic_memory_enabled"] == "true"
    assert f"{MEMORY}orphan_ttl_days" not in flat["defaults"]
    assert "defaults" not in api.get("/_cluster/settings").json()


def test_reading_and_changing_are_two_scopes():
    reader = api_of("ana", scopes=[Scope.SETTING_READ])

    assert reader.get("/_cluster/settings").status_code == 200
    assert reason_of(put(reader, {f"{MEMORY}orphan_ttl_days": 30}))[:2] == (403, "security_exception")
