"""What on the first page needs a person's eye: a sentence each, and where to see or mend it, as far as this person may go there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.db.models import Count, Max, Q
from django.urls import reverse

from memadmin.access.models import Person
from memadmin.access.rights import Right
from memadmin.access.visibility import visible_containers, within
from memadmin.audit.findings import COULD_NOT_RUN
from memadmin.erasure import alarms, backups, came_again, notices, rechecking, telling
from memadmin.erasure.intake import today
from memadmin.erasure.models import ErasureRequest, Kind, RequestItem, WrongLeft
from memadmin.erasure.visibility import visible_requests
from memadmin.jobs import heartbeat
from memadmin.jobs.models import Job, Schedule
from memadmin.lifecycle import second_person, verifying
from memadmin.lifecycle.models import Run, RunState
from memadmin.lifecycle.pinned import PinState
from memadmin.lifecycle.querysets import RunQuerySet
from memadmin.pages.audit_chain import late
from memadmin.pages.standing import NIGHTLY
from memadmin.pages.summaries import unsummarised
from memadmin.pages.text import shown_id
from memadmin.store import configuration, quarantine
from memadmin.store.models import PolicyState, PolicyStatus, PolicyVersion

SHOWN = 5  # links behind one sentence
WORKER_SILENT = timedelta(minutes=3)
FAILED_WITHIN = timedelta(days=7)
NOT_CARRIED_OUT = (RunState.PLANNING, RunState.READY, RunState.DISCARDED)
NO_POLICY = "no_policy"  # the kind of finding, see pages.findings
RIGHT_OF = {  # a page that a matter leads to -> the right to open it
    "audit-list": Right.AUDIT_VIEW,
    "backup-list": Right.ERASURE_VIEW,
    "erasure-detail": Right.ERASURE_VIEW,
    "erasure-list": Right.ERASURE_VIEW,
    "marked-list": Right.ERASURE_VIEW,
    "notice-list": Right.ERASURE_VIEW,
    "person-list": Right.PERSON_MANAGE,
    "pin-list": Right.MEMORY_VIEW,
    "policy-findings": Right.POLICY_VIEW,
    "policy-version": Right.POLICY_VIEW,
    "recheck-list": Right.ERASURE_VIEW,
    "returned-list": Right.ERASURE_VIEW,
    "run-detail": Right.RUN_VIEW,
    "run-list": Right.RUN_VIEW,
    "setting-list": Right.SETTING_VIEW,
}


@dataclass(frozen=True, slots=True)
class Way:
    """A link to one of our pages."""

    words: str
    page: str
    args: tuple[object, ...] = ()
    tail: str = ""  # what follows the address: a filter, or the place on the page

    @property
    def address(self) -> str:
        return reverse(f"pages:{self.page}", args=self.args) + self.tail


@dataclass(frozen=True, slots=True)
class Matter:
    """`tone`: info, warn or problem. `ways`: the links of this person."""

    sentence: str
    tone: str
    ways: tuple[Way, ...]


SETTINGS = Way("Settings", "setting-list")
SCHEDULES = Way("Schedules", "setting-list", tail="#schedules")
LOG = Way("Audit", "audit-list")
LATE = Way("Show them", "erasure-list", tail="?show=late")


def matters_of(person: Person, *, now: datetime) -> list[Matter]:
    """Return what needs somebody's eye: alarms about erasures first."""
    found = _after_erasures(person, now=now) if person.may(Right.ERASURE_VIEW) else []
    found += _about_the_work(now=now)
    found += _requests(person, day=today(now)) if person.may(Right.ERASURE_VIEW) else []
    found += _about_policies(person, now=now)
    found += _about_runs(person)
    found += _of_the_log(now=now) if person.may(Right.AUDIT_VIEW) else []
    failed = Job.objects.failed_since(now - FAILED_WITHIN).count()
    if failed:
        found.append(_matter(f"Jobs that failed in the last 7 days: {failed:,}.", "problem", Way("Which", "setting-list", tail="#failed")))
    return [Matter(each.sentence, each.tone, tuple(way for way in each.ways if person.may(RIGHT_OF[way.page]))) for each in found]


def _matter(sentence: str, tone: str, *ways: Way) -> Matter:
    return Matter(sentence, tone, ways)


