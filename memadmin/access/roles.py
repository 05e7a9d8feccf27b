"""The roles and their rights. Fixed in code: who may do what is reviewed like any other change."""

from collections.abc import Iterable

from django.db.models import TextChoices

from memadmin.access.rights import Right


class Role(TextChoices):
    SUPPORT = "support", "Support"
    POLICY_EDITOR = "policy_editor", "Policy editor"
    COMPLIANCE = "compliance", "Compliance officer"
    AUDITOR = "auditor", "Auditor"
    ADMINISTRATOR = "administrator", "Administrator"


_LISTS = frozenset({Right.CONTAINER_VIEW, Right.SUBJECT_VIEW, Right.MEMORY_VIEW, Right.POLICY_VIEW, Right.RUN_VIEW})

RIGHTS: dict[Role, frozenset[Right]] = {
    Role.SUPPORT: _LISTS | {Right.MEMORY_READ_TEXT, Right.MEMORY_DELETE, Right.MEMORY_PIN, Right.FEEDBACK_RECORD},
    # A policy editor judges victims by id, age, score, tokens and reason; the text stays closed.
    Role.POLICY_EDITOR: _LISTS
    | {
        Right.MEMORY_PIN,
        Right.POLICY_EDIT,
        Right.POLICY_PUBLISH,
        Right.RUN_START,
        Right.RUN_APPROVE,
        Right.RUN_RESTORE,
        Right.SCHEDULE_VIEW,
        Right.SETTING_VIEW,
    },
    Role.COMPLIANCE: _LISTS
    | {
        Right.MEMORY_READ_TEXT,
        Right.MEMORY_DELETE,
        Right.CONTAINER_LIMIT,
        Right.ERASURE_VIEW,
        Right.ERASURE_INTAKE,
        Right.ERASURE_REVIEW,
        Right.ERASURE_APPROVE,
        Right.ERASURE_HOLD,
        Right.BACKUP_MANAGE,
        Right.RECIPIENT_MANAGE,
        Right.EXPORT_MAKE,
        Right.RUN_APPROVE,
        Right.SCHEDULE_VIEW,
        Right.AUDIT_VIEW,
    },
    Role.AUDITOR: _LISTS | {Right.ERASURE_VIEW, Right.SCHEDULE_VIEW, Right.SETTING_VIEW, Right.AUDIT_VIEW},
    # Runs the installation and sees nobody's memories, not even whose they are.
    Role.ADMINISTRATOR: frozenset(
        {
            Right.CONTAINER_VIEW,
            Right.POLICY_VIEW,
            Right.RUN_VIEW,
            Right.RUN_START,
            Right.RUN_APPROVE,
            Right.SCHEDULE_VIEW,
            Right.SCHEDULE_CHANGE,
            Right.SETTING_VIEW,
            Right.SETTING_CHANGE,
            Right.AUDIT_VIEW,
            # Approves by numbers and digest, where an installation has one compliance officer only.
            Right.ERASURE_VIEW,
            Right.ERASURE_APPROVE,
            Right.BACKUP_MANAGE,
            Right.RECIPIENT_MANAGE,
            Right.IMPORT_MAKE,
            Right.PERSON_MANAGE,
            Right.TOKEN_MANAGE,
            Right.WEBHOOK_MANAGE,
        }
    ),
}


def known_roles(names: Iterable[str]) -> list[Role]:
    """Return the roles of these names, in their fixed order; a name that is no role is left out and so gives nothing."""
    held = set(names)
    return [role for role in Role if role.value in held]


def rights_of(names: Iterable[str]) -> frozenset[Right]:
    """Return every right that the named roles give together."""
    return frozenset().union(*(RIGHTS[role] for role in known_roles(names)))


def roles_with(right: Right) -> list[Role]:
    """Return the roles that give this right."""
    return [role for role in Role if right in RIGHTS[role]]
