"""From the audit log to deliveries: the log is written in the transaction of each act, so nothing is told that did not happen, or twice."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction

from memadmin.audit.actions import Action
from memadmin.audit.models import AuditEntry, AuditHead, Outcome, Stream
from memadmin.erasure.models import ErasureRequest
from memadmin.lifecycle.models import ItemKind, Run, RunKept, RunVictim
from memadmin.store.models import Container
from memadmin.webhooks.models import Delivery, Event, Subscription

ENTRIES_AT_ONCE = 100
ITEMS_IN_ONE = 500
PARTS_AT_ONCE = 10
ENDS_OF_RUNS = (Action.RUN_FINISHED, Action.RUN_FAILED, Action.RUN_CANCELLED)
TOLD = (Action.POLICY_PUBLISHED, Action.ERASURE_FOUND_AGAIN, Action.ERASURE_ALARM, Action.AUDIT_VERIFIED, *ENDS_OF_RUNS)


def behind() -> list[Subscription]:
    """Return the subscriptions that have entries of the log still to hear of."""
    head = AuditHead.objects.filter(stream=Stream.GOVERNANCE).values("seq")
    return list(Subscription.objects.filter(enabled=True, told_to__lt=head).order_by("id"))


@transaction.atomic
def tell(subscription: Subscription, *, now: datetime) -> int:
    """Make the next deliveries of a subscription, and move its place in the log with them. Return how many were made."""
    locked = Subscription.objects.select_for_update().get(pk=subscription.pk)
    head = AuditHead.objects.get(stream=Stream.GOVERNANCE).seq
    entries = AuditEntry.objects.in_stream(Stream.GOVERNANCE).of_actions(TOLD).filter(seq__gt=locked.told_to, seq__lte=head)
    found = list(entries.order_by("seq")[:ENTRIES_AT_ONCE])
    made: list[Delivery] = []
    for entry in found:
        made += _about(entry, locked, now=now)
        if locked.within:  # a large run goes on next time
            break
        locked.told_to = entry.seq
    else:
        locked.told_to = head if len(found) < ENTRIES_AT_ONCE else locked.told_to
    locked.save(update_fields=["told_to", "within"])
    Delivery.objects.bulk_create(made)
    return len(made)


def _about(entry: AuditEntry, subscription: Subscription, *, now: datetime) -> Iterator[Delivery]:
    if entry.action == Action.ERASURE_FOUND_AGAIN:
        yield from _alarm(entry, subscription, now=now)
        return
    if entry.action == Action.ERASURE_ALARM:
        of_arrivals = entry.target.startswith("arrivals/")
        yield from (_came_again if of_arrivals else _due)(entry, subscription, now=now)
        return
    if entry.action == Action.AUDIT_VERIFIED:
        if entry.outcome == Outcome.FAILED and subscription.all_containers and Event.AUDIT_NOT_WHOLE in subscription.events:
            data = {"found": entry.reason_code, "findings": entry.counts.get("findings", 0)}
            yield _delivery(Event.AUDIT_NOT_WHOLE, data, None, entry, subscription, now=now)
        return
    subject = _subject_of(entry)
    if subject is None or not _listens(subscription, _container_of(subject)):
        return
    for event, data in _events(entry, subject, subscription):
        yield _delivery(event, data, _container_of(subject), entry, subscription, now=now)


def _alarm(entry: AuditEntry, subscription: Subscription, *, now: datetime) -> Iterator[Delivery]:
    """An alarm is of no single container: who listens to all of them hears of it."""
    if subscription.all_containers and Event.ERASURE_FOUND_AGAIN in subscription.events:
        data = {"look": entry.target.partition("/")[2], "kind": entry.reason_code, "found": entry.counts.get("found")}
        yield _delivery(Event.ERASURE_FOUND_AGAIN, data, None, entry, subscription, now=now)


def _due(entry: AuditEntry, subscription: Subscription, *, now: datetime) -> Iterator[Delivery]:
    """Tell of a request by its number alone. It may be about several containers, or about a user whom none knows."""
    request = ErasureRequest.objects.filter(uid=entry.target.partition("/")[2]).first()
    if request is None or Event.ERASURE_DUE not in subscription.events:
        return
    named = {*request.subjects.values_list("container", flat=True), *request.items.values_list("container", flat=True)}
    containers = list(Container.objects.filter(pk__in=[key for key in named if key is not None]).order_by("pk"))
    heard = [each for each in containers if _listens(subscription, each)]
    if not heard and not subscription.all_containers:
        return
    data = {"request": request.number, "kind": request.kind, "due_on": request.due_on.isoformat(), **entry.counts}
    yield _delivery(Event.ERASURE_DUE, data, heard[0] if heard else None, entry, subscription, now=now)


def _came_again(entry: AuditEntry, subscription: Subscription, *, now: datetime) -> Iterator[Delivery]:
    """Tell how many users and items came again, of all containers together: who listens to all of them hears of it."""
    if subscription.all_containers and Event.ERASURE_CAME_AGAIN in subscription.events:
        data = {"what": entry.reason_code, **entry.counts}
        yield _delivery(Event.ERASURE_CAME_AGAIN, data, None, entry, subscription, now=now)


def _subject_of(entry: AuditEntry) -> Run | Container | None:
    _, _, name = entry.target.partition("/")
    if entry.action == Action.POLICY_PUBLISHED:
        return Container.objects.filter(uid=name).first()
    return Run.objects.filter(pk=name).select_related("container").first()


def _container_of(subject: Run | Container) -> Container:
    return subject.container if isinstance(subject, Run) else subject


def _listens(subscription: Subscription, container: Container) -> bool:
    return subscription.all_containers or subscription.containers.filter(pk=container.pk).exists()


def _events(entry: AuditEntry, subject: Run | Container, subscription: Subscription) -> Iterator[tuple[Event, dict[str, Any]]]:
    """Yield what the entry means for this subscription. Of a run's victims come some at a time: `within` says where to go on."""
    if isinstance(subject, Container):
        if Event.POLICY_PUBLISHED in subscription.events:
            yield Event.POLICY_PUBLISHED, {"version": entry.counts.get("version")}
        return
    if subject.started_at is None:
        return
    if Event.RUN_FINISHED in subscription.events and not subscription.within:
        yield Event.RUN_FINISHED, {"run": subject.number, "state": subject.state, "evicted": subject.removed, "kept": subject.kept}
    if Event.MEMORY_EVICTED in subscription.events:
        yield from _evictions(subject, subscription)


