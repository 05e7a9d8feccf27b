import pytest

from memadmin.access.models import Person
from memadmin.access.rights import Right
from memadmin.access.roles import RIGHTS, Role, known_roles, rights_of, roles_with


def holder(*roles: Role, active: bool = True) -> Person:
    return Person(login="x", roles=[role.value for role in roles], is_active=active)


@pytest.mark.parametrize("role", [Role.POLICY_EDITOR, Role.AUDITOR, Role.ADMINISTRATOR])
def test_only_support_and_compliance_read_the_text_of_memories(role):
    assert Right.MEMORY_READ_TEXT not in RIGHTS[role]
    assert roles_with(Right.MEMORY_READ_TEXT) == [Role.SUPPORT, Role.COMPLIANCE]


def test_an_auditor_changes_nothing():
    verbs = {right.value.split(".")[1] for right in RIGHTS[Role.AUDITOR]}

    assert verbs == {"view"}


def test_support_pins_but_leaves_policies_and_runs_alone():
    assert holder(Role.SUPPORT).may("memory.pin")
    assert not any(holder(Role.SUPPORT).may(right) for right in ("policy.edit", "policy.publish", "run.start", "run.restore"))


def test_a_policy_editor_publishes_starts_runs_and_restores_them():
    assert all(
        holder(Role.POLICY_EDITOR).may(right) for right in ("policy.publish", "run.start", "run.restore", "memory.pin", "memory.view")
    )


def test_an_administrator_does_not_see_who_is_remembered():
    assert not holder(Role.ADMINISTRATOR).may("subject.view")


def test_every_right_belongs_to_a_role():
    assert [right for right in Right if not roles_with(right)] == []


def test_rights_add_up_over_roles():
    assert rights_of(["auditor", "support"]) == RIGHTS[Role.AUDITOR] | RIGHTS[Role.SUPPORT]


def test_a_role_nobody_knows_gives_nothing():
    assert rights_of(["owner", "Support", ""]) == frozenset()
    assert known_roles(["owner", "auditor", "support"]) == [Role.SUPPORT, Role.AUDITOR]


def test_a_deactivated_person_may_nothing():
    assert not holder(Role.SUPPORT, active=False).may("memory.view")


def test_roles_are_shown_by_their_names_in_a_fixed_order():
    assert holder(Role.AUDITOR, Role.POLICY_EDITOR).role_names == ["Policy editor", "Auditor"]
