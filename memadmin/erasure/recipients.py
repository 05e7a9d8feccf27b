"""The register of recipients: who gets data from here, of which containers, and what."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import Q, QuerySet

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.erasure.models import Recipient, RecipientKind
from memadmin.outbound import addresses
from memadmin.store import sealed
from memadmin.store.models import Container
from memadmin.store.text import clean, says_something

PURPOSE = b"memadmin.recipients"
LONGEST_NAME, LONGEST_GIVEN = 100, 400


class BadRecipient(ValueError):
    """The recipient cannot be registered as described; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipientSpec:
    """Who gets what. `containers` None: of all, now and later. `contact`: the address of a program, else how a person reaches them."""

    name: str
    kind: RecipientKind
    contact: str
    given: str
    containers: Sequence[Container] | None


@transaction.atomic
def register(spec: RecipientSpec, *, actor: str, now: datetime) -> tuple[Recipient, str]:
    """Register a recipient, and return it with the secret that signs messages to it ("" where a person tells them). Raises BadRecipient."""
    name = _said(spec.name, LONGEST_NAME, "Say who they are.")
    given = _said(spec.given, LONGEST_GIVEN, "Say what they get: the person may ask.")
    contact = _contact(spec)
    secret = f"whsec_{secrets.token_urlsafe(32)}" if spec.kind.is_automatic else ""
    made = Recipient.objects.create(
        name=name,
        kind=spec.kind,
        contact=contact,
        given=given,
        secret=sealed.box(PURPOSE).encrypt(secret.encode()) if secret else None,
        all_containers=spec.containers is None,
        created_by=actor,
        created_at=now,
    )
    made.containers.set(spec.containers or ())
    log.append(Action.RECIPIENT_REGISTERED, actor=actor, target=str(made), at=now, reason_code=made.kind, payload={"name": name})
    return made, secret


@transaction.atomic
def end(recipient: Recipient, *, actor: str, now: datetime) -> None:
    """Say that they get nothing any more. They are still told of erasures, since they have what they got. Twice is once."""
    if Recipient.objects.filter(pk=recipient.pk, ended_at=None).update(ended_at=now, ended_by=actor):
        log.append(Action.RECIPIENT_ENDED, actor=actor, target=str(recipient), at=now)
    recipient.refresh_from_db()


def of_containers(containers: Iterable[int]) -> QuerySet[Recipient]:
    """Return who has data of any of these containers, those that get nothing any more among them."""
    keys = list(containers)
    meant = Q(all_containers=True) if keys else Q(pk=None)
    return Recipient.objects.filter(meant | Q(containers__in=keys)).distinct().order_by("name", "pk")


def secret_of(recipient: Recipient) -> str:
    """Raises KeysUnusable."""
    return sealed.opened(PURPOSE, bytes(recipient.secret or b"")).decode()


def _contact(spec: RecipientSpec) -> str:
    if spec.kind.is_automatic:
        try:
            addresses.check(spec.contact)
        except addresses.BadAddress as refused:
            raise BadRecipient(str(refused)) from None
        return spec.contact
    return _said(spec.contact, addresses.LONGEST, "Say how a person reaches them.")


def _said(text: str, longest: int, missing: str) -> str:
    said = clean(text).strip()
    if not says_something(said):
        raise BadRecipient(missing)
    if len(said) > longest:
        raise BadRecipient(f"At most {longest} characters, not {len(said)}.")
    return said
