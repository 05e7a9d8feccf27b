"""What a certificate says. No name, no id from outside, no text of anybody: numbers, times, digests, and words of ours."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from typing import Any

from django.db.models import Count, Max, Q

from memadmin.audit import anchors, checkpoints, ledger
from memadmin.audit.actions import Action
from memadmin.audit.models import AuditEntry, AuditHead, Outcome, Stream
from memadmin.erasure.backups import Horizon
from memadmin.erasure.certificates import merkle
from memadmin.erasure.certificates.checking import SCHEMA
from memadmin.erasure.manifests import HELD
from memadmin.erasure.models import Approval, Certificate, ErasureRequest, Level, Manifest, ManifestItem, Verification
from memadmin.erasure.verification import controls
from memadmin.store import locations
from memadmin.store.locations import Act
from memadmin.store.models import Hold, HoldKind, HoldScope, Subject
from memadmin.version import REVISION, VERSION

PROVING = (
    Action.ERASURE_OPENED,
    Action.ERASURE_SUBMITTED,
    Action.ERASURE_APPROVED,
    Action.ERASURE_CLAIMED,
    Action.ERASURE_EXECUTED,
    Action.ERASURE_RESIDUE_FOUND,
    Action.ERASURE_COMPLETED,
    Action.ERASURE_CERTIFIED,
)
LIMITS = (
    "Backups from before the erasure hold the data until they expire. What is restored from one is erased again before it is used.",
    "PostgreSQL keeps what was erased in its write-ahead log until these files are recycled, and in pages until they are used again. "
    "A copy of its files, other than a dump, may have remnants also when it is made after the erasure.",
    "A paraphrase of what was erased, in the words of others, is not found by a search for names and copied words.",
    "An id of one or two characters is looked for as the owner of data, not inside of texts.",
)
NO_RECEIPT = "No receipt was given out, so nobody can show from this certificate whom it is about."
ONE_PERSON = "Approved by the same person who reviewed: this installation is set to have a single operator."


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceResult:
    """What an execution did in one place.

    `reached` is how clean the place is: L1 for every query, L2 with its indexes and statistics, L3 its pages on disk.
    """

    location: str
    reached: str
    method: str
    erased: int = 0
    redacted: int = 0
    rederived: int = 0
    absent: int = 0
    withheld: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Executed:
    """What the certificate has to be told of the execution; the rest is read from the request's own papers."""

    started_at: datetime | None
    places: Sequence[PlaceResult]
    recipients: dict[str, int]  # by state: how many notices
    horizon: Horizon | None = None  # None: nothing was erased that a backup could bring back
    completed_at: datetime | None = None


def document_of(request: ErasureRequest, level: Level, executed: Executed, *, serial: str, now: datetime) -> dict[str, Any]:
    """Return everything that is signed."""
    manifest = request.manifests.get(number=request.manifest_number) if request.manifest_number else None
    looks = list(request.verifications.order_by("number"))
    commitments = sorted(request.commitments.values_list("value", flat=True))
    approval = request.approvals.filter(voided_at__isnull=True).order_by("pk").last()
    limits = [_of_recipients(sum(executed.recipients.values())), *LIMITS]
    limits += [*([] if commitments else [NO_RECEIPT]), *([ONE_PERSON] if approval and approval.single_operator else [])]
    return {
        "schema": SCHEMA,
        "serial": serial,
        "level": level.value,
        "title": level.label,
        "instance": _instance(),
        "software": {"name": "memadmin", "version": VERSION, "revision": REVISION},
        "request": {name: getattr(request, name) for name in ("number", "kind", "ground", "profile", "channel")},
        "times": _times(request, manifest, approval, executed, looks, now=now),
        "people": _people(request, approval),
        "manifest": _manifest(manifest),
        "earlier_manifests": _earlier(request, manifest),
        "places": _places(executed.places, looks),
        "verification": _verification(looks),
        "withheld": _withheld(manifest),
        "kept": _kept(request, manifest),
        "recipients": dict(executed.recipients),
        "backups": _backups(executed.horizon),
        "limits": limits,
        "subject_commitments": commitments,
        "audit": _audit(request),
        "ledger": _ledger(request),
        "follows": _last_digest(request),
    }


