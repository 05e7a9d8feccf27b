"""What a new installation needs once: the demo, or somebody who may sign in."""

import getpass
import sys

from django.core.management import call_command
from django.core.management.base import CommandError, OutputWrapper

from memadmin.access.models import Person
from memadmin.store.models import Container

COMMAND_FOR_A_PERSON = "python3 manage.py create_person LOGIN --role administrator"


def load_demo(out: OutputWrapper) -> list[str]:
    """Load the demo into an empty store; return the lines that tell its logins."""
    if Container.objects.exists():
        return ["The store holds data already, so no demo data was loaded."]
    out.write("Loading the demo ...")
    logins = call_command("make_demo")
    return str(logins or "").splitlines()


def offer_administrator(out: OutputWrapper) -> list[str]:
    """Ask for the first administrator when nobody can sign in yet; return what to do where nobody can be asked."""
    if Person.objects.exists():
        return []
    if not sys.stdin.isatty():
        return [f"Nobody can sign in yet. Make the first administrator: {COMMAND_FOR_A_PERSON}"]
    out.write("Nobody can sign in yet. The first administrator (empty login: later):")
    login = input("  Login: ").strip()
    if not login:
        return [f"Make the first administrator later: {COMMAND_FOR_A_PERSON}"]
    return _create(login, out=out)


def _create(login: str, *, out: OutputWrapper) -> list[str]:
    while True:
        password = getpass.getpass("  Password (12 characters or more): ")
        if password != getpass.getpass("  Again: "):
            out.write("  The two differ.")
            continue
        try:
            call_command("create_person", login, role="administrator", password=password)
        except CommandError as refusal:
            out.write(f"  {refusal}")
            continue
        return [f"You can sign in as {login}."]
