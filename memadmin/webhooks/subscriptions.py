"""The verbs on subscriptions. A new one hears of what happens from now on."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.audit.models import AuditHead, Stream
from memadmin.outbound import addresses
from memadmin.store.models import Container
from memadmin.webhooks.models import Delivery, Event, State, Subscription


class BadSubscription(ValueError):
    """The subscription cannot be made as described; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionSpec:
    """What to tell whom. `containers` None: all, now and later."""

    url: str
    events: Sequence[str]
    containers: Sequence[Container] | None


@transaction.atomic
def subscribe(spec: SubscriptionSpec, *, actor: str, now: datetime) -> tuple[Subscription, str]:
    """Store a subscription and return it with the secret that its receiver checks signatures with. Raises BadSubscription."""
    _check(spec)
    secret = f"whsec_{secrets.token_urlsafe(32)}"
    subscription = Subscription.objects.create(
        url=spec.url,
        secret=secret,
        events=list(dict.fromkeys(spec.events)),
        all_containers=spec.containers is None,
        created_by=actor,
        created_at=now,
        told_to=_head(),
    )
    subscription.containers.set(spec.containers or ())
    _log(Action.WEBHOOK_CREATED, subscription, actor=actor, now=now)
    return subscription, secret


@transaction.atomic
def unsubscribe(subscription: Subscription, *, actor: str, now: datetime) -> None:
    """End a subscription, and what is on its way to it. Ending it twice does nothing."""
    deleted, _ = Subscription.objects.filter(pk=subscription.pk).delete()
    if deleted:
        _log(Action.WEBHOOK_DELETED, subscription, actor=actor, now=now)


@transaction.atomic
def switch(subscription: Subscription, *, enabled: bool, actor: str, now: datetime) -> None:
    """Pause a subscription or let it go on where it stopped."""
    if Subscription.objects.filter(pk=subscription.pk, enabled=not enabled).update(enabled=enabled):
        _log(Action.WEBHOOK_RESUMED if enabled else Action.WEBHOOK_PAUSED, subscription, actor=actor, now=now)
    subscription.refresh_from_db()


def within(containers: QuerySet[Container] | None) -> QuerySet[Subscription]:
    """Return the subscriptions to these containers and no others; None: all there are, those to all containers too."""
    rows = Subscription.objects.prefetch_related("containers")
    if containers is None:
        return rows
    others = Container.objects.exclude(pk__in=containers)
    return rows.filter(all_containers=False, containers__in=containers).exclude(containers__in=others).distinct()


def summarised(rows: QuerySet[Subscription]) -> QuerySet[Subscription]:
    """Add what became of the messages: `pending`, `failed`, `last_delivered_at`, and `last_state`, `last_code`, `last_status` of the newest
    that was tried.
    """
    of_one = Delivery.objects.filter(subscription=OuterRef("pk")).order_by("-id")
    tried = of_one.filter(attempts__gt=0)
    counted = of_one.order_by().values("subscription").annotate(number=Count("pk")).values("number")
    return rows.annotate(
        pending=Coalesce(Subquery(counted.filter(state=State.PENDING)), 0),
        failed=Coalesce(Subquery(counted.filter(state=State.FAILED)), 0),
        last_delivered_at=Subquery(of_one.filter(state=State.DELIVERED).values("ended_at")[:1]),
        last_state=Subquery(tried.values("state")[:1]),
        last_code=Subquery(tried.values("error_code")[:1]),
        last_status=Subquery(tried.values("status")[:1]),
    )


def _check(spec: SubscriptionSpec) -> None:
    try:
        addresses.check(spec.url)
    except addresses.BadAddress as refused:
        raise BadSubscription(str(refused)) from None
    unknown = [event for event in spec.events if event not in Event.values]
    if unknown or not spec.events:
        raise BadSubscription(f"Choose at least one of the events {', '.join(Event.values)}.")


def _head() -> int:
    head = AuditHead.objects.filter(stream=Stream.GOVERNANCE).first()
    return head.seq if head else 0


def _log(action: Action, subscription: Subscription, *, actor: str, now: datetime) -> None:
    log.append(action, actor=actor, target=f"webhooks/{subscription.uid}", at=now, payload={"events": subscription.events})
