"""All manifests of a request, the newest first: one search after another, and what became of each."""

from __future__ import annotations

from dataclasses import dataclass

from memadmin.access.actors import names_of
from memadmin.erasure.models import Approval, ErasureRequest, Manifest, Status, Verification
from memadmin.erasure.models.verifications import Outcome

CARRIED_OUT = (Status.EXECUTING, Status.VERIFYING, Status.STALLED)


@dataclass(frozen=True, slots=True)
class Search:
    """One manifest. `follows`: the number of the one that had left something; None: it began anew. `on_its_word`: that one's approval holds
    for this one too, since nothing else was found.
    """

    manifest: Manifest
    became: str
    follows: int | None
    approval: Approval | None
    approver: str
    on_its_word: bool


def searches_of(found: ErasureRequest) -> list[Search]:
    """Return them where there is more than one. The single one of most requests is shown by itself."""
    if (found.manifest_number or 0) < 2 and found.state != Status.RESIDUE_FOUND:
        return []
    manifests = list(found.manifests.order_by("-number"))
    if len(manifests) < 2:
        return []
    looks = {look.manifest_id: look for look in found.verifications.order_by("number")}
    approvals = {each.manifest_digest: each for each in found.approvals.filter(voided_at=None).order_by("pk")}
    names, numbers = names_of(each.approver for each in approvals.values()), {each.pk: each.number for each in manifests}
    return [
        Search(
            each,
            became(found, each, looks.get(each.pk)),
            numbers.get(each.follows_id) if each.follows_id else None,
            approval := approvals.get(each.digest),
            names[approval.approver] if approval else "",
            approval is None and each.frozen_at is not None and (each.pk in looks or found.state in CARRIED_OUT),
        )
        for each in manifests
    ]


def became(found: ErasureRequest, manifest: Manifest, look: Verification | None) -> str:
    """Say what became of a manifest; `look`: the last one over the database after its execution."""
    if look is not None:
        return f"carried out; look {look.number} over the database: {Outcome(look.outcome).label}"
    if manifest.completed_at is None:
        return "being looked for"
    if manifest.number == found.manifest_number:
        return str(Status(found.state).label)
    return "frozen, and replaced by a later search" if manifest.frozen_at else "replaced by a later search"
