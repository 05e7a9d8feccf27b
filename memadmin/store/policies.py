"""A container's policy versions: written once, published one at a time, never changed."""

from __future__ import annotations

import json
from datetime import datetime

from django.db import transaction
from django.db.models import F, Max

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.store import configuration
from memadmin.store.models import Container, PolicyState, PolicyStatus, PolicyVersion
from retention.differing import changes
from retention.policy import InvalidPolicy, PolicyPatch, RetentionPolicy, canonical, digest, merge_policy, parse_policy


class RetentionIsOff(Exception):
    """Nothing would carry the policy out."""


class Conflict(Exception):
    """Somebody has published meanwhile; `published` is what stands now (None: opted out or nothing)."""

    def __init__(self, published: PolicyVersion | None) -> None:
        now = f"it is now version {published.number}" if published else "none is in force now, because the container was opted out"
        super().__init__(f"The policy in force has changed meanwhile: {now}.")
        self.published = published


class DraftChanged(Exception):
    """Somebody has edited the draft meanwhile; `draft` is what it says now."""

    def __init__(self, draft: PolicyVersion) -> None:
        super().__init__(f"The draft, version {draft.number}, has been edited meanwhile.")
        self.draft = draft


class NoSuchVersion(Exception):
    """The container has no policy version of this number."""


def published(container: Container) -> PolicyVersion | None:
    """Return the version in force, or None."""
    return PolicyVersion.objects.filter(container=container, status=PolicyStatus.PUBLISHED).first()


def number_in_force(container: Container) -> int | None:
    """Return the number of the version in force; None: there is none."""
    version = published(container)
    return version.number if version else None


def current(container: Container) -> RetentionPolicy | None:
    """Return the policy in force; None if it was never set, the container opted out, or it cannot be read: no run carries that one out."""
    return readable(published(container))


def parse(version: PolicyVersion) -> RetentionPolicy:
    """Return the policy that a version holds."""
    return parse_policy(json.loads(version.document))


def readable(version: PolicyVersion | None) -> RetentionPolicy | None:
    """Like `parse`, for showing: None without a version, and for one that the rules of today do not read."""
    try:
        return parse(version) if version else None
    except (InvalidPolicy, json.JSONDecodeError):
        return None


def means(version: PolicyVersion | None, policy: RetentionPolicy) -> bool:
    """Whether a version has the same limits as the policy: one that is left out and one that is null are the same here, not in a digest."""
    own = readable(version)
    return own is not None and not changes(own, policy)


@transaction.atomic
def save_draft(
    container: Container, policy: RetentionPolicy, *, actor: str, now: datetime, note: str = "", copied_from: PolicyVersion | None = None
) -> PolicyVersion:
    """Keep a policy as a draft, made over what is in force. A draft of the same content that is there already is returned as it is."""
    lock(container)
    same = PolicyVersion.objects.filter(container=container, status=PolicyStatus.DRAFT, digest=digest(policy)).first()
    if same:
        return same
    version = _add(container, policy, actor=actor, now=now, note=note, base=number_in_force(container), copied_from=copied_from)
    log.append(Action.POLICY_DRAFTED, actor=actor, target=target_of(container), at=now, counts={"version": version.number})
    return version


@transaction.atomic
def publish(container: Container, policy: RetentionPolicy, *, actor: str, now: datetime, base: int | None, note: str = "") -> PolicyVersion:
    """Put a policy in force as a new version.

    `base` is the number of the published version that the author saw (None: there was none).
    Raises Conflict if another one is published by now, and RetentionIsOff while retention is off.
    """
    may_publish(container, base=base)
    _replace(container, base=base)
    version = _add(container, policy, actor=actor, now=now, note=note, base=base, status=PolicyStatus.PUBLISHED)
    _in_force(container, version, actor=actor, now=now, base=base)
    return version


@transaction.atomic
def publish_draft(
    container: Container, number: int, *, actor: str, now: datetime, base: int | None, seen: str | None = None
) -> PolicyVersion:
    """Put a draft in force as the version that it is. `seen` is the digest of the content that the publisher saw.

    Raises NoSuchVersion when no draft has this number, DraftChanged when it is another content by now, else as `publish`.
    """
    lock(container)
    draft = PolicyVersion.objects.filter(container=container, number=number, status=PolicyStatus.DRAFT).first()
    if draft is None:
        raise NoSuchVersion(f"There is no draft of version {number}: it may have been published, scheduled or dropped meanwhile.")
    may_publish(container, base=base)
    if seen is not None and seen != draft.digest:
        raise DraftChanged(draft)
    return put_in_force(container, draft, actor=actor, publisher=actor, now=now, base=base)