def _about_the_work(*, now: datetime) -> list[Matter]:
    """Return what keeps the night's work from being done."""
    settings = configuration.values()
    found: list[Matter] = []
    if not settings["retention_enabled"]:
        found.append(_matter("Retention is off: nothing is evicted. Previews work.", "warn", SETTINGS))
    if settings["multi_tenancy_enabled"]:
        found.append(_matter("Multi-tenancy is on: no retention run does anything.", "warn", SETTINGS))
    age = heartbeat.age(now)
    if age is None or age > WORKER_SILENT:
        silent = "The worker gives no sign of life: scheduled and queued work waits. Start it with python3 manage.py up."
        found.append(_matter(silent, "problem", SCHEDULES))
    if not Schedule.objects.filter(kind=NIGHTLY, enabled=True).exists() and Schedule.objects.filter(kind=NIGHTLY).exists():
        found.append(_matter("The nightly run is switched off.", "warn", SCHEDULES))
    return found


def _after_erasures(person: Person, *, now: datetime) -> list[Matter]:
    """Return what after erasures needs somebody's eye: the alarms first."""
    requests = visible_requests(person)
    failed, wrong = notices.failed(requests), requests.filter(pk__in=WrongLeft.objects.values("correction__request"))
    untold = requests.filter(pk__in=failed.values("request"))
    said = [
        (rechecking.alarms(), "Something that was erased was found again: {:,}.", "problem", [Way("Look at it now", "recheck-list")]),
        (
            within(person, quarantine.waiting()).count(),
            "Set aside, since it was erased and came again: {:,}. What nobody decides on is dropped in time.",
            "warn",
            [Way("Decide", "returned-list")],
        ),
        (
            came_again.marked(person).users,
            "Users who came again after an erasure, were let in and marked: {:,}.",
            "info",
            [Way("Show whom", "marked-list")],
        ),
        (failed.count(), "Recipients who could not be told of an erasure: {:,}.", "problem", _each(untold, "notice-list")),
        (
            wrong.count(),
            "Requests to correct after whose answer the wrong words still stand somewhere: {:,}.",
            "warn",
            _each(wrong, "erasure-detail"),
        ),
        (
            backups.past_their_day(now).count(),
            "Backups past their day that nobody has confirmed to be destroyed: {:,}. Erasures wait for them.",
            "warn",
            [Way("Backups", "backup-list")],
        ),
    ]
    stopped = (
        [_matter("All erasures are stopped.", "warn", Way("Lift the stop", "erasure-list"), SETTINGS)]
        if configuration.value("erasure_paused")
        else []
    )
    return [*stopped, *(_matter(sentence.format(number), tone, *ways) for number, sentence, tone, ways in said if number)]


def _each(requests: Iterable[ErasureRequest], page: str) -> list[Way]:
    first = list(requests.order_by("number")[:SHOWN])  # type: ignore[attr-defined]
    return [Way(f"Request {request.number}", page, (request.uid,)) for request in first]


def _requests(person: Person, *, day: date) -> list[Matter]:
    """Say which requests of people are late or nearly due, and how much is past a hard limit."""
    requests = visible_requests(person)
    late, pressing = alarms.late(requests, day).count(), alarms.pressing(requests, day).count()
    gathered = RequestItem.objects.filter(request__in=requests.open().filter(kind=Kind.STORAGE_LIMIT)).count()
    said = []
    if late:
        said.append(_matter(f"Requests of people past their date: {late:,}. The law counts each day.", "problem", LATE))
    if pressing > late:
        said.append(_matter(f"Requests of people due within a week: {pressing - late:,}.", "warn", LATE))
    untold = telling.to_be_told(requests)
    if untold.exists():
        tone = "problem" if untold.filter(due_on__lt=day).exists() else "warn"
        way = Way("Show them", "erasure-list", tail="?show=untold")
        said.append(_matter(f"Erasures that are complete, while nobody has noted that the person was told: {untold.count():,}.", tone, way))
    if gathered:
        way = Way("Show them", "erasure-list", tail=f"?kind={Kind.STORAGE_LIMIT}")
        said.append(_matter(f"Past a container's hard limit, pinned or not, and waiting for a reviewer: {gathered:,}.", "info", way))
    return said


