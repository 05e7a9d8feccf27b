"""`_cluster/settings`: our run-time settings under the names that they have in OpenSearch, as texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.db import transaction

from memadmin.access.scopes import Scope
from memadmin.api.opensearch.endpoints import Call, endpoint
from memadmin.api.opensearch.errors import PARSE, VALIDATION, ApiError, bad_argument
from memadmin.api.opensearch.fields import object_of, shown
from memadmin.jobs import schedules
from memadmin.store import configuration
from memadmin.store.configuration import REGISTRY, InvalidSetting, SettingSpec
from memadmin.store.models import Setting

ROOT, MEMORY = "plugins.ml_commons.", "plugins.ml_commons.memory."
NAMES = {  # on the wire -> ours
    f"{ROOT}agentic_memory_enabled": "agentic_memory_enabled",
    f"{ROOT}multi_tenancy_enabled": "multi_tenancy_enabled",
    f"{MEMORY}retention_enabled": "retention_enabled",
    f"{MEMORY}retention_job_interval_hours": "retention_job_interval_hours",
    f"{MEMORY}retention_job_throttle_seconds": "retention_throttle_seconds",
    f"{MEMORY}orphan_ttl_days": "orphan_ttl_days",
    f"{MEMORY}working_memory_ttl_days": "working_memory_ttl_days",
    f"{MEMORY}default_session_retention_days": "default_session_retention_days",
    f"{MEMORY}default_session_max_count": "default_session_max_count",
    f"{MEMORY}default_long_term_max_count": "default_long_term_max_count",
    f"{MEMORY}default_history_max_count": "default_history_max_count",
}
STATIC = {f"{ROOT}multi_tenancy_enabled"}  # a matter of the installation; people change it on the settings page
GROUPS = ("persistent", "transient")


@endpoint(Scope.SETTING_READ)
def get_settings(call: Call) -> dict[str, Any]:
    changed = dict(Setting.objects.filter(key__in=NAMES.values()).values_list("key", "value"))
    flat = call.flag("flat_settings")
    persistent = {name: _text(changed[key]) for name, key in NAMES.items() if key in changed}
    answer = {"persistent": _shaped(persistent, flat=flat), "transient": {}}
    if call.flag("include_defaults"):
        defaults = {name: _text(REGISTRY[key].default) for name, key in NAMES.items() if key not in changed}
        answer["defaults"] = _shaped(defaults, flat=flat)
    return answer


@endpoint(Scope.SETTING_WRITE)
def put_settings(call: Call) -> dict[str, Any]:
    if call.document is None:
        raise ApiError(400, PARSE, "request body is required")
    groups = {group: _flattened(object_of(call.document, group) or {}) for group in GROUPS}
    if not any(groups.values()):
        raise ApiError(400, VALIDATION, "Validation Failed: 1: no settings to update;")
    answer: dict[str, Any] = {"acknowledged": True}
    with transaction.atomic():  # all of them, or none
        for group, given in groups.items():
            answer[group] = _shaped(_changed(call, group, given), flat=call.flag("flat_settings"))
        schedules.follow_settings(now=call.now)
    return answer


def _changed(call: Call, group: str, given: Mapping[str, Any]) -> dict[str, str]:
    """Change the settings of a group and return what is echoed: those that were not reset. Raises ApiError."""
    echoed: dict[str, str] = {}
    for name, value in given.items():
        if name not in NAMES:
            raise bad_argument(f"{group} setting [{shown(name)}], not recognized")
        if name in STATIC:
            raise bad_argument(f"{group} setting [{name}], not dynamically updateable")
        spec = REGISTRY[NAMES[name]]
        stored = configuration.change(spec.key, _checked(spec, name, value), actor=call.principal.actor, now=call.now)
        if value is not None:
            echoed[name] = _text(stored)
    return echoed


def _checked(spec: SettingSpec, name: str, value: Any) -> bool | int | None:
    """Return the value to store. Raises ApiError in the words of OpenSearch."""
    if value is None:
        return None
    if isinstance(spec.default, bool):
        if str(value).lower() not in ("true", "false") or not isinstance(value, bool | str):
            raise bad_argument(f"Failed to parse value [{shown(value)}] as only [true] or [false] are allowed.")
        return spec.parse(str(value))
    try:
        return spec.parse(value)
    except InvalidSetting:
        raise bad_argument(f"Failed to parse value [{shown(value)}] for setting [{name}]{_bound(spec, value)}") from None


def _bound(spec: SettingSpec, value: Any) -> str:
    """Say which bound a number misses; nothing of what is no whole number."""
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        return ""
    if spec.minimum is not None and number < spec.minimum:
        return f" must be >= {spec.minimum}"
    return f" must be <= {spec.maximum}" if spec.maximum is not None and number > spec.maximum else ""


def _flattened(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings by their dotted names, however deep and dotted they were written."""
    return dict(_leaves(given, ""))


def _leaves(given: Mapping[str, Any], before: str) -> Iterator[tuple[str, Any]]:
    for key, value in given.items():
        name = f"{before}{key}"
        if isinstance(value, dict):
            yield from _leaves(value, f"{name}.")
        else:
            yield name, value


def _shaped(settings: Mapping[str, str], *, flat: bool) -> dict[str, Any]:
    """Return settings by dotted names, or as nested objects."""
    if flat:
        return dict(settings)
    nested: dict[str, Any] = {}
    for name, value in settings.items():
        *parents, leaf = name.split(".")
        place = nested
        for parent in parents:
            place = place.setdefault(parent, {})
        place[leaf] = value
    return nested


def _text(value: bool | int) -> str:
    return str(value).lower()
