"""Requests whose time is nearly or wholly gone, told once a day: in the log, and from there to whoever subscribed.

What came again after an erasure is told with them: set aside, or let in and marked since yesterday.

Alarms count to the earlier date, which no weekend moves. A request whose time stands while somebody proves who they are is not late.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta

from django.db import transaction

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.erasure import came_again
from memadmin.erasure.intake import target_of, today
from memadmin.erasure.models import ErasureRequest
from memadmin.erasure.querysets import RequestQuerySet
from memadmin.jobs.registry import JobView, Step

ALARM = "erasure.alarm"
ACTOR = f"job/{ALARM}"
SOON = timedelta(days=7)
A_DAY = timedelta(days=1)
AT_ONCE = 100


@transaction.atomic
def step(job: JobView, *, now: datetime) -> Step:
    """Some requests, in the order of their making."""
    if job.cursor is None:
        _sound_arrivals(now=now)
    day, after = today(now), job.cursor or 0
    requests = list(pressing(ErasureRequest.objects.all(), day).filter(pk__gt=after).order_by("pk")[:AT_ONCE])
    for request in requests:
        left = (request.due_on - day).days
        code = "late" if left < 0 else "due_soon"
        counts = {"days_left": max(left, 0), "days_late": max(-left, 0)}
        log.append(Action.ERASURE_ALARM, actor=ACTOR, target=target_of(request), at=now, reason_code=code, counts=counts)
    last = requests[-1].pk if requests else after
    return Step(finished=not requests, cursor=last, done=job.done + len(requests))


def _sound_arrivals(*, now: datetime) -> None:
    """Name what waits set aside, which is dropped in time, and who came again since yesterday and was let in."""
    aside, marked = came_again.set_aside(None), came_again.marked(None, since=now - A_DAY)
    for code, came in (("set_aside", aside), ("let_in_marked", marked)):
        if came.items or came.users:
            counts = {"users": came.users, "items": came.items}
            log.append(Action.ERASURE_ALARM, actor=ACTOR, target=f"arrivals/{code}", at=now, reason_code=code, counts=counts)


def pressing(requests: RequestQuerySet, day: date) -> RequestQuerySet:
    """Return the open requests that are late, or due within a week."""
    return requests.due_by(day + SOON).filter(paused_on=None, drill=None)


def late(requests: RequestQuerySet, day: date) -> RequestQuerySet:
    return requests.due_by(day - timedelta(days=1)).filter(paused_on=None, drill=None)
