"""The first page: how much there is, whether retention runs, and what needs a person."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

from django.db.models import Count, Max, Q
from django.http import HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from memadmin.access.actors import names_of
from memadmin.access.models import Person
from memadmin.access.rights import Right
from memadmin.access.visibility import visible_containers, visible_subjects
from memadmin.audit.findings import COULD_NOT_RUN
from memadmin.erasure import alarms, backups, notices, rechecking
from memadmin.erasure.intake import today
from memadmin.erasure.models import Kind, RequestItem, WrongLeft
from memadmin.erasure.visibility import visible_requests
from memadmin.jobs import heartbeat, schedules
from memadmin.jobs.models import Job, JobState, Schedule
from memadmin.lifecycle import lost, second_person, verifying
from memadmin.lifecycle.models import Run, RunState
from memadmin.lifecycle.querysets import RunQuerySet
from memadmin.pages.audit_chain import late
from memadmin.pages.decorators import may
from memadmin.pages.htmx import PersonRequest, render_page
from memadmin.pages.seconding import waiting_for
from memadmin.pages.standing import NIGHTLY
from memadmin.pages.summaries import unsummarised
from memadmin.pages.text import shown_id
from memadmin.store import configuration
from memadmin.store.models import PolicyState, PolicyStatus, PolicyVersion
from memadmin.store.models.subjects import COUNTERS

RUNS_SHOWN = 8
SCHEDULED_SHOWN = 5
CONTAINERS_SHOWN = 8
WORKER_SILENT = timedelta(minutes=3)


@require_safe
@may("container.view")
def overview(request: PersonRequest) -> HttpResponse:
    now = timezone.now()
    context: dict[str, Any] = {"now": now, "figures": _figures(request.user), "matters": _matters(request.user, now=now)}
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


def _matters(person: Person, *, now: datetime) -> list[tuple[str, str]]:
    """Return what needs somebody's eye, as (sentence, tone)."""
    found = _about_the_work(now=now)
    if person.may(Right.ERASURE_VIEW):
        found += _requests(person, day=today(now))
    states = visible_containers(person).aggregate(
        never=Count("id", filter=Q(policy_state=PolicyState.NEVER_SET)), out=Count("id", filter=Q(policy_state=PolicyState.OPTED_OUT))
    )
    if states["never"]:
        found.append((f"Without a retention policy: {states['never']:,} of the containers. Nothing is evicted there.", "info"))
    if person.may(Right.POLICY_VIEW):
        found += _scheduled(person, now=now)
    unwatched = second_person.without_one(visible_containers(person)) if person.may(Right.RUN_VIEW) else 0
    if unwatched:
        found.append(
            (f"Fewer than two people may approve large runs in {unwatched:,} of the containers: there they go without one.", "info")
        )
    kept = _past_limit(person)
    if kept:
        found.append((f"Past a limit and kept by a pin or a hold, by the latest run or preview of each container: {kept:,}.", "info"))
    if person.may(Right.ERASURE_VIEW):
        found = [*_about_erasures(person, now=now), *found]
    stayed = unsummarised(_latest_ended(person))
    if stayed:
        found.append((f"No summary could be made, so they stayed and their users are over a cap, by the latest runs: {stayed:,}.", "warn"))
    if person.may(Right.AUDIT_VIEW):
        found += _of_the_log(now=now)
    failed = Job.objects.filter(state=JobState.FAILED, finished_at__gt=now - timedelta(days=7)).count()
    if failed:
        found.append((f"Jobs that failed in the last 7 days: {failed:,}.", "problem"))
    return found


def _about_the_work(*, now: datetime) -> list[tuple[str, str]]:
    """Return what keeps the night's work from being done."""
    settings = configuration.values()
    found: list[tuple[str, str]] = []
    if not settings["retention_enabled"]:
        found.append(("Retention is off: nothing is evicted. Previews work.", "warn"))
    if settings["multi_tenancy_enabled"]:
        found.append(("Multi-tenancy is on: no retention run does anything.", "warn"))
    age = heartbeat.age(now)
    if age is None or age > WORKER_SILENT:
        found.append(("The worker gives no sign of life: scheduled and queued work waits. Start it with python3 manage.py up.", "problem"))
    if not Schedule.objects.filter(kind=NIGHTLY, enabled=True).exists() and Schedule.objects.filter(kind=NIGHTLY).exists():
        found.append(("The nightly run is switched off.", "warn"))
    return found


