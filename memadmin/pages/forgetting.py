"""What evictions cost: how many there were day by day, what people noticed, and the forgot-something rate of each policy version."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from memadmin.access.visibility import visible_containers, visible_feedback
from memadmin.lifecycle.forgetting import Day, by_day, by_version
from memadmin.pages.charts import Chart, stacked
from memadmin.pages.decorators import may
from memadmin.pages.htmx import PersonRequest, render_page
from memadmin.store.models import FeedbackKind, FeedbackState

DAYS = 30


@require_safe
@may("run.view")
def overview_forgetting(request: PersonRequest) -> HttpResponse:
    now, containers = timezone.now(), visible_containers(request.user)
    days = by_day(containers, now=now, days=DAYS)
    context: dict[str, Any] = {
        "days": days,
        "evictions": _evictions(days),
        "noticed": _noticed(days),
        "rates": by_version(containers),
        "open": visible_feedback(request.user).filter(state=FeedbackState.OPEN).count(),
        "now": now,
    }
    return render_page(request, "overview/forgetting.html", "overview/_forgetting.html", context)


def _evictions(days: Sequence[Day]) -> Chart:
    return stacked([(f"{day.on:%d %b %Y}: {day.evicted:,} evicted", (("goes", day.evicted),)) for day in days])


def _noticed(days: Sequence[Day]) -> Chart:
    columns = []
    for day in days:
        forgot, wrong = (day.noticed.get(kind, 0) for kind in (FeedbackKind.FORGOT, FeedbackKind.WRONG))
        columns.append((f"{day.on:%d %b %Y}: {forgot:,} forgot, {wrong:,} wrong", (("forgot", forgot), ("wrong", wrong))))
    return stacked(columns)
