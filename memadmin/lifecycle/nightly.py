"""The night: container after container, one at a time, each planned and then carried out as a run of its own.

An error in one container is recorded with its run, and the next one begins. Then working memories go that no session carries away,
copies whose last day in the archive is over, previews that nobody started, and the lists of victims of runs that ended long ago.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from memadmin.jobs.parts import do_part
from memadmin.lifecycle import approval, dropping, housekeeping, planning, runs
from memadmin.lifecycle.models import Run, RunState, Trigger
from memadmin.lifecycle.stepping import advance
from memadmin.store import configuration, defaults, policies, removal
from memadmin.store.models import Archived, Container, PolicyState

ACTOR = "job/nightly"
COPIES_AT_ONCE = 1_000
LONGEST_NAP = 5.0  # seconds of a pause that one step sleeps
GIVEN_UP = timedelta(days=1)  # a preview that is still being planned was cut off


@dataclass(frozen=True, slots=True)
class Place:
    """How far the night is: which container was the last, which run is under way, and until when to pause (ISO)."""

    after: int = 0
    run: int | None = None
    pause_until: str | None = None
    done: int = 0
    tidied: int = 0  # the last container whose lost working memories were looked for

    @classmethod
    def read(cls, cursor: Mapping[str, Any] | None) -> Place:
        return cls(**(cursor or {}))

    def as_cursor(self) -> dict[str, Any]:
        return asdict(self)


def next_place(place: Place, *, now: datetime) -> Place | None:
    """Take one step of the night. None: the containers are done."""
    if place.pause_until is not None:
        return _pause(place, now=now)
    if place.run is None:
        return _open_next(place, now=now) if may_evict() else None
    run = Run.objects.select_related("container").get(pk=place.run)
    ended: list[bool] = []
    error_code = do_part(lambda: ended.append(advance(run, actor=ACTOR, now=now)), name=f"run {run.number}")
    if error_code:
        runs.give_up(run, error_code=error_code, actor=ACTOR, now=now)
    return _behind(place, run, now=now) if error_code or ended[0] else place


def may_evict() -> bool:
    return bool(configuration.value("retention_enabled")) and not configuration.value("multi_tenancy_enabled")


def _open_next(place: Place, *, now: datetime) -> Place | None:
    """Open the run of the next container that has a policy in force, or gets the default one now."""
    states = [PolicyState.SET, *([PolicyState.NEVER_SET] if defaults.default_policy() else [])]
    container = Container.objects.filter(id__gt=place.after, policy_state__in=states).order_by("id").first()
    if container is None:
        return None
    defaults.stamp(container, actor=ACTOR, now=now)
    version = policies.published(container)
    if version is None:  # opted out this very moment
        return replace(place, after=container.pk)
    run = planning.open_version(version, now=now, trigger=Trigger.NIGHTLY, actor=ACTOR)
    return replace(place, run=run.number)


def _behind(place: Place, run: Run, *, now: datetime) -> Place:
    """Go on to the next container, after a pause if this one lost something."""
    run.refresh_from_db()
    pause = timedelta(seconds=configuration.value("retention_throttle_seconds"))
    return replace(
        place,
        after=run.container_id,
        run=None,
        pause_until=(now + pause).isoformat() if run.removed else None,
        done=place.done + 1,
    )


def _pause(place: Place, *, now: datetime) -> Place:
    left = (datetime.fromisoformat(place.pause_until or "") - now).total_seconds()
    if left <= 0:
        return replace(place, pause_until=None)
    time.sleep(min(left, LONGEST_NAP))
    return place if left > LONGEST_NAP else replace(place, pause_until=None)


def tidy_next(place: Place, *, now: datetime) -> Place | None:
    """Remove some of the working memories that no session carries away. None: the containers are done."""
    container = Container.objects.filter(id__gt=place.tidied, policy_state=PolicyState.SET).order_by("id").first() if may_evict() else None
    if container is None:
        return None
    return replace(place, tidied=container.pk) if housekeeping.tidy(container, actor=ACTOR, now=now) else place


def prune(*, now: datetime) -> bool:
    """Drop some of what has had its day, and return True when nothing is left of it."""
    return (
        approval.expire_one(actor=ACTOR, now=now)
        and _prune_archive(now=now)
        and _prune_previews(now=now)
        and dropping.drop_some(actor=ACTOR, now=now)
    )


def _prune_archive(*, now: datetime) -> bool:
    """Remove copies past their last day. While nothing may be evicted they stay too."""
    if not may_evict():
        return True
    over = Archived.objects.filter(expires_at__lt=now).order_by("expires_at", "id")
    return not removal.remove_archived(list(over.values_list("id", flat=True)[:COPIES_AT_ONCE]))


def _prune_previews(*, now: datetime) -> bool:
    kept = timedelta(days=configuration.value("preview_keep_days"))
    old = Run.objects.previews().made_before(now - kept) | Run.objects.filter(state=RunState.PLANNING).made_before(now - GIVEN_UP)
    run = old.order_by("number").first()
    if run is None:
        return True
    runs.discard(run, actor=ACTOR, now=now)
    return False
