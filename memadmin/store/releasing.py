"""Letting in, by a person's word, what was set aside because it was erased once."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.store import counters, ingest, quarantine
from memadmin.store.models import Outcome, Returned
from memadmin.store.suppression import NoReason, NotStanding
from memadmin.store.text import says_something


@transaction.atomic
def release(returned: Returned, *, reason: str, actor: str, now: datetime) -> ingest.Written:
    """Let one item in. Raises NoReason, NotStanding, KeysUnusable, and what `ingest.write` raises."""
    if not says_something(reason):
        raise NoReason("Say why this may come back: the next person will ask.")
    item = quarantine.content_of(returned)
    counters.lock([returned.subject_id])  # before its row, as a writer who sets the same item aside anew
    if not Returned.objects.filter(pk=returned.pk, outcome=Outcome.QUARANTINED).delete()[0]:
        raise NotStanding("Somebody has released or dropped this already.")
    written = ingest.write_released(returned.container, [item], actor=actor, now=now)
    target = f"{returned.item_type}/{returned.uid}"
    log.append(Action.ARRIVAL_RELEASED, actor=actor, target=target, at=now, payload={"reason": reason.strip()})
    return written
