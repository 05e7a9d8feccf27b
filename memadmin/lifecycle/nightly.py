"""The night: container after container, one at a time, each planned and then carried out as a run of its own.

An error in one container is recorded with its run, and the next one begins. Then copies go whose last day in the archive is over,
previews that nobody started, and the lists of victims of runs that ended long ago.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.jobs.models import Job
from memadmin.jobs.parts import do_part
from memadmin.lifecycle import approval, dropping, housekeeping, planning, runs
from memadmin.lifecycle.models import Run, RunState, Trigger
from memadmin.lifecycle.stepping import advance
from memadmin.store import configuration, defaults, policies, recalls, removal
from memadmin.store.models import Archived, Container, PolicyState
from memadmin.store.querysets import ContainerQuerySet

KIND = "nightly"
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
    recalls: dict[str, Any] | None = None  # up to where past recalls have been looked at

    @classmethod
    def read(cls, cursor: Mapping[str, Any] | None) -> Place:
        known = {field.name for field in fields(cls)}  # a night that an older version began may have said more
        return cls(**{name: value for name, value in (cursor or {}).items() if name in known})

    def as_cursor(self) -> dict[str, Any]:
        return asdict(self)


def next_place(place: Place, *, now: datetime, raising: tuple[type[Exception], ...] = ()) -> Place | None:
    """Take one step of the night. None: the containers are done.

    An error stops the container's turn and is recorded with its run, but for those of `raising`: the step is then tried again.
    """
    if place.pause_until is not None:
        return _pause(place, now=now)
    if place.run is None:
        return _open_next(place, now=now, raising=raising) if may_evict() else None
    run = Run.objects.select_related("container").get(pk=place.run)
    ended: list[bool] = []
    error_code = do_part(lambda: ended.append(advance(run, actor=ACTOR, now=now)), name=f"run {run.number}", raising=raising)
    if error_code:
        runs.give_up(run, error_code=error_code, actor=ACTOR, now=now)
    return _behind(place, run, now=now) if error_code or ended[0] else place


@dataclass(frozen=True, slots=True)
class UnderWay:
    """A night that has not ended: its job, and the run that it is at (None: between two)."""

    job: int
    run: int | None

    @property
    def text(self) -> str:
        at = f", at run {self.run}" if self.run else ""
        return f"The night's work is under way as job {self.job}{at}."


def under_way() -> UnderWay | None:
    """Return the night that waits or runs now; a second one does not begin beside it."""
    job = Job.objects.live().filter(kind=KIND).first()
    return under_way_as(job) if job else None


def under_way_as(job: Job) -> UnderWay:
    return UnderWay(job.pk, Place.read(job.cursor).run)


def may_evict() -> bool:
    return bool(configuration.value("retention_enabled")) and not configuration.value("multi_tenancy_enabled")


def _open_next(place: Place, *, now: datetime, raising: tuple[type[Exception], ...]) -> Place | None:
    """Open the run of the next container that is due."""
    container = due().filter(id__gt=place.after).order_by("id").first()
    if container is None:
        return None
    opened: list[Run | None] = []
    error_code = do_part(lambda: opened.append(_open(container, now=now)), name=f"container {container.pk}", raising=raising)
    if error_code:
        failed = planning.open_run(container, housekeeping.NO_POLICY, now=now, trigger=Trigger.NIGHTLY, actor=ACTOR)
        runs.give_up(failed, error_code=error_code, actor=ACTOR, now=now)
    run = opened[0] if opened else None
    return replace(place, after=container.pk) if run is None else replace(place, run=run.number)


def due() -> ContainerQuerySet:
    """Return the containers that have a policy in force, get the default one now, or lose working memories without one."""
    wanted = Q(policy_state=PolicyState.SET)
    if defaults.default_policy():
        wanted |= Q(policy_state=PolicyState.NEVER_SET)
    elif configuration.value("working_memory_ttl_days") > 0:
        wanted |= Q(policy_state=PolicyState.NEVER_SET, sessions_enabled=False)
    return Container.objects.filter(wanted)


def _open(container: Container, *, now: datetime) -> Run | None:
    """Open a run under the policy in force, or under the defaults, which are given now. None: somebody changes it this very moment."""
    had_none = container.policy_state == PolicyState.NEVER_SET
    stamped = defaults.stamp(container, actor=ACTOR, now=now)
    container.refresh_from_db()
    version = policies.published(container)
    if version is None and housekeeping.acts_without_a_policy(container):
        return _begun(container, housekeeping.NO_POLICY_DIGEST) or planning.open_run(
            container, housekeeping.NO_POLICY, now=now, trigger=Trigger.NIGHTLY, actor=ACTOR
        )
    if version is None or (had_none and stamped is None):
        return None
    policy = policies.readable(version)
    if policy:
        housekeeping.start_clock(container, policy, now=now)
    return _begun(container, version.digest) or planning.open_version(version, now=now, trigger=Trigger.NIGHTLY, actor=ACTOR)


def _begun(container: Container, digest: str) -> Run | None:
    """Return the run that a night opened whose worker died before it could say so."""
    return Run.objects.filter(container=container, trigger=Trigger.NIGHTLY, state=RunState.PLANNING, policy_digest=digest).first()


def _behind(place: Place, run: Run, *, now: datetime) -> Place:
    """Go on to the next container, after a pause if this one lost something, or at once if it failed."""
    run.refresh_from_db()
    pauses = run.removed and run.state != RunState.FAILED
    pause = timedelta(seconds=configuration.value("retention_throttle_seconds"))
    return replace(
        place,
        after=run.container_id,
        run=None,
        pause_until=(now + pause).isoformat() if pauses else None,
        done=place.done + 1,
    )


def _pause(place: Place, *, now: datetime) -> Place:
    left = (datetime.fromisoformat(place.pause_until or "") - now).total_seconds()
    if left <= 0:
        return replace(place, pause_until=None)
    time.sleep(min(left, LONGEST_NAP))
    return place if left > LONGEST_NAP else replace(place, pause_until=None)


def wind_up(place: Place, *, now: datetime) -> Place | None:
    """Drop some of what has had its day, past recalls last. None: nothing is left of it."""
    if not prune(now=now):
        return place
    reached = recalls.prune(now=now, after=place.recalls)
    return None if reached is None else replace(place, recalls=reached)


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
    over = Archived.objects.filter(expires_at__lt=now, held=False).order_by("expires_at", "id")  # held ones would hide what is behind them
    by_container: defaultdict[UUID, list[int]] = defaultdict(list)
    for key, container in over.values_list("id", "container__uid")[:COPIES_AT_ONCE]:
        by_container[container].append(key)
    return not sum([_remove_copies(container, keys, now=now) for container, keys in by_container.items()])


@transaction.atomic
def _remove_copies(container: UUID, keys: list[int], *, now: datetime) -> int:
    gone = removal.remove_archived(keys)
    if gone:
        log.note(Action.ARCHIVE_EXPIRED, actor=ACTOR, target=f"containers/{container}", at=now, counts={"copies": gone})
    return gone


def _prune_previews(*, now: datetime) -> bool:
    kept = timedelta(days=configuration.value("preview_keep_days"))
    old = Run.objects.previews().made_before(now - kept) | Run.objects.filter(state=RunState.PLANNING).made_before(now - GIVEN_UP)
    run = old.order_by("number").first()
    if run is None:
        return True
    runs.discard(run, actor=ACTOR, now=now)
    return False
