"""What somebody tried and had no right to is in the log too: who, what they lacked, where. In the activity stream, which nobody queues on.

Whoever tries without end writes no endless log: of one actor at most so many wait to be sealed, which happens every minute.
"""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.audit.models import AuditPending, Outcome

AT_MOST = 20  # of one actor, between two sealings


def note(action: Action, *, actor: str, target: str, lacks: str, now: datetime, at_most: int = AT_MOST) -> None:
    """Write down a refusal; `lacks` is the right, the scope, or the code of what stood against it. `at_most` waiting ones of the actor."""
    begun = f'{{"action":"{action.value}","actor":"{actor}",'  # as canonical JSON begins
    if AuditPending.objects.filter(facts__startswith=begun)[:at_most].count() >= at_most:
        return  # asked before the transaction, so that who tries without end does not hold up those who write to SQLite
    with transaction.atomic():
        log.note(action, actor=actor, target=target, at=now, outcome=Outcome.REFUSED, reason_code=lacks)
