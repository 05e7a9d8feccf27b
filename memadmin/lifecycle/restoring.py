"""One item back out of the archive. A whole run's worth is a job, see `tasks`."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.store import archive
from memadmin.store.archive import Restored
from memadmin.store.models import Archived


@transaction.atomic
def restore_item(copy: Archived, *, actor: str, now: datetime) -> Restored:
    """Put one archived item back, as it was. An item that is in the store again is left as it is there, and its copy stays."""
    restored = archive.restore([copy.pk], now=now)
    if restored.items:
        log.append(Action.ITEM_RESTORED, actor=actor, target=f"{copy.item_type}/{copy.uid}", at=now, counts={"run": copy.run_number or 0})
    return restored
