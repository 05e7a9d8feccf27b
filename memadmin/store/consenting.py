"""Whether a container lets runs delete the working memories that name no session, user or agent."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.db.models import F

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.store.models import Container


class AsItIs(Exception):
    """The container says so already."""


@transaction.atomic
def let_unattributed_go(container: Container, *, agreed: bool, actor: str, now: datetime) -> None:
    """Agree that runs delete what names nobody, or take that back. Deletes nothing itself. Raises AsItIs."""
    values = {"removes_unattributed": agreed, "last_updated_at": now, "revision": F("revision") + 1}
    if not Container.objects.filter(pk=container.pk, removes_unattributed=not agreed).update(**values):
        raise AsItIs("Runs may delete it here already." if agreed else "Runs keep it here already.")
    payload = {"removes_unattributed": {"before": not agreed, "after": agreed}}
    log.append(Action.CONTAINER_CHANGED, actor=actor, target=f"containers/{container.uid}", at=now, payload=payload)
    container.refresh_from_db()
