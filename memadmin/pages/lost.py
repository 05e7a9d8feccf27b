"""Working memories without a session: by container, one by one, and whether those that name nobody may go."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import BigIntegerField, F
from django.db.models.functions import Cast
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from memadmin.access.actors import actor_of
from memadmin.access.rights import Right
from memadmin.access.visibility import get_container, visible_containers
from memadmin.jobs import schedules
from memadmin.lifecycle import housekeeping, lost, planning
from memadmin.lifecycle.lost import Group, Outlook
from memadmin.lifecycle.models import Run
from memadmin.lifecycle.second_person import foresee
from memadmin.lifecycle.totals import Totals
from memadmin.pages.confirming import ask, is_sure
from memadmin.pages.decorators import may
from memadmin.pages.htmx import PersonRequest, notice, problem, render_page
from memadmin.pages.lists import in_order, paging, slice_of
from memadmin.pages.messages import beginning_of
from memadmin.pages.standing import NIGHTLY, with_which_run
from memadmin.pages.victims import BEGINNING
from memadmin.pages.wording import working_memories
from memadmin.store import policies
from memadmin.store.consenting import AsItIs, let_unattributed_go
from memadmin.store.models import Container, WorkingMemory
from retention.rules import MemoryType
from retention.victims import Reason


@require_safe
@may("memory.view")
def working_list(request: PersonRequest) -> HttpResponse:
    """One row for each container and group."""
    now, containers = timezone.now(), list(visible_containers(request.user).by_name())
    found = lost.tallies([container.pk for container in containers])
    rows = [
        {"container": container, "group": group, "tally": tally, "outlook": lost.outlook(container, group, now=now)}
        for container in containers
        for group in Group
        if (tally := found.get(container.pk, {}).get(group))
    ]
    return render_page(request, "working/list.html", "working/_table.html", {"rows": rows, "now": now})


@require_safe
@may("memory.view")
def working_detail(request: PersonRequest, uid: UUID) -> HttpResponse:
    """The rows of one group of one container, oldest first as they were stored."""
    container, now = get_container(request.user, uid), timezone.now()
    found = lost.tallies([container.pk]).get(container.pk, {})
    group = _chosen(request, list(found))
    outlook, may_read = lost.outlook(container, group, now=now), request.user.may(Right.MEMORY_READ_TEXT)
    rows = lost.rows_of(container, group)
    page = slice_of(request, rows.annotate(key=Cast(F("id"), BigIntegerField())), key="key")
    shown = in_order(rows.select_related("subject"), page)
    context = {
        "container": container,
        "groups": [(each, found[each].rows) for each in Group if each in found],
        "group": group,
        "outlook": outlook,
        "rows": [_row(memory, outlook, may_read=may_read, now=now) for memory in shown],
        "with_which_run": with_which_run(Run.objects.waiting().filter(container=container).values_list("number", flat=True).first()),
        "may_read": may_read,
        "may_agree": request.user.may(Right.POLICY_PUBLISH),
        "asks": Group.UNATTRIBUTED in found or container.removes_unattributed,
        "paging": paging(request, page, total=found[group].rows if group in found else 0, noun="working memories"),
        "now": now,
    }
    return render_page(request, "working/detail.html", "working/_rows.html", context)


@require_POST
@may("policy.publish")
def working_agree(request: PersonRequest, uid: UUID) -> HttpResponse:
    """Ask first, with the numbers; then let runs delete what names nobody, or keep it from now on."""
    container, agreed = get_container(request.user, uid), request.POST.get("agreed") == "yes"
    if agreed and not is_sure(request):
        return _confirm(request, container, now=timezone.now())
    try:
        let_unattributed_go(container, agreed=agreed, actor=actor_of(request.user), now=timezone.now())
    except AsItIs as error:
        problem(request, str(error))
    else:
        notice(request, "Runs may delete what names nobody from now on." if agreed else "Runs keep what names nobody from now on.")
    return redirect(_address(container))


def _chosen(request: PersonRequest, there: list[Group]) -> Group:
    """Return the group that the address names, else the first that has rows."""
    wanted = request.GET.get("group", "")
    if wanted in Group.values:
        return Group(wanted)
    return next((group for group in Group if group in there), Group.ORPHANS)


def _row(memory: WorkingMemory, outlook: Outlook, *, may_read: bool, now: datetime) -> dict[str, Any]:
    goes_from = outlook.goes_from(memory)
    return {
        "memory": memory,
        "text": beginning_of(memory, BEGINNING) if may_read else None,
        "due": goes_from is not None and goes_from < now,
        "goes_from": goes_from,
    }


def _confirm(request: PersonRequest, container: Container, *, now: datetime) -> HttpResponse:
    tally = lost.tallies([container.pk]).get(container.pk, {}).get(Group.UNATTRIBUTED)
    totals = _if_agreed(container, now=now)
    at = schedules.next_run(NIGHTLY, now=now)
    foreseen = foresee(container, totals)
    named = working_memories(tally.rows if tally else 0)
    would = totals.of(MemoryType.WORKING).by_reason.get(Reason.UNATTRIBUTED, 0)
    confirm = {
        "action": request.path,
        "verb": "Let runs delete them",
        "consequence": f"Of {named} that name no session, user or agent, {would:,} would go at a run now.",
        "warnings": [foreseen.text] if foreseen else [],
        "keeps": [
            "They have no copy in the archive: what a run deletes is gone for good.",
            f"The next run is at {at:%d %b %Y %H:%M} UTC." if at else "The nightly run is switched off at present.",
            "Each preview and each run of this container names them one by one.",
            "You can take this back at any time. What has gone by then does not come back.",
        ],
        "cancel": _address(container),
        "hidden": {"agreed": "yes", "sure": "yes"},
        "danger": True,
    }
    return ask(request, confirm, heading=f"Delete what names nobody in {container.name}")


def _if_agreed(container: Container, *, now: datetime) -> Totals:
    """Return what a run would take now if the container had agreed."""
    trial = Container.objects.get(pk=container.pk)
    trial.removes_unattributed = True  # never saved
    return planning.estimate(trial, policies.current(container) or housekeeping.NO_POLICY, now=now).totals


def _address(container: Container) -> str:
    return f"{reverse('pages:working-detail', args=[container.uid])}?group={Group.UNATTRIBUTED}"
