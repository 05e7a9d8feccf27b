"""What an API token can be allowed to do. Every address of the API names one of these for each method."""

from collections.abc import Iterable

from django.db.models import TextChoices


class Scope(TextChoices):
    """The label completes the sentence "this token may …"."""

    CONTAINER_READ = "container.read", "read containers"
    CONTAINER_WRITE = "container.write", "make, change and delete containers"
    MEMORY_READ = "memory.read", "read and search sessions and memories"
    MEMORY_WRITE = "memory.write", "add and change sessions and memories"
    MEMORY_DELETE = "memory.delete", "delete sessions and memories"
    MEMORY_PIN = "memory.pin", "pin and unpin sessions and memories"
    POLICY_WRITE = "policy.write", "change retention policies"
    RETENTION_PREVIEW = "retention.preview", "see what retention would evict"
    RETENTION_RUN = "retention.run", "start the retention job"
    RETENTION_APPROVE = "retention.approve", "approve or refuse large retention runs, for the person who made it"
    RETENTION_RESTORE = "retention.restore", "restore what retention evicted"
    FEEDBACK_WRITE = "feedback.write", "report what an agent forgot or got wrong"
    DISCLOSURE_WRITE = "disclosure.write", "note which recipients were given data of whom"
    EXPORT_MAKE = "export.make", "export memories"
    ERASURE_INTAKE = "erasure.intake", "open erasure requests and follow them"
    ERASURE_EXPORT = "erasure.export", "make exports for people whose requests were reviewed, without their link"
    ERASURE_RESUME = "erasure.resume", "let erasures go on that stopped, for the person who made it"
    AUDIT_READ = "audit.read", "read and export the audit log"
    WEBHOOK_MANAGE = "webhook.manage", "subscribe addresses to events"
    SETTING_READ = "setting.read", "read settings"
    SETTING_WRITE = "setting.write", "change settings"


AGENT = (Scope.CONTAINER_READ, Scope.MEMORY_READ, Scope.MEMORY_WRITE)  # what an agent needs to remember and recall


def known_scopes(names: Iterable[str]) -> list[Scope]:
    """Return the scopes of these names, in their fixed order; a name that is no scope is left out and so gives nothing."""
    given = set(names)
    return [scope for scope in Scope if scope.value in given]