def _of_the_log(*, now: datetime) -> list[Matter]:
    last = verifying.latest()
    said = [_matter(words, "warn", LOG) for words in late(last, now=now)]
    if last is not None and last.exit_code == COULD_NOT_RUN:
        said.append(_matter("The audit log could not be verified.", "warn", LOG))
    elif last is not None and last.exit_code:
        said.append(_matter("The audit log is not whole: something in it was changed or removed.", "problem", LOG))
    return said


def _about_policies(person: Person, *, now: datetime) -> list[Matter]:
    """Say where there is none, which come into force by themselves, and which could not when their time had come."""
    never = visible_containers(person).aggregate(never=Count("id", filter=Q(policy_state=PolicyState.NEVER_SET)))["never"]
    way = Way("Which", "policy-findings", tail=f"?kind={NO_POLICY}")
    said = [_matter(f"Without a retention policy: {never:,} of the containers. Nothing is evicted there.", "info", way)] if never else []
    if not person.may(Right.POLICY_VIEW):
        return said
    seen = PolicyVersion.objects.filter(container__in=visible_containers(person)).select_related("container")
    coming = seen.filter(status=PolicyStatus.SCHEDULED).order_by("publish_at", "pk")[:SHOWN]
    refused = seen.filter(status=PolicyStatus.DRAFT, refused_at__gt=now - timedelta(days=7)).order_by("refused_at", "pk")[:SHOWN]
    said += [
        _matter(f"Policy {_named(each)} comes into force on {each.publish_at:%d %b %Y, %H:%M} UTC.", "info", _its_page(each))
        for each in coming
    ]
    said += [
        _matter(f"Policy {_named(each)} could not come into force at its time.", "problem", _its_page(each, "Why")) for each in refused
    ]
    return said


def _named(version: PolicyVersion) -> str:
    return f"version {version.number} of {shown_id(version.container.name)}"


def _its_page(version: PolicyVersion, words: str = "Read it") -> Way:
    return Way(words, "policy-version", (version.container.uid, version.number))


def _about_runs(person: Person) -> list[Matter]:
    """Say what large runs lack, what only a pin keeps, and what stayed since it could not be summed up."""
    said = []
    unwatched = second_person.without_one(visible_containers(person)) if person.may(Right.RUN_VIEW) else 0
    if unwatched:
        alone = f"Fewer than two people may approve large runs in {unwatched:,} of the containers: there they go without one."
        said.append(_matter(alone, "info", Way("People", "person-list")))
    seen = Run.objects.of_containers(visible_containers(person))
    failed = [
        run for run in _newest_of_each(seen.exclude(state__in=NOT_CARRIED_OUT)).only("number", "state") if run.state == RunState.FAILED
    ]
    if failed:
        words = f"The last run failed in {len(failed):,} of the containers. What is past a limit there stays until one succeeds."
        said.append(_matter(words, "problem", *_runs(failed)))
    judged = _newest_of_each(seen.exclude(state__in=[RunState.PLANNING, RunState.DISCARDED]).exclude(state=RunState.FAILED, planned=0))
    judged = judged.only("number", "totals")
    kept = [run for run in judged if run.summary.exempt_past_limit]
    if kept:
        number = sum(run.summary.exempt_past_limit for run in kept)
        words = f"Past a limit and kept by a pin or a hold, by the latest run or preview of each container: {number:,}."
        said.append(_matter(words, "info", *_runs(kept), Way("Pins past a limit", "pin-list", tail=f"?state={PinState.PAST_LIMIT}")))
    stayed = [run for run in _newest_of_each(seen.ended()).only("number", "outcome") if unsummarised([run])]
    if stayed:
        number = unsummarised(stayed)
        words = f"No summary could be made, so they stayed and their users are over a cap, by the latest runs: {number:,}."
        said.append(_matter(words, "warn", *_runs(stayed)))
    return said


def _runs(runs: Iterable[Run]) -> list[Way]:
    """Lead to the newest of the runs."""
    newest = sorted((run.number for run in runs), reverse=True)[:SHOWN]
    return [Way(f"Run {number}", "run-detail", (number,)) for number in newest]


def _newest_of_each(runs: RunQuerySet) -> RunQuerySet:
    """Return the latest of these runs of each container."""
    newest = runs.values("container").annotate(newest=Max("number")).values("newest")
    return Run.objects.filter(number__in=newest)
