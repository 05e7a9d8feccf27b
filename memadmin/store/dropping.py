"""Dropping what was set aside, by a person's word or because nobody has decided in time; and with it the name under which it came."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

from django.db import transaction

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.store import counters, removal
from memadmin.store.models import Mode, Outcome, Returned, Subject


@transaction.atomic
def drop(returned: Iterable[Returned], *, actor: str, now: datetime, reason_code: str = "") -> int:
    """Drop what was set aside, for good, and return how many that were. An erased user of whom nothing else is here goes too."""
    given, dropped, of_users = list(returned), 0, set()
    counters.lock(each.subject_id for each in given)  # before the rows, as a writer who sets the same item aside anew
    for each in given:
        if Returned.objects.filter(pk=each.pk, outcome=Outcome.QUARANTINED).delete()[0]:
            dropped += 1
            of_users.add(each.subject_id)
            target = f"{each.item_type}/{each.uid}"
            log.append(Action.ARRIVAL_DROPPED, actor=actor, target=target, at=now, reason_code=reason_code)
    forget_users(of_users)
    return dropped


def forget_users(subject_ids: Collection[int]) -> None:
    """Remove those of these users who were erased and of whom nothing is here any more. The caller has the transaction."""
    # Setting aside has made a row with the id that was erased: it is all that still says the id.
    erased = Subject.objects.filter(pk__in=subject_ids, suppressed=Mode.QUARANTINE)
    removal.remove_users(list(erased.values_list("pk", flat=True)))


def drop_expired(*, actor: str, now: datetime, at_most: int = 1_000) -> int:
    """Drop what nobody has decided on in time."""
    expired = Returned.objects.filter(outcome=Outcome.QUARANTINED, expires_at__lte=now).order_by("pk")[:at_most]
    return drop(list(expired), actor=actor, now=now, reason_code="expired")
