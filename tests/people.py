"""People for tests: one line makes somebody with these roles, and another signs them in."""

from collections.abc import Iterable

from django.test import Client

from memadmin.access.models import Person
from memadmin.access.roles import Role
from memadmin.store.models import Container

PASSWORD = "correct horse battery"


def make_person(*roles: Role, login: str = "sam", containers: Iterable[Container] | None = None) -> Person:
    """Store a person with these roles; `containers` None: sees all of them. Their password is PASSWORD."""
    person = Person(login=login, roles=[role.value for role in roles], all_containers=containers is None)
    person.set_password(PASSWORD)
    person.save()
    person.containers.set(containers or [])
    return person


def signed_in(client: Client, *roles: Role, **details: object) -> Person:
    """Make a person with these roles and let the client be theirs."""
    person = make_person(*roles, **details)  # type: ignore[arg-type]
    client.force_login(person)
    return person


def a_browser_of(*roles: Role, login: str = "sam", containers: Iterable[Container] | None = None) -> Client:
    """Return a browser in which a new person of these roles has signed in."""
    browser = Client()
    signed_in(browser, *roles, login=login, containers=containers)
    return browser


def support() -> Client:
    return a_browser_of(Role.SUPPORT)


def editor() -> Client:
    return a_browser_of(Role.POLICY_EDITOR, login="pia")


def auditor() -> Client:
    return a_browser_of(Role.AUDITOR, login="ada")


HTMX = {"HX-Request": "true"}
