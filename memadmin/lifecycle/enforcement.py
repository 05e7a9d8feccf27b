"""Carry out a recorded run, batch by batch.

Invariant: only victims that the run names are removed, each once, and only as they were when chosen: `store.removal` asks again
for pins, holds, revision and last access inside the deleting statement. Rows, counters, archive copies, the cursor of the range and the
numbers of the run move in one transaction, so that a killed worker leaves a batch done or not begun.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from django.db import connection, transaction

from memadmin.lifecycle import housekeeping, planning, ranges
from memadmin.lifecycle.exceptions import Stretch, record_kept
from memadmin.lifecycle.models import ItemKind, Run, RunRange, RunState
from memadmin.lifecycle.states import WrongState
from memadmin.lifecycle.warnings import Warned, why_nothing_runs
from memadmin.store import bars, removal
from memadmin.store.removal import ArchiveNote, Chosen, Removed
from retention.victims import Reason

# What is usual for one transaction; `pacing` says what share of it is taken.
AT_ONCE = 5_000
AT_ONCE_ON_SQLITE = 20_000  # rewrites whole pages of every index with each transaction
COPIED = 2_000  # what goes into the archive takes longer
SESSIONS = 500  # each takes its messages along


class Stopped(Exception):
    """Something since the start forbids to go on. `cause` says what."""

    def __init__(self, cause: Warned) -> None:
        super().__init__(cause.text)
        self.cause = cause


class StillChanging(Exception):
    """Somebody changed victims between two looks at them. Try the batch again."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What one batch did, and how far the run is."""

    removed: int
    kept: int
    done: int
    planned: int

    @property
    def is_last(self) -> bool:
        return self.done >= self.planned


def enforce_batch(number: int, *, now: datetime, size: int | None = None, share: float = 1.0, wait: bool = True) -> Batch:
    """Evict the next batch of a running run, all of one type. Several workers may do so at once: each takes a range of its own.

    It is of `size` victims, or of that share of what is usual for their type.
    With `wait` False it does nothing where others hold all ranges. Raises WrongState, also when the run was called off during the
    batch, which then has not been; and Stopped when retention was switched off or the policy replaced since the start.
    """
    run = Run.objects.get(pk=number)
    must_run(run)
    ranges.divide(run)  # not within the batch, which locks users before it locks the run
    return _batch(number, now=now, size=size, share=share, wait=wait)


@transaction.atomic
def _batch(number: int, *, now: datetime, size: int | None, share: float, wait: bool) -> Batch:
    run = Run.objects.select_related("container").get(pk=number)
    must_run(run)
    may_go_on(run)
    part = ranges.claim(run, wait=wait)
    if part is None:
        run.refresh_from_db(fields=["cursor"])
        return Batch(removed=0, kept=0, done=run.cursor, planned=run.planned)
    kind = ItemKind(part.item_kind)
    if kind is ItemKind.WORKING and planning.terms_have_changed(run):
        raise Stopped(Warned("terms_changed", "The rules for working memories have changed since the preview."))
    stretch = Stretch(run, kind, behind=part.cursor, last=min(part.cursor + (size or _share_of(run, kind, share)), part.last))
    removed, kept = _remove(stretch, archive=archive_note(run, now=now))
    RunRange.objects.filter(pk=part.pk).update(cursor=stretch.last)
    count(run, kind, removed, kept=kept)
    return Batch(removed=removed.items, kept=kept, done=run.cursor, planned=run.planned)


def must_run(run: Run) -> None:
    if run.state != RunState.RUNNING:
        raise WrongState(f"Run {run.number} is {run.get_state_display()}.")


def may_go_on(run: Run) -> None:
    blocked = why_nothing_runs(run.container)
    if blocked:
        raise Stopped(blocked)
    if housekeeping.digest_in_force(run.container) != run.policy_digest:
        raise Stopped(Warned("policy_changed", "Another policy was published since the run began."))


def batch_size(run: Run, kind: ItemKind) -> int:
    """Return how many victims of a type one transaction usually takes."""
    if kind is ItemKind.SESSION:
        return SESSIONS
    copied = kind is ItemKind.LONG_TERM and run.container.archive_days is not None
    if copied:
        return COPIED
    return AT_ONCE if connection.vendor == "postgresql" else AT_ONCE_ON_SQLITE


def _share_of(run: Run, kind: ItemKind, share: float) -> int:
    """Of sessions never more than is usual: each takes as many messages along as it likes."""
    return int(batch_size(run, kind) * (min(share, 1.0) if kind is ItemKind.SESSION else share))


def archive_note(run: Run, *, now: datetime) -> ArchiveNote | None:
    """All of a run expires from the archive at one moment. None: this container keeps no copies."""
    days = run.container.archive_days
    if days is None:
        return None
    return ArchiveNote(run_number=run.number, now=now, expires_at=(run.started_at or now) + timedelta(days=days))


def _remove(stretch: Stretch, *, archive: ArchiveNote | None) -> tuple[Removed, int]:
    """Remove the victims of a stretch; return what went and how many were kept.

    Mostly all of them go. Only otherwise is each looked at, before the removal is done again.
    """
    try:
        with transaction.atomic():
            removed = _removed(stretch, archive=archive)
            if removed.items != stretch.length:
                raise StillChanging
            return removed, 0
    except StillChanging:
        kept = record_kept(stretch)
        removed = _removed(stretch, archive=archive)
        if removed.items + kept != stretch.length:
            raise
        return removed, kept


def _removed(stretch: Stretch, *, archive: ArchiveNote | None) -> Removed:
    chosen = chosen_of(stretch)
    if stretch.kind is ItemKind.SESSION:
        return removal.remove_sessions(chosen, archive=archive)
    if stretch.kind is ItemKind.LONG_TERM:
        return removal.remove_long_term(chosen, archive=archive)
    return removal.remove_working(chosen) if stretch.kind is ItemKind.WORKING else removal.remove_history(chosen)


def chosen_of(stretch: Stretch) -> Chosen:
    """Return the victims of a stretch, but those of users who are being erased: their erasure knows what it has to find where."""
    first_reason = " ".join(f"WHEN reasons & {reason.bit} <> 0 THEN '{reason}'" for reason in Reason)
    erased = bars.being_erased()
    but = f" AND subject_id NOT IN ({erased})" if erased else ""
    return Chosen(
        f"SELECT item_id AS id, subject_id, revision, last_accessed_at, CASE {first_reason} END AS reason "
        f"FROM lifecycle_runvictim WHERE run_id = {stretch.run.pk} AND seq > {stretch.behind} AND seq <= {stretch.last}{but}"
    )


def count(run: Run, kind: ItemKind, removed: Removed, *, kept: int, **outcome: Mapping[str, int]) -> None:
    """Add the batch to the numbers of the run, which from here to the end of the transaction nobody else changes.

    `outcome` are further numbers by name, which are added up too.
    """
    run.refresh_from_db(from_queryset=Run.objects.select_for_update(of=("self",)))
    must_run(run)
    sums = {name: dict(Counter(run.outcome.get(name, {})) + Counter(numbers)) for name, numbers in outcome.items()}
    run.outcome = {**run.outcome, **sums, kind.memory_type.value: _added(run.outcome.get(kind.memory_type.value, {}), removed)}
    run.removed += removed.items
    run.kept += kept
    run.cursor = run.removed + run.kept
    run.save(update_fields=["outcome", "removed", "kept", "cursor"])


def _added(before: Mapping[str, int], removed: Removed) -> dict[str, int]:
    return {name: before.get(name, 0) + number for name, number in asdict(removed).items()}
