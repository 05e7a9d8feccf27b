"""Where jobs and their engine could hold a person's data. Jobs carry names of ours, the engine only numbers; both are looked through."""

from __future__ import annotations

from typing import Any

from django_q.models import OrmQ, Schedule, Task
from django_q.signing import BadSignature, SignedPackage

from memadmin.jobs.models import Job
from memadmin.store.finding import raw_delete, searched
from memadmin.store.locations import ItemClass, Location, register, waive

E = ItemClass.COPY
WORD = "one of our own fixed words or numbers"


def opened(payload: str) -> str:
    """Return what a waiting entry of django-q2 carries, as text; one that cannot be opened, as it is."""
    try:
        return repr(SignedPackage.loads(payload))
    except (BadSignature, TypeError, ValueError):
        return payload


def shown(value: Any) -> str:
    return repr(value)


register(
    Location(
        name="jobs.jobs",
        title="Jobs that wait, run or have run",
        order=10,
        table="jobs_job",
        columns={"target": E, "cursor": E},
        waived={
            "uid": "a random name of ours, which nothing outside knows",
            "kind": WORD,
            "error_code": "the name of a class",
            "leased_by": "the name of a process",
            "requested_by": "an opaque name of an account, job or token",
        },
        item_class=E,
        records=True,
        find=searched("jobs.jobs", Job, ("target", "cursor"), at="created_at", records=True),
        delete=raw_delete(Job),
    ),
    Location(
        name="jobs.queue",
        title="Entries that wait in the queue",
        order=11,
        table="django_q_ormq",
        columns={"payload": E},
        waived={"key": WORD},
        item_class=E,
        records=True,
        find=searched("jobs.queue", OrmQ, ("payload",), read={"payload": opened}, records=True),
        pack={"payload": SignedPackage.dumps},
        delete=raw_delete(OrmQ),
    ),
    Location(
        name="jobs.results",
        title="Results of what the queue has run",
        order=12,
        table="django_q_task",
        columns=dict.fromkeys(("name", "args", "kwargs", "result"), E),
        waived=dict.fromkeys(("id", "func", "hook", "group", "cluster"), WORD),
        item_class=E,
        records=True,
        find=searched(
            "jobs.results",
            Task,
            ("name", "args", "kwargs", "result"),
            read=dict.fromkeys(("args", "kwargs", "result"), shown),
            records=True,
        ),
        delete=raw_delete(Task),
    ),
    Location(
        name="jobs.engine_schedules",
        title="Times of the queue's engine",
        order=13,
        table="django_q_schedule",
        columns=dict.fromkeys(("name", "args", "kwargs"), E),
        waived=dict.fromkeys(("func", "hook", "task", "cron", "intended_date_kwarg", "cluster"), WORD),
        item_class=E,
        records=True,
        find=searched("jobs.engine_schedules", Schedule, ("name", "args", "kwargs"), records=True),
        delete=raw_delete(Schedule),
    ),
)

waive("jobs_schedule", WORD)
waive("jobs_heartbeat", WORD)
