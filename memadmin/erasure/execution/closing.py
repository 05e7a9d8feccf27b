"""The end of an erasure that was verified: certificate, what holds from now on, and the names that its papers held.

The certificate is signed while the papers still have everything; then the names go, the ledger is told, the database forgets them, and only
then is the request complete.
"""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from memadmin.audit import checkpoints, ledger, log
from memadmin.audit.actions import Action
from memadmin.erasure import afterwards, backups, disclosures, freezing, notices
from memadmin.erasure.certificates import merkle
from memadmin.erasure.certificates.contents import Executed, PlaceResult
from memadmin.erasure.certificates.issuing import issue
from memadmin.erasure.execution import physical
from memadmin.erasure.execution.other_papers import is_theirs, of_namesakes, purge_others
from memadmin.erasure.intake import target_of
from memadmin.erasure.models import Approval, Certificate, ErasureRequest, Level, Manifest, ScopeItem, Status
from memadmin.erasure.moves import move
from memadmin.erasure.verification.looking import OWN_TABLES, probes_of
from memadmin.erasure.verification.probes import Probes
from memadmin.erasure.verification.rows import Stretch
from memadmin.erasure.verification.scanning import scan
from memadmin.erasure.verification.schema import tables
from memadmin.store import suppression
from memadmin.store.locations import Act

METHODS = {
    "store.audit_payloads": "words and their salts deleted, the chain stays",
    "store.subjects": "deleted when nothing hung on it",
}
NO_PAPERS = {"erasure_recipient", "erasure_backuprecord"}  # written about organisations and disks; a word there may be an id by chance
METHOD = "deleted by key, or words replaced"


class PapersLeft(Exception):
    """A paper of the request still names the person after the names were purged: it is not complete."""


@transaction.atomic
def close(request: ErasureRequest, manifest: Manifest, *, actor: str, now: datetime) -> None:
    """Certify a verified erasure, settle, and purge its papers, in one transaction: after a kill all of it is there, or nothing.

    Raises PapersLeft, KeysUnusable.
    """
    if Certificate.objects.filter(request=request).exists():
        return
    probes = probes_of(manifest)
    withheld = manifest.items.filter(act=Act.WITHHOLD).exists()
    for each in request.manifests.exclude(frozen_at=None):
        _note_root(each)
    manifest.refresh_from_db()
    if request.drill_id is None:  # nobody was given anything of a made-up person
        notices.make(request, now=now)
    disclosures.erase(request, actor=actor, now=now)
    issue(request, _level(request, withheld), executed_of(request, at=now), actor=actor, now=now)
    _settle(request, actor=actor, now=now)
    _purge(request, manifest)
    purge_others(request, now=now)
    _check_papers(request, probes)


def complete(request: ErasureRequest, *, deleted_before: str, actor: str, now: datetime) -> None:
    """End a certified erasure, once the database has forgotten its papers too; see `physical.forget`. May be repeated after a kill.

    Raises HeldOpen, NotForgotten, LedgerUnusable.
    """
    physical.forget((table.name for table in tables() if table.name.startswith(OWN_TABLES)), deleted_before=deleted_before)
    certificate = Certificate.objects.filter(request=request).latest("pk")
    facts = {"certificate": certificate.digest, "attempt": request.attempt}
    ledger.write("completed", request=str(request.uid), at=now, facts=facts)
    level, done_at = certificate.level, certificate.issued_at  # however long somebody kept the database from forgetting the papers
    with transaction.atomic():
        move(request, Status.COMPLETED, now=now, completed_at=done_at, purged_at=done_at, outcome_code=level)
        freezing.lift(request, actor=actor, now=now)
        log.append(Action.ERASURE_COMPLETED, actor=actor, target=target_of(request), at=now, reason_code=level)
    checkpoints.write(actor=actor, now=now)


def _level(request: ErasureRequest, withheld: bool) -> Level:
    if request.drill_id is not None:
        return Level.DRILL
    return Level.PARTLY if withheld else Level.LIVE


def executed_of(request: ErasureRequest, *, at: datetime, reached: str = "") -> Executed:
    """Return what the places' outcomes say, for a certificate of an erasure that was complete at this time."""
    reached = reached or physical.promised()
    places = [
        PlaceResult(
            location=outcome.location,
            reached=reached,
            method=METHODS.get(outcome.location, METHOD),
            erased=outcome.erased,
            redacted=outcome.redacted,
            rederived=outcome.rederived,
            absent=outcome.absent,
            withheld=outcome.withheld,
        )
        for outcome in request.outcomes.order_by("location")
    ]
    begun = Approval.objects.filter(request=request, used_at__isnull=False).order_by("-used_at").values_list("used_at", flat=True).first()
    return Executed(started_at=begun, completed_at=at, places=places, recipients=notices.counts_of(request), horizon=backups.horizon_of(at))


def _note_root(manifest: Manifest) -> None:
    """Keep one digest over the names of all things: the rows that it is made of go."""
    names = manifest.items.order_by("item_ref").values_list("item_ref", flat=True).iterator()
    manifest.root = merkle.root(names)
    manifest.save(update_fields=["root"])


def _settle(request: ErasureRequest, *, actor: str, now: datetime) -> None:
    """From the fence to what holds afterwards: refused or set aside for a time, and known until the request is closed (`ending`)."""
    names = list(request.subjects.filter(ticked=True, user_id__isnull=False).values_list("user_id", flat=True))
    suppression.settle(target_of(request), terms=afterwards.terms(now), user_ids=[str(name) for name in names], actor=actor, now=now)


def _purge(request: ErasureRequest, manifest: Manifest) -> None:
    """Take names and words out of the request's papers. Counts, digests and what is withheld stay."""
    request.subjects.update(user_id=None)
    request.notes.all().delete()
    for each in request.manifests.all():
        items = each.items.exclude(act=Act.WITHHOLD) if each.pk == manifest.pk else each.items.all()
        items._raw_delete(items.db)
        ScopeItem.objects.filter(manifest=each).delete()
        each.lines.update(sample=[])


def _check_papers(request: ErasureRequest, probes: Probes) -> None:
    """Look through the tables of the workflow itself, which the verification leaves out."""
    named = Probes(identifiers=probes.identifiers)
    namesakes = of_namesakes(request, probes)
    for table in tables():
        if table.name.startswith(OWN_TABLES) and table.name not in NO_PAPERS:
            left = (hit for hit in scan(table, named, Stretch()) if not (namesakes and is_theirs(hit, namesakes, probes)))
            if next(left, None) is not None:
                raise PapersLeft(table.name)