def put_in_force(
    container: Container, version: PolicyVersion, *, actor: str, publisher: str, now: datetime, base: int | None
) -> PolicyVersion:
    """Put a stored version in force instead of the version `base`. `publisher` is who decided it; call it with the container locked."""
    _replace(container, base=base)
    values = {"status": PolicyStatus.PUBLISHED, "published_by": publisher, "published_at": now, "publish_at": None, "base": base}
    PolicyVersion.objects.filter(pk=version.pk).update(**values)
    version.refresh_from_db()
    _in_force(container, version, actor=actor, now=now, base=base)
    return version


def may_publish(container: Container, *, base: int | None) -> None:
    """Raise RetentionIsOff or Conflict where publishing over the version `base` would."""
    if not configuration.value("retention_enabled"):
        raise RetentionIsOff("Retention is off, so nothing would carry this policy out. An administrator can turn it on under Settings.")
    check_base(container, base=base)


def check_base(container: Container, *, base: int | None) -> PolicyVersion | None:
    """Return the version in force if it is the one that the author saw, else raise Conflict."""
    standing = published(container)
    if (standing.number if standing else None) != base:
        raise Conflict(standing)
    return standing


@transaction.atomic
def amend(container: Container, patch: PolicyPatch, *, actor: str, now: datetime, note: str = "") -> PolicyVersion | None:
    """Lay a patch over whatever is in force, and publish the result if it differs. Returns what is in force then. Raises RetentionIsOff."""
    lock(container)
    standing = published(container)
    before = parse(standing) if standing else None
    after = merge_policy(before, patch)
    if after is None or after == before:
        return standing
    return publish(container, after, actor=actor, now=now, base=standing.number if standing else None, note=note)


@transaction.atomic
def roll_back(container: Container, number: int, *, actor: str, now: datetime, base: int | None) -> PolicyVersion:
    """Publish the content of an earlier version again, as a new version. Raises NoSuchVersion besides what `publish` raises."""
    earlier = PolicyVersion.objects.filter(container=container, number=number).first()
    if earlier is None:
        raise NoSuchVersion(f"There is no version {number}.")
    version = publish(container, parse(earlier), actor=actor, now=now, base=base, note=f"Back to version {number}")
    log.append(
        Action.POLICY_ROLLED_BACK, actor=actor, target=target_of(container), at=now, counts={"version": version.number, "to": number}
    )
    return version


@transaction.atomic
def opt_out(container: Container, *, actor: str, now: datetime, base: int | None) -> None:
    """End every automatic eviction in this container. Allowed while retention is off. Raises Conflict."""
    _replace(container, base=base)
    _set_state(container, PolicyState.OPTED_OUT, now=now)
    log.append(Action.POLICY_OPTED_OUT, actor=actor, target=target_of(container), at=now, counts={"base": base or 0})


def _in_force(container: Container, version: PolicyVersion, *, actor: str, now: datetime, base: int | None) -> None:
    _set_state(container, PolicyState.SET, now=now)
    log.append(
        Action.POLICY_PUBLISHED,
        actor=actor,
        target=target_of(container),
        at=now,
        counts={"version": version.number, "base": base or 0},
        payload={"digest": version.digest, "note": version.note},
    )


def lock(container: Container) -> None:
    """Let others who change the container's policy wait until this transaction is over."""
    Container.objects.select_for_update().get(pk=container.pk)


def _replace(container: Container, *, base: int | None) -> None:
    """Take the published version out of force if it is the one that the author saw."""
    lock(container)
    if standing := check_base(container, base=base):
        standing.status = PolicyStatus.SUPERSEDED
        standing.save(update_fields=["status"])


def _add(
    container: Container,
    policy: RetentionPolicy,
    *,
    actor: str,
    now: datetime,
    note: str,
    base: int | None,
    status: PolicyStatus = PolicyStatus.DRAFT,
    copied_from: PolicyVersion | None = None,
) -> PolicyVersion:
    last = PolicyVersion.objects.filter(container=container).aggregate(last=Max("number"))["last"] or 0
    is_published = status == PolicyStatus.PUBLISHED
    return PolicyVersion.objects.create(
        container=container,
        number=last + 1,
        document=canonical(policy),
        digest=digest(policy),
        status=status,
        note=note,
        author=actor,
        created_at=now,
        base=base,
        copied_from=copied_from,
        published_by=actor if is_published else "",
        published_at=now if is_published else None,
    )


def _set_state(container: Container, state: PolicyState, *, now: datetime) -> None:
    Container.objects.filter(pk=container.pk).update(policy_state=state, last_updated_at=now, revision=F("revision") + 1)
    container.refresh_from_db()


def target_of(container: Container) -> str:
    """Return what the log calls the container."""
    return f"containers/{container.uid}"
