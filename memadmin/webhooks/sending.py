"""One delivery: sent once, and how it went. See `memadmin.outbound`."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.db.models import F, QuerySet

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.outbound.posting import WAITS, Message, post
from memadmin.webhooks.models import Delivery, State, Subscription

ACTOR = "job/webhooks"


def due(now: datetime) -> list[Delivery]:
    """Return what is to be sent now, the longest waiting first."""
    pending = Delivery.objects.filter(state=State.PENDING, due_at__lte=now, subscription__enabled=True)
    return list(pending.select_related("subscription").order_by("due_at", "id")[:20])


def send(delivery: Delivery, *, now: datetime) -> None:
    """Try once, and write down how it went."""
    told = delivery.subscription
    body = delivery.body.encode()
    status, error_code = post(Message(url=told.url, secret=told.secret, event=delivery.event, uid=str(delivery.uid), body=body), now=now)
    note(delivery, status=status, error_code=error_code, now=now)


def note(delivery: Delivery, *, status: int | None, error_code: str, now: datetime) -> None:
    """Write down how an attempt went: it was delivered, is due again later, or is given up."""
    if status is not None and 200 <= status < 300:
        _end(delivery, State.DELIVERED, now=now, status=status)
    elif delivery.attempts < len(WAITS):
        later = now + WAITS[delivery.attempts]
        _pending(delivery).update(attempts=F("attempts") + 1, due_at=later, status=status, error_code=error_code)
    else:
        _give_up(delivery, delivery.subscription, now=now, status=status, error_code=error_code)


@transaction.atomic
def _give_up(delivery: Delivery, subscription: Subscription, *, now: datetime, status: int | None, error_code: str) -> None:
    """An address that did not answer for two days is paused: what happens from now on waits in the log for somebody to mend it."""
    _end(delivery, State.FAILED, now=now, status=status, error_code=error_code)
    if Subscription.objects.filter(pk=subscription.pk, enabled=True).update(enabled=False):
        log.append(Action.WEBHOOK_PAUSED, actor=ACTOR, target=f"webhooks/{subscription.uid}", at=now, reason_code="no_answer")


def _end(delivery: Delivery, state: State, *, now: datetime, status: int | None, error_code: str = "") -> None:
    _pending(delivery).update(state=state, attempts=F("attempts") + 1, ended_at=now, status=status, error_code=error_code)


def _pending(delivery: Delivery) -> QuerySet[Delivery]:
    return Delivery.objects.filter(pk=delivery.pk, state=State.PENDING)
