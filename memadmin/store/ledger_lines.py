"""What the store tells the ledger (`audit.ledger`), so that an older database put back learns it again: what is held, what was let go.

Each is called last in the transaction of its act: the line is on the disk before that commits, and where it cannot be written nothing is
done. Raises LedgerUnusable.
"""

from __future__ import annotations

from datetime import datetime

from memadmin.audit import checkpoints
from memadmin.store import refs
from memadmin.store.models import Hold, HoldScope, Subject, Suppression

HOLD_PLACED, HOLD_RELEASED = "hold_placed", "hold_released"
LIFTED = "suppression_lifted"


def hold_placed(hold: Hold, *, now: datetime) -> None:
    """The reason in words stays in the database: the ledger names nobody."""
    subject = hold.subject
    facts = {
        "hold": str(hold.uid),
        "kind": hold.kind,
        "scope": hold.scope,
        "container": str(hold.container.uid),
        "subject": subject_of(subject) if subject else "",
        "item": refs.item_ref(hold.target_uid) if hold.scope in {HoldScope.SESSION, HoldScope.MEMORY} else "",
        "authority": hold.authority,
        "review_on": hold.review_on.isoformat(),
        "by": hold.placed_by,
        "key_id": refs.key_id(),
    }
    checkpoints.tell_ledger(HOLD_PLACED, request="", facts=facts, actor=hold.placed_by, now=now)


def hold_released(hold: Hold, *, now: datetime) -> None:
    noticed = hold.notice_sent_on.isoformat() if hold.notice_sent_on else ""
    facts = {"hold": str(hold.uid), "by": hold.released_by, "noticed_on": noticed}
    checkpoints.tell_ledger(HOLD_RELEASED, request="", facts=facts, actor=hold.released_by, now=now)


def suppression_lifted(suppression: Suppression, *, now: datetime) -> None:
    container = str(suppression.container.uid) if suppression.container else ""
    facts = {"digest": suppression.digest, "key_id": suppression.key_id, "container": container, "by": suppression.lifted_by}
    request = suppression.request_ref.rpartition("/")[2]
    checkpoints.tell_ledger(LIFTED, request=request, facts=facts, actor=suppression.lifted_by, now=now)


def subject_of(subject: Subject, *, key: str = "") -> str:
    """Return the name of a user in the ledger: the container's uid, and a keyed digest of the id."""
    return f"{subject.container.uid}/{refs.subject_ref(subject.container.uid, subject.user_id, key=key)}"
