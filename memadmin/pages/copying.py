"""What somebody has to know of a container that got a copy of a policy as a draft, before they publish it there."""

from __future__ import annotations

from collections.abc import Iterator

from memadmin.plurals import counted
from memadmin.store import drafts, policies
from memadmin.store.models import PolicyState, PolicyStatus, PolicyVersion
from retention.policy import RetentionPolicy


def to_know(draft: PolicyVersion, policy: RetentionPolicy, *, source: PolicyVersion) -> Iterator[str]:
    """Yield in sentences what is in the way of a draft, or makes it needless."""
    container, in_force = draft.container, policies.published(draft.container)
    if in_force and policies.means(in_force, policy):
        yield f"Version {in_force.number} in force there says the same: there is nothing to publish."
    if draft.copied_from_id != source.pk:
        yield "A draft of this content was there already, and no second one was made."
    if scheduled := drafts.scheduled(container):
        at = f"{scheduled.publish_at:%d %b %Y, %H:%M} UTC"
        yield f"Version {scheduled.number} is to come into force there on {at}: decide which of the two."
    if container.policy_state == PolicyState.OPTED_OUT:
        yield "This container has opted out: publishing ends that."
    others = PolicyVersion.objects.filter(container=container, status=PolicyStatus.DRAFT).exclude(pk=draft.pk).count()
    if others:
        yield f"{counted(others, 'other draft waits', 'other drafts wait')} there."
