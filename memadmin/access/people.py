"""The verbs on accounts."""

import secrets
from collections.abc import Iterable
from datetime import datetime

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction

from memadmin.access.models import Person, tidy_login
from memadmin.access.roles import Role
from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.store.text import clean

LOGIN_LENGTH = 150
PASSWORD_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # none that is mistaken for another one when read out
PASSWORD_GROUPS, PASSWORD_GROUP_LENGTH = 4, 4  # together 79 bits


class BadLogin(ValueError):
    """No login, or one that is too long or holds control characters."""


class LoginTaken(ValueError):
    """Somebody has this login already; upper and lower case are the same."""


class WeakPassword(ValueError):
    """The password is too easy to guess; the message says why."""


@transaction.atomic
def create_person(
    login: str,
    *,
    roles: Iterable[Role],
    password: str,
    actor: str,
    now: datetime,
    name: str = "",
) -> Person:
    """Store a person who may sign in at once and sees all containers. Raises BadLogin, LoginTaken, WeakPassword."""
    login = tidy_login(login)
    if not login or len(login) > LOGIN_LENGTH or not login.isprintable():
        raise BadLogin(f"A login has 1 to {LOGIN_LENGTH} printable characters.")
    if Person.objects.filter(login=login).exists():
        raise LoginTaken(f"There is already an account with the login {login}.")
    person = Person(login=login, name=clean(name), roles=[Role(role).value for role in roles])
    check_password_strength(password, person)
    person.set_password(password)
    person.save()
    log.append(Action.PERSON_CREATED, actor=actor, target=f"person/{person.uid}", at=now, payload={"roles": person.roles})
    return person


def check_password_strength(password: str, person: Person | None = None) -> None:
    """Raise WeakPassword when the installation's rules refuse the password."""
    try:
        validate_password(password, person)
    except ValidationError as refusal:
        raise WeakPassword(" ".join(refusal.messages)) from refusal


def new_password() -> str:
    """Return a random password that can be read out and typed: `kx3p-92mw-hh7d-qtz4`."""
    groups = ("".join(secrets.choice(PASSWORD_LETTERS) for _ in range(PASSWORD_GROUP_LENGTH)) for _ in range(PASSWORD_GROUPS))
    return "-".join(groups)
