"""How far an execution is, in words and numbers, for the page, the API and the shell. It names nobody."""

from __future__ import annotations

from dataclasses import dataclass

from memadmin.erasure.execution import readers
from memadmin.erasure.execution.erasing import places_in_order
from memadmin.erasure.execution.steps import EXECUTE, IN_WORDS, PHASES, At
from memadmin.erasure.intake import target_of
from memadmin.erasure.models import ErasureRequest
from memadmin.erasure.verification.looking import OWN_TABLES
from memadmin.erasure.verification.schema import tables
from memadmin.jobs.models import Job, JobState
from memadmin.store import configuration
from memadmin.store.locations import Act

IN_PLAIN = {
    "ledger": "the ledger outside the database is written",
    "fence": "writers are shut out",
    "words": "words are taken out of what belongs to others",
    "rows": "rows are erased, place by place",
    "came": "what came since the search is erased",
    "users": "the users themselves are removed",
    "forget": "the database forgets what was deleted",
    "look": "the whole database is looked through",
    "close": "certificate, and the request's own papers",
    "end": "the database forgets these papers too, and the ledger is told",
}
CAUSES = {
    "LedgerUnusable": "The ledger cannot be written: its disk is full, or it is not where the settings say.",
    "KeysUnusable": "The keys that ids are known by cannot be read: they are not where the settings say.",
    "NotForgotten": "Somebody read in the database for so long that it could not let go of what was erased.",
    "PapersLeft": "A paper of this or another request still names the person.",
    "OperationalError": "The database did not answer, or its disk is full.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """`done` of `total` things, or of tables while it is verified. `place` is the title of the place that it is at, "" elsewhere."""

    phase: str
    step: int
    place: str
    done: int
    total: int
    stopped: bool  # by the emergency stop
    error_code: str
    waiting: str  # for whom the database still keeps what was erased, "" where it waits for nobody

    @property
    def steps(self) -> int:
        return len(PHASES)

    @property
    def in_plain(self) -> str:
        return IN_PLAIN[self.phase]

    @property
    def percent(self) -> int:
        return min(100 * self.done // self.total, 100) if self.total else 0


def progress_of(request: ErasureRequest) -> Progress:
    """Return where the request's last execution is. One that has not begun is at its first step."""
    job = Job.objects.filter(kind=EXECUTE, target=target_of(request)).order_by("-pk").first()
    at = At(**((job.cursor or {}) if job else {}))
    done, total = _looked(at) if at.phase == "look" else _done(request, at)
    return Progress(
        phase=at.phase,
        step=PHASES.index(at.phase) + 1,
        place=_place(request, at),
        done=done,
        total=total,
        stopped=bool(configuration.value("erasure_paused")),
        error_code=request.error_code or (job.error_code if job else ""),
        waiting=_waiting(at, job),
    )


def _waiting(at: At, job: Job | None) -> str:
    """Say for whom the database waits: PostgreSQL tells who reads, SQLite only that the job could not go on."""
    if at.horizon:
        found = readers.readers(at.horizon)
        return readers.in_words(found) if found else ""
    waits = job is not None and job.state == JobState.QUEUED and job.ready_at is not None and not configuration.value("erasure_paused")
    return "Somebody reads in the file of the database." if at.horizon is not None and waits else ""


def _done(request: ErasureRequest, at: At) -> tuple[int, int]:
    manifest = request.manifests.filter(number=request.manifest_number or 0).first()
    return at.done, manifest.items_total if manifest else 0


def _looked(at: At) -> tuple[int, int]:
    known = sum(not table.name.startswith(OWN_TABLES) for table in tables())
    return max((at.look or {}).get("table", 0), 0), known


def _place(request: ErasureRequest, at: At) -> str:
    if at.phase not in ("words", "rows"):
        return ""
    acts = IN_WORDS if at.phase == "words" else (Act.DELETE, Act.WITHHOLD)
    manifest = request.manifests.filter(number=request.manifest_number or 0).first()
    lines = list(manifest.lines.all()) if manifest else []
    places = places_in_order([line.location for line in lines])
    here = places[at.place] if at.place < len(places) else None
    busy = here is not None and any(line.location == here.name and line.act in acts for line in lines)
    return here.title if here is not None and busy else ""
