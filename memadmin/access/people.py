"""The verbs on accounts. Invariant: somebody who is active stays administrator, and nobody ends that for themselves."""

import secrets
from collections.abc import Iterable
from datetime import datetime

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction

from memadmin.access.actors import actor_of
from memadmin.access.models import Person, tidy_login
from memadmin.access.roles import Role
from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.store.models import Container
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


class OwnAccount(Exception):
    """People cannot lock themselves out: another administrator does that."""


class LastAdministrator(Exception):
    """Without this person nobody could manage people any more."""


@transaction.atomic
def create_person(
    login: str,
    *,
    roles: Iterable[Role],
    password: str,
    actor: str,
    now: datetime,
    name: str = "",
    containers: Iterable[Container] | None = None,
) -> Person:
    """Store a person who may sign in at once and sees these containers (None: all). Raises BadLogin, LoginTaken, WeakPassword."""
    login = tidy_login(login)
    if not login or len(login) > LOGIN_LENGTH or not login.isprintable():
        raise BadLogin(f"A login has 1 to {LOGIN_LENGTH} printable characters.")
    if Person.objects.filter(login=login).exists():
        raise LoginTaken(f"There is already an account with the login {login}.")
    person = Person(login=login, name=clean(name), roles=[Role(role).value for role in roles], all_containers=containers is None)
    check_password_strength(password, person)
    person.set_password(password)
    person.save()
    person.containers.set(containers or [])
    log.append(Action.PERSON_CREATED, actor=actor, target=actor_of(person), at=now, payload=_standing(person))
    return person


@transaction.atomic
def change_person(
    person: Person, *, name: str, roles: Iterable[Role], containers: Iterable[Container] | None, actor: str, now: datetime
) -> None:
    """Give a person these roles and containers (None: all) instead of those they have. Raises OwnAccount, LastAdministrator."""
    _lock(person)
    before, held = _standing(person), [Role(role).value for role in roles]
    if Role.ADMINISTRATOR not in held:
        _may_go(person, actor=actor, what="take the role of administrator from yourself")
    person.name, person.roles, person.all_containers = clean(name), held, containers is None
    person.save(update_fields=["name", "roles", "all_containers"])
    person.containers.set(containers or [])
    payload = {"before": before, "after": _standing(person)}
    log.append(Action.PERSON_CHANGED, actor=actor, target=actor_of(person), at=now, payload=payload)


@transaction.atomic
def set_active(person: Person, active: bool, *, actor: str, now: datetime) -> None:
    """Close an account, which ends its sessions at once, or open it again. Raises OwnAccount, LastAdministrator."""
    _lock(person)
    if person.is_active == active:
        return
    if not active:
        _may_go(person, actor=actor, what="deactivate yourself")
    person.is_active = active
    person.save(update_fields=["is_active"])
    code = "activated" if active else "deactivated"
    log.append(Action.PERSON_CHANGED, actor=actor, target=actor_of(person), at=now, reason_code=code)


@transaction.atomic
def reset_password(person: Person, *, actor: str, now: datetime) -> str:
    """Return a new random password; the old one and every session end. Raises OwnAccount: one's own would end the session it is read in."""
    if actor == actor_of(person):
        raise OwnAccount("You cannot reset your own password here. Another administrator does that.")
    password = new_password()
    person.set_password(password)
    person.save(update_fields=["password"])
    log.append(Action.PERSON_PASSWORD_RESET, actor=actor, target=actor_of(person), at=now)
    return password


def _lock(person: Person) -> None:
    """Queue on all accounts, so that of two administrators who remove each other one stays."""
    list(Person.objects.select_for_update().order_by("pk").values_list("pk", flat=True))
    person.refresh_from_db()


def _may_go(person: Person, *, actor: str, what: str) -> None:
    """Raise where this person must stay an active administrator."""
    if Role.ADMINISTRATOR not in person.roles:
        return
    if actor == actor_of(person):
        raise OwnAccount(f"You cannot {what}. Another administrator does that.")
    others = Person.objects.filter(is_active=True).exclude(pk=person.pk)
    if person.is_active and not any(Role.ADMINISTRATOR in other.roles for other in others):
        raise LastAdministrator("This is the last active administrator. Make somebody else administrator first.")


def _standing(person: Person) -> dict[str, object]:
    """Return what the log keeps of an account: roles, and which containers. No names."""
    listed = sorted(str(uid) for uid in person.containers.values_list("uid", flat=True))
    return {"roles": person.roles, "containers": "all" if person.all_containers else listed}


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
