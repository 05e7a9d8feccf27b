"""What keeps a preview from being carried out, each with its reason and what to do."""

from __future__ import annotations

from datetime import datetime, timedelta

from memadmin.lifecycle import housekeeping, planning
from memadmin.lifecycle.models import Run, RunState
from memadmin.lifecycle.warnings import Warned, why_nothing_runs
from memadmin.store import configuration, policies
from memadmin.store.models import PolicyStatus


class CannotStart(Exception):
    """The preview cannot be carried out; the message says why, and what to do."""


class NothingRuns(CannotStart):
    """Retention is off, multi-tenancy is on, or the container has no policy in force."""

    def __init__(self, cause: Warned) -> None:
        super().__init__(cause.text)
        self.cause = cause


class StalePolicy(CannotStart):
    """Another policy is in force than the one that the preview was made under."""


class TermsChanged(CannotStart):
    """Working memories go by other rules now than when the preview was made."""


class TooOld(CannotStart):
    """Too much may have changed since the preview was made."""


class WhatIf(CannotStart):
    """The preview judges as of a moment that had not come."""


class OtherRunLive(CannotStart):
    """Another run of the container waits for a worker or is under way; `number` is its number."""

    def __init__(self, number: int) -> None:
        super().__init__(f"Run {number} of this container is under way. Wait for its end, or call it off.")
        self.number = number


def may_start(run: Run, *, now: datetime) -> None:
    """Raise CannotStart, with the reason, when the preview, or a run that waits for a second person, cannot be carried out now."""
    blocked = why_nothing_runs(run.container)
    if blocked:
        raise NothingRuns(blocked)
    if housekeeping.digest_in_force(run.container) != run.policy_digest:
        published = policies.published(run.container)
        now_in_force = f"version {published.number} is in force now" if published else "none is in force now"
        raise StalePolicy(f"Preview {run.number} was made {_made_under(run, now_in_force)}")
    if run.as_of > run.created_at:
        raise WhatIf(f"Preview {run.number} judges as of a later moment: it shows what would go, and cannot be carried out.")
    if planning.terms_have_changed(run):
        raise TermsChanged(f"Preview {run.number} names working memories by rules that have changed since. Make a new preview.")
    hours = configuration.value("preview_valid_hours")
    if run.state != RunState.WAITING and run.created_at < now - timedelta(hours=hours):
        raise TooOld(f"Preview {run.number} is more than {hours} hours old. Make a new one.")
    live = Run.objects.live().of_container(run.container).values_list("number", flat=True).first()
    if live is not None:
        raise OtherRunLive(live)


def _made_under(run: Run, now_in_force: str) -> str:
    version = run.policy_version
    if version is None:
        if run.is_without_policy:
            return f"without a policy; {now_in_force}. Make a new preview."
        return f"for a policy that is not in force; {now_in_force}. Publish these values, and this preview can be carried out."
    if version.status == PolicyStatus.DROPPED:
        return f"for version {version.number}, a draft that was dropped; {now_in_force}. Make a new preview."
    if version.status not in {PolicyStatus.DRAFT, PolicyStatus.SCHEDULED}:
        return f"under policy version {version.number}; {now_in_force}. Make a new preview."
    if version.digest != run.policy_digest:
        return f"for the draft {version.number} as it was before it was edited; {now_in_force}. Preview the draft again."
    if version.status == PolicyStatus.SCHEDULED:
        return f"for version {version.number}, which has a time to come into force; {now_in_force}. It can be carried out from then on."
    return f"for the draft {version.number}; {now_in_force}. Publish the draft, and this preview can be carried out."
