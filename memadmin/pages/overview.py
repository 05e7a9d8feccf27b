"""The first page: how much there is, whether retention runs, and what needs a person."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from memadmin.access.actors import names_of
from memadmin.access.models import Person
from memadmin.access.rights import Right
from memadmin.access.visibility import visible_containers, visible_subjects
from memadmin.jobs import schedules
from memadmin.lifecycle import lost
from memadmin.lifecycle.models import Run, RunState
from memadmin.pages.decorators import may
from memadmin.pages.htmx import PersonRequest, render_page
from memadmin.pages.matters import matters_of
from memadmin.pages.seconding import waiting_for
from memadmin.pages.standing import NIGHTLY
from memadmin.store import configuration
from memadmin.store.models.subjects import COUNTERS

RUNS_SHOWN = 8
CONTAINERS_SHOWN = 8


@require_safe
@may("container.view")
def overview(request: PersonRequest) -> HttpResponse:
    now = timezone.now()
    context: dict[str, Any] = {"now": now, "figures": _figures(request.user), "matters": matters_of(request.user, now=now)}
    if request.user.may(Right.MEMORY_VIEW):
        context["at_risk"] = visible_containers(request.user).standing().by_name()[:CONTAINERS_SHOWN]
    if request.user.may(Right.RUN_VIEW):
        runs = Run.objects.of_containers(visible_containers(request.user)).exclude(state=RunState.DISCARDED)
        context["runs"] = runs.select_related("container", "policy_version").newest_first()[:RUNS_SHOWN]
        context["waiting"] = waiting_for(request.user, now=now)
        context["names"] = names_of(run.actor for run in context["runs"])
    if request.user.may(Right.MEMORY_VIEW):
        context["lost"] = lost.exist(list(visible_containers(request.user).values_list("pk", flat=True)))
    context["schedule"] = schedules.get(NIGHTLY, now=now)
    context["settings"] = configuration.values()
    return render_page(request, "overview/overview.html", "overview/_body.html", context)


def _figures(person: Person) -> list[tuple[str, int]]:
    subjects = visible_subjects(person)
    sums = subjects.totals(COUNTERS)
    return [
        ("Containers", visible_containers(person).count()),
        ("Users", subjects.attributed().count()),
        ("Long-term memories", sums["long_term"]),
        ("Sessions", sums["sessions"]),
        ("Messages", sums["messages"]),
        ("Pinned", sums["pinned_long_term"] + sums["pinned_sessions"]),
        ("In the archive", sums["archived"]),
    ]
