"""The people of the demo: one for each job, with new random passwords at every start."""

from datetime import datetime
from typing import NamedTuple

from django.db import transaction

from memadmin.access.models import Person
from memadmin.access.people import create_person, new_password
from memadmin.access.roles import Role
from memadmin.audit import log
from memadmin.audit.actions import Action

ACTOR = "command/make_demo"
PEOPLE = (
    ("sam", "Sam Okafor", Role.SUPPORT),
    ("pia", "Pia Lindqvist", Role.POLICY_EDITOR),
    ("piet", "Piet de Boer", Role.POLICY_EDITOR),
    ("cora", "Cora Meyer", Role.COMPLIANCE),
    ("ada", "Ada Novak", Role.AUDITOR),
    ("ali", "Ali Rahman", Role.ADMINISTRATOR),
)


class DemoLogin(NamedTuple):
    login: str
    roles: list[str]
    password: str


@transaction.atomic
def make_demo_people(now: datetime) -> list[DemoLogin]:
    """Store the demo people, or give those of an earlier start new passwords. Real people with the same login are left alone and out."""
    known = {person.login: person for person in Person.objects.filter(login__in=[login for login, _, _ in PEOPLE])}
    logins = []
    for login, name, role in PEOPLE:
        person = known.get(login)
        if person is None or person.demo:
            password = new_password()
            _store(person, login=login, name=name, role=role, password=password, now=now)
            logins.append(DemoLogin(login, [role.label], password))
    return logins


def _store(person: Person | None, *, login: str, name: str, role: Role, password: str, now: datetime) -> None:
    if person is None:
        person = create_person(login, roles=[role], name=name, password=password, actor=ACTOR, now=now)
        person.demo = True
        person.save(update_fields=["demo"])
        return
    person.set_password(password)  # signs out whoever still uses the old one
    person.roles, person.is_active = [role.value], True
    person.save(update_fields=["password", "roles", "is_active"])
    log.append(Action.PERSON_PASSWORD_RESET, actor=ACTOR, target=f"person/{person.uid}", at=now, reason_code="demo")
