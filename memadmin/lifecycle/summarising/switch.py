"""Whether a container's runs summarise before they evict: the switch, and what keeps it from doing anything."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.db.models import F

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.lifecycle.warned import Warned
from memadmin.llm.endpoints import chat_endpoint
from memadmin.store import editing
from memadmin.store.models import Container
from retention.rules import RetentionPolicy

USUAL, LEAST, MOST = 3, 2, 12  # memories of one cluster


class OutOfRange(ValueError):
    """A cluster has at least two memories, and not more than a prompt holds."""


@transaction.atomic
def switch(container: Container, at_least: int | None, *, actor: str, now: datetime) -> None:
    """Let runs turn clusters of `at_least` alike memories into summaries; None: evict them one by one. Raises OutOfRange, editing.Gone."""
    if at_least is not None and not LEAST <= at_least <= MOST:
        raise OutOfRange(f"A cluster has {LEAST} to {MOST} memories, not {at_least}.")
    locked = Container.objects.select_for_update().filter(pk=container.pk).first()
    if locked is None:
        raise editing.Gone("This container is not there any more.")
    before = locked.summarise_from
    Container.objects.filter(pk=container.pk).update(summarise_from=at_least, last_updated_at=now, revision=F("revision") + 1)
    payload = {"fields": ["summarise_from"], "before": before, "after": at_least}
    log.append(Action.CONTAINER_CHANGED, actor=actor, target=f"containers/{container.uid}", at=now, counts={"fields": 1}, payload=payload)
    container.refresh_from_db()


def why_inactive(container: Container, policy: RetentionPolicy | None) -> Warned | None:
    """Return why nothing is summarised although the container asks for it; None where it is, or does not ask."""
    if container.summarise_from is None:
        return None
    if chat_endpoint() is None:
        return Warned("idle.summaries", "Summarising is inactive: no model endpoint is set (LLM_URL). Memories go one by one.")
    rule = policy.relevance if policy else None
    if rule is None or (rule.max_records is None and rule.max_tokens is None):
        return Warned(
            "idle.summaries", "Summarising does nothing: the policy sets no cap per user, and only what exceeds a cap is summarised."
        )
    return None


def is_active(container: Container, policy: RetentionPolicy) -> bool:
    return container.summarise_from is not None and why_inactive(container, policy) is None