def _of_recipients(number: int) -> str:
    """Say what the erasure does not reach of what others were given."""
    if not number:
        return "No recipient is known here, so nobody was told. A copy that somebody was given all the same is theirs to erase."
    copies, told = (
        ("The copy that 1 recipient was given is", "whether they were told")
        if number == 1
        else (f"The copies that {number:,} recipients were given are", "how many of them were told")
    )
    return f"{copies} theirs to erase; “Recipients and backups” above says {told}."


def _times(
    request: ErasureRequest,
    manifest: Manifest | None,
    approval: Approval | None,
    executed: Executed,
    looks: Sequence[Verification],
    *,
    now: datetime,
) -> dict[str, str]:
    times = {
        "received_at": request.received_at,
        "cutoff_at": manifest.cutoff_at if manifest else None,
        "approved_at": approval.approved_at if approval else None,
        "executed_from": executed.started_at,
        "verified_at": looks[-1].ended_at if looks else None,
        "completed_at": executed.completed_at,
        "issued_at": now,
    }
    return {name: _written(at) for name, at in times.items()}


def _people(request: ErasureRequest, approval: Approval | None) -> dict[str, Any]:
    return {
        "opened_by": request.opened_by,
        "identity": "not verified" if request.identity_level is None else request.get_identity_level_display(),
        "reviewed_by": request.reviewed_by,
        "approved_by": approval.approver if approval else "",
        "four_eyes": bool(approval and not approval.single_operator),
    }


def _manifest(manifest: Manifest | None) -> dict[str, Any]:
    if manifest is None:
        return {}
    root = manifest.root or merkle.root(manifest.items.order_by("item_ref").values_list("item_ref", flat=True).iterator())
    answers = dict(manifest.answers.order_by("answer").values_list("answer").annotate(places=Count("pk")))
    return {"number": manifest.number, "digest": manifest.digest, "items": manifest.items_total, "root": root, "answers": answers}


def _earlier(request: ErasureRequest, manifest: Manifest | None) -> list[dict[str, Any]]:
    """Return the manifests that were carried out before this one, each with the approval that it had of its own."""
    newest = manifest.number if manifest else 0
    earlier = request.manifests.filter(pk__in=request.verifications.values("manifest"), number__lt=newest).order_by("number")
    return [_manifest(each) | _approved(request.approvals.filter(manifest_digest=each.digest, voided_at=None).last()) for each in earlier]


def _approved(approval: Approval | None) -> dict[str, str]:
    return {"approved_by": approval.approver if approval else "", "approved_at": _written(approval.approved_at) if approval else ""}


def _places(results: Sequence[PlaceResult], looks: Sequence[Verification]) -> list[dict[str, Any]]:
    """Every place that was looked at, with what was done there: those with nothing too, since the look has confirmed it."""
    if not looks:
        return []
    planted, blind = controls.planted_by_place(), set(looks[-1].findings.values_list("table", flat=True))
    done = {result.location: result for result in results}
    reached = results[0].reached if results else ""
    found = []
    for location in locations.in_order():
        result = done.get(location.name)
        if result is None and location.name not in planted:
            continue
        said = asdict(result or PlaceResult(location=location.name, reached=reached, method=""))
        seen = {"controls": planted.get(location.name, 0), "controls_seen": 0 if location.name in blind else planted.get(location.name, 0)}
        found.append({"title": location.title, "described_by": location.app, **said, **seen})
    return found


def _verification(looks: Sequence[Verification]) -> dict[str, Any]:
    named = ("number", "outcome", "controls", "controls_seen", "tables", "expected", "found")
    return {"looks": [{name: getattr(look, name) for name in named} | {"findings": look.findings.count()} for look in looks]}