def _about_erasures(person: Person, *, now: datetime) -> list[tuple[str, str]]:
    """Return what after erasures needs somebody's eye: the alarms first."""
    found_again, failed = rechecking.alarms(), notices.failed(visible_requests(person)).count()
    wrong = visible_requests(person).filter(pk__in=WrongLeft.objects.values("correction__request")).count()
    past = backups.past_their_day(now).count()
    said = [
        (found_again, f"Something that was erased was found again: {found_again:,}. Look at Erasure, Found again, now.", "problem"),
        (failed, f"Recipients who could not be told of an erasure: {failed:,}. The page of the request takes what you decide.", "problem"),
        (wrong, f"Requests to correct after whose answer the wrong words still stand somewhere: {wrong:,}. Their pages say where.", "warn"),
        (past, f"Backups past their day that nobody has confirmed to be destroyed: {past:,}. Erasures wait for them.", "warn"),
    ]
    stopped = [("All erasures are stopped in the settings.", "warn")] if configuration.value("erasure_paused") else []
    return [*stopped, *((sentence, tone) for number, sentence, tone in said if number)]


def _requests(person: Person, *, day: date) -> list[tuple[str, str]]:
    """Say which requests of people are late or nearly due, and how much is past a hard limit."""
    requests = visible_requests(person)
    late, pressing = alarms.late(requests, day).count(), alarms.pressing(requests, day).count()
    gathered = RequestItem.objects.filter(request__in=requests.open().filter(kind=Kind.STORAGE_LIMIT)).count()
    said = []
    if late:
        said.append((f"Requests of people past their date: {late:,}. The law counts each day.", "problem"))
    if pressing > late:
        said.append((f"Requests of people due within a week: {pressing - late:,}.", "warn"))
    if gathered:
        said.append((f"Past a container's hard limit, pinned or not, and waiting for a reviewer: {gathered:,}.", "info"))
    return said


def _of_the_log(*, now: datetime) -> list[tuple[str, str]]:
    last = verifying.latest()
    said = [(words, "warn") for words in late(last, now=now)]
    if last is not None and last.exit_code == COULD_NOT_RUN:
        said.append(("The audit log could not be verified. The page Audit says more.", "warn"))
    elif last is not None and last.exit_code:
        said.append(("The audit log is not whole: something in it was changed or removed. The page Audit says what.", "problem"))
    return said


def _scheduled(person: Person, *, now: datetime) -> list[tuple[str, str]]:
    """Say which policies come into force by themselves, and which could not when their time had come."""
    seen = PolicyVersion.objects.filter(container__in=visible_containers(person)).select_related("container")
    coming = seen.filter(status=PolicyStatus.SCHEDULED).order_by("publish_at", "pk")[:SCHEDULED_SHOWN]
    refused = seen.filter(status=PolicyStatus.DRAFT, refused_at__gt=now - timedelta(days=7)).order_by("refused_at", "pk")[:SCHEDULED_SHOWN]
    said = [(f"Policy {_named(version)} comes into force on {version.publish_at:%d %b %Y, %H:%M} UTC.", "info") for version in coming]
    said += [(f"Policy {_named(version)} could not come into force at its time. Its page says why.", "problem") for version in refused]
    return said


def _named(version: PolicyVersion) -> str:
    return f"version {version.number} of {shown_id(version.container.name)}"


def _latest_ended(person: Person) -> list[Run]:
    """Return the latest run of each container that has come to its end."""
    ended = Run.objects.of_containers(visible_containers(person)).ended()
    return list(_newest_of_each(ended).only("outcome"))


def _past_limit(person: Person) -> int:
    """How much is kept by a pin or a hold alone: an old pin that nobody remembers shows up here."""
    seen = Run.objects.of_containers(visible_containers(person)).exclude(state__in=[RunState.PLANNING, RunState.DISCARDED])
    return sum(run.summary.exempt_past_limit for run in _newest_of_each(seen).only("totals"))


def _newest_of_each(runs: RunQuerySet) -> RunQuerySet:
    """Return the latest of these runs of each container."""
    newest = runs.values("container").annotate(newest=Max("number")).values("newest")
    return Run.objects.filter(number__in=newest)
