"""The job of this app: tell what has happened, send what is due, drop what was told long ago."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial

from memadmin.jobs import queue
from memadmin.jobs.parts import do_part
from memadmin.jobs.registry import JobView, Step, every_minute, job
from memadmin.webhooks import sending, telling
from memadmin.webhooks.models import Delivery, State

WEBHOOKS = "webhooks"
KEPT = timedelta(days=30)
DROPPED_AT_ONCE = 1_000


@every_minute
def start_webhooks(*, now: datetime) -> None:
    """Queue the job when there is something to tell or to send."""
    if telling.behind() or sending.due(now):
        queue.enqueue(WEBHOOKS, requested_by=sending.ACTOR, now=now)


@job(WEBHOOKS)
def tell_and_send(job: JobView, *, now: datetime) -> Step:
    """Some new deliveries, or one that is due. An address that breaks something keeps no other one waiting."""
    made = 0
    for subscription in telling.behind():
        made += telling.tell(subscription, now=now)
    deliveries = sending.due(now)
    for delivery in deliveries[:3]:  # each may take all of its time, and a step is short
        error_code = do_part(partial(sending.send, delivery, now=now), name=f"delivery {delivery.pk}")
        if error_code:  # it must not stay due, or the job would never end
            sending.note(delivery, status=None, error_code=error_code, now=now)
    if made or deliveries or telling.behind():
        return Step(finished=False, done=job.done + min(len(deliveries), 3))
    _drop_old(now)
    return Step(finished=True, done=job.done)


def _drop_old(now: datetime) -> None:
    old = Delivery.objects.exclude(state=State.PENDING).filter(ended_at__lt=now - KEPT).values_list("pk", flat=True)
    Delivery.objects.filter(pk__in=list(old[:DROPPED_AT_ONCE])).delete()
