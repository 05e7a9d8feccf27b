"""What a new installation needs once: the demo, or somebody who may sign in."""

import getpass
import sys

from django.core.management import call_command
from django.core.management.base import OutputWrapper
from django.utils import timezone

from memadmin.access.demo_people import make_demo_people
from memadmin.access.models import Person
from memadmin.access.people import BadLogin, LoginTaken, WeakPassword, create_person
from memadmin.access.roles import Role
from memadmin.store.models import Container

COMMAND_FOR_A_PERSON = "python3 manage.py create_person LOGIN --role administrator"


def load_demo(out: OutputWrapper) -> list[str]:
    """Load the demo, or what is missing of it, and give the demo people new passwords; return the lines that tell their logins.

    A store with anything else in it gets neither: real memories need no demo logins.
    """
    if Container.objects.exists() and not Person.objects.filter(demo=True).exists():
        return ["The store holds other data already, so the demo was not loaded."]
    logins = _demo_logins()  # first: they mark the store as a demo's, so that a start that is interrupted now can be finished
    call_command("make_demo", stdout=out)
    return logins


def _demo_logins() -> list[str]:
    rows = [f"  {made.login:<6} {made.password}   {', '.join(made.roles)}" for made in make_demo_people(timezone.now())]
    return ["Demo logins (new passwords at every start):", *rows]


def offer_administrator(out: OutputWrapper) -> list[str]:
    """Ask for the first administrator when nobody can sign in yet; return what to do where nobody can be asked."""
    if Person.objects.exists():
        return []
    if not sys.stdin.isatty():
        return [f"Nobody can sign in yet. Make the first administrator: {COMMAND_FOR_A_PERSON}"]
    out.write("Nobody can sign in yet. The first administrator (empty login: later):")
    later = [f"Make the first administrator later: {COMMAND_FOR_A_PERSON}"]
    try:
        login = input("  Login: ").strip()
        return _create(login, out=out) if login else later
    except EOFError:  # Ctrl-D
        return later


def _create(login: str, *, out: OutputWrapper) -> list[str]:
    while True:
        password = getpass.getpass("  Password (12 characters or more): ")
        if password != getpass.getpass("  Again: "):
            out.write("  The two differ.")
            continue
        try:
            create_person(login, roles=[Role.ADMINISTRATOR], password=password, actor="command/up", now=timezone.now())
        except WeakPassword as refusal:
            out.write(f"  {refusal}")
            continue
        except (BadLogin, LoginTaken) as refusal:
            return [f"{refusal} Make the first administrator later: {COMMAND_FOR_A_PERSON}"]
        return [f"You can sign in as {login}."]
