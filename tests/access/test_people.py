import json

import pytest
from django.contrib.auth import authenticate
from django.db import IntegrityError, transaction

from memadmin.access import people
from memadmin.access.actors import actor_of
from memadmin.access.models import Person
from memadmin.access.roles import Role
from memadmin.access.visibility import visible_containers
from memadmin.audit.models import AuditEntry, AuditPayload
from tests.factories import NOON, make_container
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


def act(verb, person, *more, **details):
    return verb(person, *more, **{"actor": "person/00000000-0000-0000-0000-000000000009", "now": NOON, **details})


def test_a_person_can_be_made_for_some_containers_only():
    seen = make_container("seen")
    make_container("unseen")

    person = create(containers=[seen])

    assert list(visible_containers(person)) == [seen]
    assert json.loads(AuditPayload.objects.get().body) == {"containers": [str(seen.uid)], "roles": ["support"]}


def test_a_change_of_roles_and_containers_is_audited_with_before_and_after_and_without_names():
    container, person = make_container("secret name"), create(name="Ann Example")

    act(people.change_person, person, name="Ann B.", roles=[Role.AUDITOR], containers=[container])

    entry = AuditEntry.objects.get(action="person.changed")
    body = AuditPayload.objects.get(seq=entry.seq).body
    assert (person.role_names, person.name, list(visible_containers(person))) == (["Auditor"], "Ann B.", [container])
    assert json.loads(body)["before"] == {"containers": "all", "roles": ["support"]}
    assert "Ann" not in body + entry.leaf
    assert "secret name" not in body + entry.leaf


def test_nobody_ends_their_own_administration():
    boss = create("boss", roles=[Role.ADMINISTRATOR])
    create("other", roles=[Role.ADMINISTRATOR])

    for attempt in (
        lambda: act(people.change_person, boss, name="", roles=[Role.SUPPORT], containers=None, actor=actor_of(boss)),
        lambda: act(people.set_active, boss, False, actor=actor_of(boss)),
        lambda: act(people.reset_password, boss, actor=actor_of(boss)),
    ):
        with pytest.raises(people.OwnAccount):
            attempt()
    boss.refresh_from_db()
    assert boss.is_active
    assert boss.roles == ["administrator"]


def test_the_last_active_administrator_stays():
    boss, gone = create("boss", roles=[Role.ADMINISTRATOR]), create("gone", roles=[Role.ADMINISTRATOR])
    act(people.set_active, gone, False)

    with pytest.raises(people.LastAdministrator):
        act(people.set_active, boss, False)
    with pytest.raises(people.LastAdministrator):
        act(people.change_person, boss, name="", roles=[Role.SUPPORT], containers=None)

    act(people.set_active, gone, True)
    act(people.set_active, boss, False)
    assert not Person.objects.get(login="boss").is_active


def test_a_reset_password_replaces_the_old_one_and_stands_in_no_log():
    person = create()

    password = act(people.reset_password, person)

    assert authenticate(login="ann", password=PASSWORD) is None
    assert authenticate(login="ann", password=password) == person
    assert password not in "".join(AuditEntry.objects.values_list("leaf", flat=True))
