import pytest
from django.contrib.auth import authenticate
from django.db import IntegrityError, transaction

from memadmin.access import people
from memadmin.access.models import Person
from memadmin.access.roles import Role
from memadmin.audit.models import AuditEntry
from tests.factories import NOON
from tests.people import PASSWORD

pytestmark = pytest.mark.django_db


def create(login: str = "ann", **details: object) -> Person:
    return people.create_person(login, **{"roles": [Role.SUPPORT], "password": PASSWORD, "actor": "command/test", "now": NOON, **details})  # type: ignore[arg-type]


def test_a_created_person_can_sign_in_and_is_audited():
    person = create(name="Ann\x00 Example")

    entry = AuditEntry.objects.get(action="person.created")
    assert authenticate(login="ann", password=PASSWORD) == person
    assert (person.name, person.role_names) == ("Ann\N{REPLACEMENT CHARACTER} Example", ["Support"])
    assert (entry.actor, entry.target) == ("command/test", f"person/{person.uid}")


def test_the_audit_entry_names_nobody():
    create("ann@example.org", name="Ann Example")

    leaf = AuditEntry.objects.get(action="person.created").leaf
    assert "ann" not in leaf.lower()


@pytest.mark.parametrize("typed", ["Ann", " ANN ", "\uff41nn"])
def test_logins_that_look_alike_are_one(typed):
    create("ann")

    with pytest.raises(people.LoginTaken):
        create(typed)
    assert authenticate(login=typed, password=PASSWORD) is not None


@pytest.mark.parametrize("login", ["", "  ", "a\x00b", "a\nb", "x" * 151])
def test_a_login_that_cannot_be_typed_is_refused(login):
    with pytest.raises(people.BadLogin):
        create(login)


def test_the_database_refuses_an_empty_login():
    with pytest.raises(IntegrityError), transaction.atomic():
        Person.objects.create(login="")


def test_a_weak_password_is_refused_and_stores_nobody(settings):
    settings.AUTH_PASSWORD_VALIDATORS = [{"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"}]

    with pytest.raises(people.WeakPassword, match="too short"):
        create(password="1234567")
    assert not Person.objects.exists()
