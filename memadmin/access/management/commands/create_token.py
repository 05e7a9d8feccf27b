import json
from argparse import ArgumentParser
from datetime import UTC, datetime, time
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from django.utils.dateparse import parse_date

from memadmin.access.scopes import AGENT, Scope
from memadmin.access.tokens import BadToken, TokenSpec, create_token
from memadmin.store.models import Container


class Command(BaseCommand):
    help = "Make an API token for a program and print its secret, which is shown this once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("label", help="which program it is for")
        parser.add_argument("--owner", required=True, help="whose memories it writes and reads")
        names = ", ".join(scope.value for scope in AGENT)
        parser.add_argument("--scope", action="append", choices=Scope.values, help=f"may be given several times (default: {names})")
        where = parser.add_mutually_exclusive_group(required=True)
        where.add_argument("--container", action="append", help="a container by name or uid; may be given several times")
        where.add_argument("--all-containers", action="store_true", help="all, now and later; the roles decide without --all-access")
        parser.add_argument("--backend-role", action="append", default=[], help="may be given several times")
        parser.add_argument("--all-access", action="store_true", help="reads and changes memories of all owners")
        parser.add_argument("--tenant")
        parser.add_argument("--expires-on", help="the last day, as 2027-01-31")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        spec = TokenSpec(
            label=options["label"],
            owner_name=options["owner"],
            scopes=tuple(Scope(name) for name in dict.fromkeys(options["scope"] or AGENT)),
            containers=None if options["all_containers"] else tuple(_container(name) for name in dict.fromkeys(options["container"])),
            backend_roles=tuple(options["backend_role"]),
            all_access=options["all_access"],
            tenant=options["tenant"],
            expires_at=_end_of(options["expires_on"]),
        )
        try:
            token, secret = create_token(spec, actor="command/create_token", now=timezone.now())
        except BadToken as refusal:
            raise CommandError(str(refusal)) from refusal
        result = {"label": token.label, "uid": str(token.uid), "scopes": token.scopes, "secret": secret}
        told = f"Created the token {token.label}.\nSecret: {secret}   (shown once; only its hash is stored)"
        self.stdout.write(json.dumps(result) if options["json"] else told)


def _container(name: str) -> Container:
    standing = Container.objects.standing()
    found = [container for container in standing.order_by("pk") if name in (container.name, container.external_id, str(container.uid))]
    if len(found) != 1:
        raise CommandError(f"{'Several containers are' if found else 'No container is'} called {name!r}. Give the uid.")
    return found[0]


def _end_of(day: str | None) -> datetime | None:
    if day is None:
        return None
    try:
        date = parse_date(day)
    except ValueError:
        date = None
    if date is None:
        raise CommandError(f"--expires-on is a day such as 2027-01-31, not {day!r}.")
    return datetime.combine(date, time.max, tzinfo=UTC)
