"""Drafts of policies: edited, dropped, given a time at which they come into force, and brought to other containers."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F, QuerySet

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.audit.models import Outcome
from memadmin.store.models import Container, PolicyStatus, PolicyVersion
from memadmin.store.policies import (
    Conflict,
    DraftChanged,
    NoSuchVersion,
    RetentionIsOff,
    check_base,
    lock,
    may_publish,
    number_in_force,
    parse,
    put_in_force,
    save_draft,
    target_of,
)
from retention.policy import RetentionPolicy, canonical, digest

FURTHEST = timedelta(days=366)
RETENTION_OFF, BASE_CHANGED = "retention_off", "base_changed"  # why a scheduled version was not published


class BadTime(ValueError):
    """A policy cannot come into force at this time; the message says which times it can."""


class AlreadyScheduled(Exception):
    """Another version of the container has its time already: it would change what this one was made over. `number` is its number."""

    def __init__(self, number: int) -> None:
        super().__init__(f"Version {number} is scheduled already. Cancel it first, or wait until it is in force.")
        self.number = number


@transaction.atomic
def edit(
    container: Container, number: int, policy: RetentionPolicy, *, revision: int, actor: str, now: datetime, note: str = ""
) -> PolicyVersion:
    """Give a draft another content, and make it one over what is in force now. `revision` is that of the content that was seen.

    Raises NoSuchVersion when no draft has this number, and DraftChanged when somebody else has edited it meanwhile.
    """
    lock(container)
    draft = _draft(container, number)
    if draft.revision != revision:
        raise DraftChanged(draft)
    if (draft.digest, draft.note) == (digest(policy), note):
        return draft
    content = {"document": canonical(policy), "digest": digest(policy), "note": note, "base": number_in_force(container)}
    _at(draft).update(**content, revision=F("revision") + 1, changed_by=actor, changed_at=now, refused_at=None, refused_because="")
    draft.refresh_from_db()
    _log(Action.POLICY_EDITED, container, draft, actor=actor, now=now)
    return draft


@transaction.atomic
def drop(container: Container, number: int, *, actor: str, now: datetime) -> None:
    """Drop a draft. Its number does not come back. Raises NoSuchVersion."""
    lock(container)
    draft = _draft(container, number)
    _at(draft).update(status=PolicyStatus.DROPPED, changed_by=actor, changed_at=now)
    _log(Action.POLICY_DROPPED, container, draft, actor=actor, now=now)


@transaction.atomic
def schedule(container: Container, number: int, *, at: datetime, base: int | None, seen: str, actor: str, now: datetime) -> PolicyVersion:
    """Let a draft come into force at a time, over the version `base`. `seen` is the digest of the content that was seen.

    Raises BadTime, NoSuchVersion, DraftChanged, AlreadyScheduled and Conflict. Whether retention is on is asked at its time.
    """
    if not now < at <= now + FURTHEST:
        raise BadTime("A policy comes into force at a time that is still to come, within a year.")
    lock(container)
    draft = _draft(container, number)
    if draft.digest != seen:
        raise DraftChanged(draft)
    check_base(container, base=base)
    if other := scheduled(container):
        raise AlreadyScheduled(other.number)
    _at(draft).update(status=PolicyStatus.SCHEDULED, publish_at=at, scheduled_by=actor, base=base, refused_at=None, refused_because="")
    draft.refresh_from_db()
    _log(Action.POLICY_SCHEDULED, container, draft, actor=actor, now=now, at=at.isoformat())
    return draft


@transaction.atomic
def unschedule(container: Container, number: int, *, actor: str, now: datetime) -> PolicyVersion:
    """Make a scheduled version a draft again, before its time. Raises NoSuchVersion."""
    lock(container)
    version = PolicyVersion.objects.filter(container=container, number=number, status=PolicyStatus.SCHEDULED).first()
    if version is None:
        raise NoSuchVersion(f"Version {number} is not scheduled: its time may have come, or somebody else has cancelled it.")
    _at(version).update(status=PolicyStatus.DRAFT, publish_at=None, scheduled_by="")
    version.refresh_from_db()
    _log(Action.POLICY_UNSCHEDULED, container, version, actor=actor, now=now)
    return version


@transaction.atomic
def publish_due(version_id: int, *, actor: str, now: datetime) -> bool:
    """Publish a scheduled version whose time has come, once; return whether it is in force by this call.

    Where its base is no longer in force, or retention is off, it becomes a draft again that says why.
    """
    container = Container.objects.get(policy_versions=version_id)
    lock(container)
    version = PolicyVersion.objects.filter(pk=version_id, status=PolicyStatus.SCHEDULED, publish_at__lte=now).first()
    if version is None:
        return False
    try:
        may_publish(container, base=version.base)
    except (RetentionIsOff, Conflict) as refusal:
        _refuse(container, version, RETENTION_OFF if isinstance(refusal, RetentionIsOff) else BASE_CHANGED, actor=actor, now=now)
        return False
    put_in_force(container, version, actor=actor, publisher=version.scheduled_by, now=now, base=version.base)
    return True


def due(now: datetime) -> QuerySet[PolicyVersion]:
    """Return the scheduled versions whose time has come, the earliest first."""
    return PolicyVersion.objects.filter(status=PolicyStatus.SCHEDULED, publish_at__lte=now).order_by("publish_at", "pk")


def scheduled(container: Container) -> PolicyVersion | None:
    """Return the version that has its time, or None."""
    return PolicyVersion.objects.filter(container=container, status=PolicyStatus.SCHEDULED).first()


@transaction.atomic
def copy(version: PolicyVersion, containers: Iterable[Container], *, actor: str, now: datetime) -> list[PolicyVersion]:
    """Bring the content of a version to other containers, as a draft of each; return the drafts.

    A container that has a draft of this content already gets no second one. Raises InvalidPolicy when it cannot be read.
    """
    policy, drafts = parse(version), []
    note = f"Copied from {version.container.name[:200]}, version {version.number}"
    for container in sorted(containers, key=lambda each: each.pk):  # one order, so that two who copy cannot wait for each other
        draft = save_draft(container, policy, actor=actor, now=now, note=note, copied_from=version)
        payload = {"source": str(version.container.uid), "digest": version.digest}
        counts = {"version": draft.number, "source_version": version.number}
        log.append(Action.POLICY_COPIED, actor=actor, target=target_of(container), at=now, counts=counts, payload=payload)
        drafts.append(draft)
    return drafts


def _refuse(container: Container, version: PolicyVersion, code: str, *, actor: str, now: datetime) -> None:
    _at(version).update(status=PolicyStatus.DRAFT, publish_at=None, refused_at=now, refused_because=code)
    counts, payload = {"version": version.number}, {"scheduled_by": version.scheduled_by}
    log.append(
        Action.POLICY_NOT_PUBLISHED,
        actor=actor,
        target=target_of(container),
        at=now,
        counts=counts,
        outcome=Outcome.REFUSED,
        reason_code=code,
        payload=payload,
    )


def _draft(container: Container, number: int) -> PolicyVersion:
    draft = PolicyVersion.objects.filter(container=container, number=number, status=PolicyStatus.DRAFT).first()
    if draft is None:
        raise NoSuchVersion(f"There is no draft of version {number}: it may have been published, scheduled or dropped meanwhile.")
    return draft


def _at(version: PolicyVersion) -> QuerySet[PolicyVersion]:
    return PolicyVersion.objects.filter(pk=version.pk)


def _log(action: Action, container: Container, version: PolicyVersion, *, actor: str, now: datetime, **payload: str) -> None:
    counts, body = {"version": version.number, "revision": version.revision}, {"digest": version.digest, **payload}
    log.append(action, actor=actor, target=target_of(container), at=now, counts=counts, payload=body)