def _evictions(run: Run, subscription: Subscription) -> Iterator[tuple[Event, dict[str, Any]]]:
    for _ in range(PARTS_AT_ONCE):
        if subscription.within >= run.planned:
            break
        last = min(subscription.within + ITEMS_IN_ONE, run.planned)
        items = _items(run, first=subscription.within + 1, last=last)
        subscription.within = last
        if items:
            yield Event.MEMORY_EVICTED, {"run": run.number, "items": items}
    if subscription.within >= run.planned:
        subscription.within = 0


def _items(run: Run, *, first: int, last: int) -> Sequence[dict[str, str]]:
    kept = set(RunKept.objects.filter(run=run, seq__gte=first, seq__lte=last).values_list("seq", flat=True))
    victims = RunVictim.objects.of_run(run).filter(seq__gte=first, seq__lte=last).dealt_with().in_order()
    return [
        {"type": ItemKind(victim.item_kind).memory_type.value, "id": str(victim.item_uid), "reason": victim.reason.value}
        for victim in victims
        if victim.seq not in kept
    ]


def _delivery(
    event: Event, data: dict[str, Any], container: Container | None, entry: AuditEntry, subscription: Subscription, *, now: datetime
) -> Delivery:
    uid = uuid.uuid4()
    body = {
        "id": str(uid),
        "event": event.value,
        "at": entry.at.isoformat(),
        "container": str(container.uid) if container else None,
        "data": data,
    }
    text = json.dumps(body, separators=(",", ":"))
    return Delivery(uid=uid, subscription=subscription, event=event, body=text, created_at=now, due_at=now)
