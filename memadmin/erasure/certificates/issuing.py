"""Issue a certificate, and give out the receipt by which the person can show that it is about them."""

from __future__ import annotations

import json
import uuid
from datetime import datetime
from typing import Any

from django.db import transaction

from memadmin.audit import log, signing
from memadmin.audit.actions import Action
from memadmin.erasure.certificates import canonical
from memadmin.erasure.certificates.contents import Executed, document_of
from memadmin.erasure.certificates.receipts import commitment, new_receipt
from memadmin.erasure.models import Certificate, Commitment, ErasureRequest, Level, Outcome
from memadmin.erasure.moves import Refusal
from memadmin.erasure.refusals import audited

UNTIL = ("received", "discovering", "review", "awaiting_approval", "approved")  # after that nobody may change what will be signed


class NotProved(Exception):
    """The last look was not clean: there is nothing to certify."""


class TooLate(Refusal):
    """The execution has begun, and what will be signed is fixed."""

    code = "too_late"


class NobodyNamed(Refusal):
    """The request is about single items, or nobody is ticked."""

    code = "nobody_named"


@audited(Action.ERASURE_RECEIPT_GIVEN)
def give_receipt(request: ErasureRequest, *, actor: str, now: datetime) -> str:
    """Return a new receipt for the person; one given out before is void. It is not kept: show it once. Raises TooLate, NobodyNamed."""
    standing = ErasureRequest.objects.select_for_update().get(pk=request.pk)
    if standing.state not in UNTIL or standing.attempt:
        raise TooLate("The receipt has to be given out before the erasure begins.")
    receipt = new_receipt()
    ids = {user for user in standing.subjects.filter(ticked=True).values_list("user_id", flat=True) if user is not None}
    if not ids:
        raise NobodyNamed("This request names no user, so a certificate will be about nobody: there is nothing to commit to.")
    standing.commitments.all().delete()
    Commitment.objects.bulk_create(Commitment(request=standing, value=commitment(receipt, user)) for user in sorted(ids))
    log.append(Action.ERASURE_RECEIPT_GIVEN, actor=actor, target=f"erasure/{request.uid}", at=now, counts={"ids": len(ids)})
    return receipt


@transaction.atomic
def issue(request: ErasureRequest, level: Level, executed: Executed, *, actor: str, now: datetime) -> Certificate:
    """Sign what was done. Raises NotProved unless the last look over the database was clean, and signing.KeysUnusable."""
    last = request.verifications.order_by("-number").first()
    if level not in (Level.NOTHING_HELD,) and (last is None or last.outcome != Outcome.CLEAN):
        raise NotProved("The last look over the database was not clean.")
    serial, before = uuid.uuid4(), Certificate.objects.filter(request=request).order_by("-pk").first()
    text = canonical.written(document_of(request, level, executed, serial=str(serial), now=now))
    signer = signing.current()
    certificate = Certificate.objects.create(
        serial=serial,
        request=request,
        level=level,
        document=text,
        digest=canonical.digest(text),
        signature=signer.sign(text),
        public_key=signer.public,
        key_id=signer.key_id,
        issued_at=now,
        follows=before,
    )
    payload = {"digest": certificate.digest, "key_id": certificate.key_id}
    log.append(Action.ERASURE_CERTIFIED, actor=actor, target=f"certificates/{serial}", at=now, reason_code=level.value, payload=payload)
    return certificate


def file_of(certificate: Certificate) -> bytes:
    """Return the file that `checking.check` verifies: the very text that was signed, with what is needed to verify it."""
    stored: dict[str, Any] = {
        "certificate": certificate.document,
        "digest": certificate.digest,
        "signature": {"key_id": certificate.key_id, "public_key": certificate.public_key, "value": certificate.signature},
    }
    return json.dumps(stored, indent=1).encode("ascii") + b"\n"
