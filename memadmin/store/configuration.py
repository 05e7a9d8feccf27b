"""The run-time settings: what each means, its default and its range. Only values that somebody changed have a row."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection, transaction

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.store.models import Setting

ASCII_NUMBER = re.compile(r"-?[0-9]{1,18}")  # int() also takes 1_0 and the digits of every script


class InvalidSetting(ValueError):
    """The value is not one that the setting takes; the message says which ones it takes."""


@dataclass(frozen=True, slots=True)
class SettingSpec:
    key: str
    title: str
    help: str
    default: bool | int
    minimum: int | None = None  # None for switches
    maximum: int | None = None

    def parse(self, raw: object) -> bool | int:
        """Return the value, or raise InvalidSetting. Texts are taken as a form sends them."""
        if isinstance(self.default, bool):
            return self._parse_switch(raw)
        return self._parse_number(raw)

    def _parse_switch(self, raw: object) -> bool:
        words = {"true": True, "on": True, "false": False, "off": False}
        value = words.get(str(raw).strip().lower())
        if value is None:
            raise InvalidSetting(f"{self.title} is on or off, not {raw!r}.")
        return value

    def _parse_number(self, raw: object) -> int:
        try:
            if isinstance(raw, bool) or (isinstance(raw, float) and not raw.is_integer()):
                raise ValueError(raw)
            if isinstance(raw, str) and not ASCII_NUMBER.fullmatch(raw.strip()):
                raise ValueError(raw)
            value = int(raw)  # type: ignore[call-overload]
        except (TypeError, ValueError, OverflowError):
            raise InvalidSetting(f"{self.title} is a whole number from {self.minimum} to {self.maximum}, not {raw!r}.") from None
        if not (self.minimum or 0) <= value <= (self.maximum or 0):
            raise InvalidSetting(f"{self.title} must be from {self.minimum} to {self.maximum}, not {value}.")
        return int(value)


def _housekeeping() -> tuple[SettingSpec, ...]:
    about = "Working memories whose session is gone are left alone for so long."
    ttl = "For containers that keep no sessions. 0 and -1: no limit."
    return (
        SettingSpec("orphan_ttl_days", "Keep orphans (days)", about, 7, 1, 365),
        SettingSpec("working_memory_ttl_days", "Keep working memories without sessions (days)", ttl, -1, -1, 365),
    )


def _recalls() -> tuple[SettingSpec, ...]:
    about = "For backtests of policies. When a memory was recalled is forgotten after this time; how often, and when last, stays."
    sessions = "Those of a user's last sessions stay longer: promotion looks at them."
    return (
        SettingSpec("recall_keep_days", "Keep recalls (days)", about, 90, 1, 3_650),
        SettingSpec("recall_keep_sessions", "Keep recalls of the last sessions", sessions, 10, 1, 100),
    )


def _second_person() -> tuple[SettingSpec, ...]:
    return (
        SettingSpec(
            "approval_percent",
            "Second person: above this share (percent)",
            "A run that would evict more than this share of a memory type of its container waits for a second person. 100: no share does.",
            10,
            1,
            100,
        ),
        SettingSpec(
            "approval_items",
            "Second person: above this number",
            "A run that would evict more items than this waits for a second person.",
            1_000,
            1,
            10_000_000,
        ),
        SettingSpec(
            "approval_valid_hours",
            "Second person: wait and validity (hours)",
            "A run waits so long for a second person, and an approval that no worker carries out holds so long.",
            72,
            1,
            720,
        ),
    )


def _defaults() -> tuple[SettingSpec, ...]:
    about = "Given to each container that has no policy yet, once, while retention is on. 0 and -1: no limit."
    return (
        SettingSpec("default_session_retention_days", "Default: keep sessions (days)", about, -1, -1, 3_650),
        SettingSpec("default_session_max_count", "Default: most sessions", about, -1, -1, 1_000_000),
        SettingSpec("default_long_term_max_count", "Default: most long-term memories", about, -1, -1, 1_000_000),
        SettingSpec("default_history_max_count", "Default: most history entries", about, -1, -1, 10_000_000),
    )


def _erasing() -> tuple[SettingSpec, ...]:
    return (
        SettingSpec(
            "erasure_paused",
            "Stop all erasures",
            "The emergency stop: no erasure begins, and those under way stop after their present batch until this is off again.",
            False,
        ),
        SettingSpec(
            "erasure_drill_monthly",
            "Drill each month",
            "On the first of each month a made-up person goes through the whole workflow of an erasure. Its report is among the drills.",
            False,
        ),
        SettingSpec(
            "erasure_block_days",
            "Refuse an erased person for (days)",
            "For so long after an erasure what arrives about the person is refused; after that it is let in and people are told.",
            30,
            1,
            3_650,
        ),
        SettingSpec(
            "erasure_set_aside",
            "Set aside what arrives, in place of refusing it",
            "For these days what arrives waits, unseen by agents, for a compliance officer to let in or drop. For erasures from now on.",
            False,
        ),
        SettingSpec(
            "erasure_backup_days",
            "Backups expire after (days)",
            "How long your backups are kept, as long as nobody says that the inventory of backups is whole. 0: unknown, and said so.",
            0,
            0,
            3_650,
        ),
    )


def _erasure() -> tuple[SettingSpec, ...]:
    return (
        SettingSpec(
            "erasure_papers_days",
            "Keep papers of requests (days)",
            "Names, notes and letters of requests that ended without an erasure are kept for so long after their end.",
            90,
            1,
            3_650,
        ),
        SettingSpec(
            "erasure_approval_days",
            "Approval valid for (days)",
            "An approval of an erasure that has not begun by then is void. It never outlasts the day on which the request is due.",
            7,
            1,
            30,
        ),
        SettingSpec(
            "erasure_fresh_login_minutes",
            "Approve within (minutes of signing in)",
            "Who signed in longer ago gives the password again before approving an erasure.",
            15,
            1,
            120,
        ),
        SettingSpec(
            "access_export_days",
            "Keep exports for people (days)",
            "An export that was made for a person and not collected is removed after this time. Its link works once, until then.",
            14,
            1,
            90,
        ),
    )


REGISTRY = {
    spec.key: spec
    for spec in (
        SettingSpec("retention_enabled", "Retention", "While this is off nothing is evicted, by any rule. Previews still work.", False),
        SettingSpec("multi_tenancy_enabled", "Multi-tenancy", "While this is on no retention run does anything.", False),
        SettingSpec(
            "retention_job_interval_hours",
            "Hours between retention jobs",
            "24: the nightly run starts at the times of its schedule. Any other number counts instead, from its last start.",
            24,
            1,
            168,
        ),
        SettingSpec(
            "retention_throttle_seconds", "Pause between containers (seconds)", "Taken after a container that lost something.", 5, 1, 60
        ),
        SettingSpec(
            "victims_keep_days",
            "Keep lists of victims (days)",
            "After this time the list of what a run evicted is dropped. The run and its numbers stay.",
            365,
            30,
            3_650,
        ),
        SettingSpec(
            "summaries_per_run",
            "Summaries per run",
            "Each costs a question to the model. Clusters beyond this number go one by one.",
            100,
            1,
            1_000,
        ),
        SettingSpec("preview_keep_days", "Keep previews (days)", "A preview that nobody ran is dropped after this time.", 14, 1, 365),
        SettingSpec(
            "preview_valid_hours", "Preview valid for (hours)", "An older preview must be made anew before it can run.", 24, 1, 720
        ),
        *_recalls(),
        SettingSpec(
            "quarantine_days",
            "Keep what was set aside (days)",
            "What came back after an erasure and was set aside is dropped after this time, unless somebody releases it.",
            7,
            1,
            90,
        ),
        *_second_person(),
        *_erasing(),
        *_erasure(),
        *_housekeeping(),
        *_defaults(),
        SettingSpec("agentic_memory_enabled", "OpenSearch-compatible API", "While this is off every request to it is refused.", True),
        SettingSpec(
            "api_requests_per_minute",
            "Requests per minute and token",
            "A token that asks more often waits for the next minute.",
            3000,
            1,
            1_000_000,
        ),
    )
}


_AS_IF: ContextVar[Mapping[str, Any]] = ContextVar("settings as if", default={})  # noqa: B039  # never changed in place


@contextmanager
def as_if(changes: Mapping[str, Any]) -> Iterator[None]:
    """Let what is read inside see other values of some settings, to say what they would do. Nothing is stored, no other thread sees it."""
    token = _AS_IF.set({**_AS_IF.get(), **changes})
    try:
        yield
    finally:
        _AS_IF.reset(token)


def value(key: str) -> Any:
    """Return the value in force. An unknown key raises KeyError."""
    spec = REGISTRY[key]
    if key in _AS_IF.get():
        return _AS_IF.get()[key]
    row = Setting.objects.filter(key=key).first()
    return spec.default if row is None else row.value


def values() -> dict[str, Any]:
    """Return every setting's value in force, with one query, which is put together by hand: every request of the API asks it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT key, value FROM store_setting")
        changed = {key: json.loads(text) for key, text in cursor.fetchall()}
    return {**{key: changed.get(key, spec.default) for key, spec in REGISTRY.items()}, **_AS_IF.get()}


@transaction.atomic
def change(key: str, raw: object, *, actor: str, now: datetime) -> Any:
    """Set a value and return it as stored; None takes the change back: the default counts. Raises InvalidSetting or KeyError."""
    spec = REGISTRY[key]
    before, was_set = value(key), Setting.objects.filter(key=key).exists()
    after = spec.default if raw is None else spec.parse(raw)
    if (after, raw is not None) == (before, was_set):
        return after  # as it is already: who set it, and when, stays
    if raw is None:
        Setting.objects.filter(key=key).delete()
    else:
        Setting.objects.update_or_create(key=key, defaults={"value": after, "changed_at": now, "changed_by": actor})
    log.append(Action.SETTING_CHANGED, actor=actor, target=f"settings/{key}", at=now, payload={"before": before, "after": after})
    return after
