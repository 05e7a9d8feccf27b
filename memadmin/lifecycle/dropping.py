"""Drop the lists of victims of runs that ended long ago: they would outgrow the memories themselves.

The run keeps its numbers, and how many victims it passed over and why; which ones they were is not known any more.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import connection, transaction
from django.db.models import Count

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.lifecycle import runs
from memadmin.lifecycle.models import Run, RunCluster, RunKept, RunRange, RunVictim
from memadmin.store import configuration

AT_ONCE = 20_000


def drop_some(*, actor: str, now: datetime) -> bool:
    """Drop a batch of the oldest list that has had its time, and return True when there is none left."""
    kept = timedelta(days=configuration.value("victims_keep_days"))
    run = Run.objects.ended().finished_before(now - kept).with_a_list().order_by("number").first()
    if run is None:
        return True
    _drop(run, actor=actor, now=now)
    return False


@transaction.atomic
def _drop(run: Run, *, actor: str, now: datetime) -> None:
    run = Run.objects.select_for_update(of=("self",)).select_related("container").get(pk=run.pk)
    if run.list_dropped_at:  # by somebody else this very moment
        return
    victims = RunVictim.objects.of_run(run)
    last = list(victims.order_by("seq").values_list("seq", flat=True)[:AT_ONCE])
    if last:
        RunVictim.objects.filter(run=run, seq__lte=last[-1])._raw_delete(connection.alias)
    if not victims.exists():
        _note(run, actor=actor, now=now)


def _note(run: Run, *, actor: str, now: datetime) -> None:
    """Write on the run when its list went, with the sums of what it passed over."""
    met = dict(RunKept.objects.filter(run=run).values_list("why").annotate(Count("seq")))
    RunKept.objects.filter(run=run)._raw_delete(connection.alias)
    RunRange.objects.filter(run=run)._raw_delete(connection.alias)
    RunCluster.objects.filter(run=run)._raw_delete(connection.alias)
    run.outcome = {**run.outcome, "met": met, "list_dropped_at": now.isoformat()}
    run.save(update_fields=["outcome"])
    payload = {"container": str(run.container.uid)}
    log.append(Action.RUN_LIST_DROPPED, actor=actor, target=runs.target_of(run), at=now, counts={"victims": run.planned}, payload=payload)
