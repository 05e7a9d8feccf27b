"""`retention_policy` as it travels: read by the rules of OpenSearch, laid over what the container has."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from memadmin.access.principals import Principal
from memadmin.access.scopes import Scope
from memadmin.api.opensearch.errors import CONFLICT, ApiError, bad_argument, forbidden, missing_scope
from memadmin.api.opensearch.fields import Document, number_of, object_of
from memadmin.store import configuration, defaults, policies
from memadmin.store.models import Container, PolicyState
from retention.policy import InvalidPolicy, PolicyPatch, parse_patch

NAME = "retention_policy"
TYPES = ("sessions", "long-term", "history")
LIMITS = ("retention_days", "max_count")
OFF = (
    "Cannot set retention_policy: the memory retention feature is not enabled. "
    "To enable it, please update the cluster setting plugins.ml_commons.memory.retention_enabled"
)
ABOUT_WORKING = (
    "Working memory retention cannot be configured directly. Working memory is deleted when its parent session expires. "
    'To control message lifetime, configure retention on "sessions" instead.'
)
IDLE_SESSIONS = (
    "The sessions retention rule has no effect because sessions are disabled for this container. "
    "Use the cluster setting plugins.ml_commons.memory.working_memory_ttl_days to limit working memory instead."
)


class Given:
    """What a request says of the policy: nothing, opt out, or a patch."""

    def __init__(self, configuration: Document | None) -> None:
        """Raises ApiError."""
        self.is_given = configuration is not None and NAME in configuration
        value = configuration[NAME] if configuration is not None and self.is_given else {}
        self.opts_out = self.is_given and value is None
        self.patch = PolicyPatch() if value is None else _patch(object_of({NAME: value}, NAME) or {})

    @property
    def changes_something(self) -> bool:
        return self.opts_out or bool(self.patch.rules)

    @property
    def has_sessions(self) -> bool:
        return any(memory_type.value == "sessions" for memory_type in self.patch.rules)


def check_switch(given: Given) -> None:
    """Raise the answer for a policy while retention is off; opting out is always allowed."""
    if given.patch.rules and not configuration.value("retention_enabled"):
        raise forbidden(OFF)


def check_scope(given: Given, principal: Principal) -> None:
    """Raise the answer for a token that may not change policies."""
    if given.changes_something and not principal.has(Scope.POLICY_WRITE):
        raise missing_scope(Scope.POLICY_WRITE)


def begin(container: Container, given: Given, *, actor: str, now: datetime) -> None:
    """Give a new container its policy: the given one, none by choice, or the defaults of the installation."""
    if given.changes_something:
        apply(container, given, actor=actor, now=now)
    elif configuration.value("retention_enabled"):
        defaults.stamp(container, actor=actor, now=now)


def apply(container: Container, given: Given, *, actor: str, now: datetime) -> None:
    """Change a container's policy as asked. Raises ApiError when somebody else changes it this moment."""
    try:
        if given.opts_out and container.policy_state != PolicyState.OPTED_OUT:
            standing = policies.published(container)
            policies.opt_out(container, actor=actor, now=now, base=standing.number if standing else None)
        elif given.patch.rules:
            policies.amend(container, given.patch, actor=actor, now=now, note="Set through the API")
    except policies.Conflict as conflict:
        raise ApiError(409, CONFLICT, str(conflict)) from None
    except policies.RetentionIsOff:
        raise forbidden(OFF) from None


def _patch(value: dict[str, Any]) -> PolicyPatch:
    rules: dict[str, Any] = {}
    for key in value:
        memory_type = key.lower()
        if memory_type == "working":
            raise bad_argument(ABOUT_WORKING)
        if memory_type not in TYPES:
            raise bad_argument(f"unknown memory type: {key[:60]}")
        if memory_type in rules:
            raise bad_argument(f"The rule for {memory_type} is given twice.")
        rules[memory_type] = _rule(value, key, memory_type)
    try:
        return parse_patch({"retention": rules})
    except InvalidPolicy as error:  # what is beyond our own limits
        raise bad_argument(str(error)) from None


def _rule(value: dict[str, Any], key: str, memory_type: str) -> dict[str, int | None]:
    given = object_of(value, key)
    if given is None:
        raise ApiError(400, "parsing_exception", f"[{memory_type}] must be an object.")
    if memory_type == "history" and given.get("retention_days") is not None:
        raise bad_argument("retention_days is not supported for history memory type")
    rule: dict[str, int | None] = {}
    for name in LIMITS:
        if name in given and (memory_type, name) != ("history", "retention_days"):
            rule[name] = number_of(given, name)
            if (number := rule[name]) is not None and number <= 0:
                raise bad_argument(f"{name} must be a positive integer or null")
    return rule