def _backups(horizon: Horizon | None) -> dict[str, Any]:
    """What is known of backups from before: until when they last, and how that is known."""
    if horizon is None:
        return {}
    return {
        "expire_at": _written(horizon.until) or "unknown",
        "known_by": horizon.basis.value,
        "kinds": horizon.kinds,
        "not_yet_destroyed": len(horizon.standing),
        "inventory_checked_at": _written(horizon.checked_at),
    }


def _withheld(manifest: Manifest | None) -> list[dict[str, Any]]:
    if manifest is None:
        return []
    kept = manifest.items.filter(act=Act.WITHHOLD).values("reason_code").annotate(items=Count("pk"), review_on=Max("review_on"))
    return [
        {"reason": row["reason_code"], "items": row["items"], "review_on": day.isoformat() if day else ""}
        for row in kept.order_by("reason_code")
        for day in [row["review_on"] or (_holds_reviewed_on(manifest) if row["reason_code"] == HELD else None)]
    ]


def _kept(request: ErasureRequest, manifest: Manifest | None) -> list[dict[str, Any]]:
    """Return how many things stay with others for which reason. Their rows go with the first certificate; later ones repeat it."""
    before = Certificate.objects.filter(request=request).order_by("-pk").values_list("document", flat=True).first()
    if before is not None:
        told: list[dict[str, Any]] = json.loads(before).get("kept", [])
        return told
    staying = manifest.items.filter(act__in=[Act.KEEP, Act.UNLINK]) if manifest else ManifestItem.objects.none()
    counted = staying.order_by("reason_code").values_list("reason_code").annotate(Count("pk"))
    return [{"reason": reason, "items": items} for reason, items in counted]


def _holds_reviewed_on(manifest: Manifest) -> date | None:
    """Return when somebody looks again at the last of the holds that keep something: their day stands on the hold, not on the item."""
    subjects = manifest.items.filter(act=Act.WITHHOLD, reason_code=HELD).values("subject_id")
    containers = Subject.objects.filter(pk__in=subjects).values("container")
    binding = Q(subject__in=subjects) | Q(scope=HoldScope.CONTAINER, container__in=containers)
    days = Hold.objects.filter(binding, kind=HoldKind.HOLD, released_at=None)
    return days.aggregate(last=Max("review_on"))["last"]


def _audit(request: ErasureRequest) -> dict[str, Any]:
    """Where the log stands, its last signed checkpoint outside the database, and the entries of this request by number and hash."""
    head = AuditHead.objects.filter(stream=Stream.GOVERNANCE).first()
    done = AuditEntry.objects.in_stream(Stream.GOVERNANCE).on_target(f"erasure/{request.uid}").of_actions(PROVING)
    entries = done.exclude(outcome=Outcome.REFUSED).order_by("seq")  # an approval that was refused is none
    anchored = anchors.latest(checkpoints.folder())
    return {
        "stream": Stream.GOVERNANCE.value,
        "seq": head.seq if head else 0,
        "row_hash": head.row_hash if head else "",
        "entries": [{"action": entry.action, "seq": entry.seq, "row_hash": entry.row_hash} for entry in entries],
        "checkpoint": {
            "number": anchored.lines,
            "at": anchored.at,
            "seq": anchored.highest(Stream.GOVERNANCE),
            "digest": anchored.last if anchored.lines else "",
        },
    }


def _ledger(request: ErasureRequest) -> list[dict[str, Any]]:
    """The lines about this request in the ledger outside the database."""
    return [{"kind": line.kind, "seq": line.seq, "hash": line.hash} for line in ledger.lines() if line.request == str(request.uid)]


def _instance() -> str:
    """Return what tells this installation from others: the beginning of its audit log."""
    first: Iterable[str] = AuditEntry.objects.filter(stream=Stream.GOVERNANCE, seq=1).values_list("row_hash", flat=True)
    return next(iter(first), "")[:16]


def _last_digest(request: ErasureRequest) -> str:
    return Certificate.objects.filter(request=request).order_by("-pk").values_list("digest", flat=True).first() or ""


def _written(at: datetime | None) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ") if at else ""
