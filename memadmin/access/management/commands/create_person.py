import json
import sys
from argparse import ArgumentParser
from getpass import getpass
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError
from django.db.models import Q
from django.utils import timezone

from memadmin.access.people import BadLogin, LoginTaken, WeakPassword, create_person, new_password
from memadmin.access.roles import Role
from memadmin.store.models import Container


class Command(BaseCommand):
    help = (
        "Make an account for a person. Asks for the password on a terminal, reads one line with --password-stdin, "
        "and otherwise makes a random one and prints it."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("login")
        parser.add_argument("--role", action="append", required=True, choices=Role.values, help="may be given several times")
        parser.add_argument("--name", default="", help="shown instead of the login")
        parser.add_argument(
            "--container",
            nargs="+",
            action="extend",
            metavar="NAME",
            help="the containers that the person sees (without it all), by name or uid",
        )
        parser.add_argument("--password-stdin", action="store_true", help="the password is the first line of standard input")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        given = _given_password(options["password_stdin"])
        password = given or new_password()
        roles = [Role(name) for name in dict.fromkeys(options["role"])]
        containers = None if options["container"] is None else [_container(name) for name in options["container"]]
        details = {"roles": roles, "name": options["name"], "containers": containers}
        try:
            person = create_person(options["login"], **details, password=password, actor="command/create_person", now=timezone.now())
        except (BadLogin, LoginTaken, WeakPassword) as refusal:
            raise CommandError(str(refusal)) from refusal
        result = {"login": person.login, "uid": str(person.uid), "roles": person.roles, **({} if given else {"password": password})}
        self.stdout.write(json.dumps(result) if options["json"] else "\n".join(_lines(person.login, roles, "" if given else password)))


def _container(name: str) -> Container:
    """Return the container of this name or uid."""
    try:
        asked = Q(uid=UUID(name))
    except ValueError:
        asked = Q(name=name)
    found = list(Container.objects.filter(asked).order_by("pk")[:10])
    if not found:
        raise CommandError(f"There is no container {name}. The page Containers lists them.")
    if len(found) > 1:
        raise CommandError(
            f"{len(found)} containers are called {name}. Give one of their uids: {', '.join(str(each.uid) for each in found)}"
        )
    return found[0]


def _given_password(from_stdin: bool) -> str:
    """Return what was typed or piped, "" where nobody is there to ask."""
    if from_stdin:
        password = sys.stdin.readline().rstrip("\r\n")
        if not password:
            raise CommandError("--password-stdin was given, but standard input holds no password.")
        return password
    if not sys.stdin.isatty():
        return ""
    password = getpass("Password (empty: make one): ")
    if password and getpass("Again: ") != password:
        raise CommandError("The two passwords differ.")
    return password


def _lines(login: str, roles: list[Role], made_password: str) -> list[str]:
    lines = [f"Created {login} with the role {', '.join(role.label for role in roles)}."]
    if made_password:
        lines.append(f"Password: {made_password}   (shown once; only its hash is stored)")
    return lines
