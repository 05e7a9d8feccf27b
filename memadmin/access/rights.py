"""What a person can be allowed to do. Every page names one of these."""

from django.db.models import TextChoices


class Right(TextChoices):
    """The label completes the sentence "you need the right to …"."""

    CONTAINER_VIEW = "container.view", "see containers"
    SUBJECT_VIEW = "subject.view", "see the list of users"
    MEMORY_VIEW = "memory.view", "see which memories a user has"
    MEMORY_READ_TEXT = "memory.read_text", "read the text of memories and sessions"
    MEMORY_PIN = "memory.pin", "pin and unpin memories and sessions"
    FEEDBACK_RECORD = "feedback.record", "record what an agent forgot or got wrong, and find the eviction behind it"
    POLICY_VIEW = "policy.view", "see retention policies"
    POLICY_EDIT = "policy.edit", "edit and preview retention policies"
    POLICY_PUBLISH = "policy.publish", "publish and roll back retention policies"
    RUN_VIEW = "run.view", "see retention runs"
    RUN_START = "run.start", "start a retention run"
    RUN_APPROVE = "run.approve", "approve or refuse the large runs of other people"
    RUN_RESTORE = "run.restore", "restore what a run evicted"
    SCHEDULE_VIEW = "schedule.view", "see schedules"
    SCHEDULE_CHANGE = "schedule.change", "change schedules"
    SETTING_VIEW = "setting.view", "see settings"
    SETTING_CHANGE = "setting.change", "change settings"
    AUDIT_VIEW = "audit.view", "read the audit log"
    ERASURE_VIEW = "erasure.view", "see erasure requests"
    ERASURE_INTAKE = "erasure.intake", "open and cancel erasure requests"
    ERASURE_REVIEW = "erasure.review", "review what an erasure request covers"
    ERASURE_APPROVE = "erasure.approve", "approve erasure requests"
    EXPORT_MAKE = "export.make", "export memories"
    IMPORT_MAKE = "import.make", "import memories"
    PERSON_MANAGE = "person.manage", "manage people and their roles"
    TOKEN_MANAGE = "token.manage", "make and revoke API tokens"
