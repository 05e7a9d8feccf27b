"""Who caused a run, as people: whoever is among them cannot be its second person, by whatever account, session or token they come."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from memadmin.access.humans import human_of
from memadmin.access.models import ApiToken
from memadmin.audit.actions import Action
from memadmin.audit.models import AuditEntry, Stream
from memadmin.jobs.models import Job
from memadmin.lifecycle.models import Run, RunVictim, Trigger
from memadmin.store import policies
from memadmin.store.models import Setting

NIGHT = "nightly"  # the kind of its job
PERSON, TOKEN = "person/", "token/"
SETTINGS = (
    "retention_enabled",
    "multi_tenancy_enabled",
    "orphan_ttl_days",
    "working_memory_ttl_days",
    "default_session_retention_days",
    "default_session_max_count",
    "default_long_term_max_count",
    "default_history_max_count",
    "approval_percent",
    "approval_items",
)
UNPINNED = (Action.MEMORY_UNPINNED, Action.SESSION_UNPINNED)
LOOKED_AT = 20_000  # entries of the log


def people_behind(run: Run) -> frozenset[str]:
    """Return the people who caused the run, as far as that is known, as `human_of` names them.

    Who had it planned, by running the night's work by hand too, and started; who wrote, edited, scheduled or published its policy; and, of
    what was done since a run of the container last began: who changed a setting that lets runs take more, and who unpinned one of its
    victims.
    """
    since, in_force = _last_begun(run), policies.published(run.container)
    actors = {run.actor, run.started_by, _called_the_night(run)}
    versions = {run.policy_version, in_force if in_force and in_force.digest == run.policy_digest else None}
    for version in filter(None, versions):
        actors |= {version.author, version.changed_by, version.scheduled_by, version.published_by}
    actors |= set(_changed_settings(since)) | set(_unpinned(run, since))
    return frozenset(human_of(person) for actor in actors if (person := person_behind(actor)))


def person_behind(actor: str) -> str:
    """Return the person that an actor is: a token is whoever made it. "": nobody known."""
    if actor.startswith(PERSON):
        return actor
    if not actor.startswith(TOKEN):
        return ""
    try:
        token = ApiToken.objects.filter(uid=UUID(actor.removeprefix(TOKEN))).first()
    except ValueError:
        return ""
    return token.created_by if token and token.created_by.startswith(PERSON) else ""


def _called_the_night(run: Run) -> str:
    """Return who had the night's work done that planned the run: a person who did not wait for the night, or the schedule."""
    if run.trigger != Trigger.NIGHTLY:
        return ""
    nights = Job.objects.filter(kind=NIGHT, created_at__lte=run.created_at).order_by("-created_at", "-pk")
    return nights.values_list("requested_by", flat=True).first() or ""


def _last_begun(run: Run) -> datetime | None:
    begun = Run.objects.of_container(run.container).filter(number__lt=run.number, started_at__isnull=False)
    return begun.newest_first().values_list("started_at", flat=True).first()


def _changed_settings(since: datetime | None) -> Iterable[str]:
    rows = Setting.objects.filter(key__in=SETTINGS)
    return (rows.filter(changed_at__gt=since) if since else rows).values_list("changed_by", flat=True)


def _unpinned(run: Run, since: datetime | None) -> Iterable[str]:
    entries = AuditEntry.objects.in_stream(Stream.GOVERNANCE).of_actions(UNPINNED)
    entries = entries.not_before(since) if since else entries
    by_item = {target.rpartition("/")[2]: actor for actor, target in entries.values_list("actor", "target").order_by("-seq")[:LOOKED_AT]}
    uids = [UUID(uid) for uid in by_item]
    for first in range(0, len(uids), 500):
        named = RunVictim.objects.of_run(run).filter(item_uid__in=uids[first : first + 500])
        yield from {by_item[str(uid)] for uid in named.values_list("item_uid", flat=True)}
