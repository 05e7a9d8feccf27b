import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from memadmin.store.counts import store_counts
from memadmin.store.models import Container


class Command(BaseCommand):
    help = "Show how much the store holds, or one container of it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--container", metavar="NAME")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        counts = store_counts(_container(options["container"]))
        if options["json"]:
            self.stdout.write(json.dumps(counts))
            return
        for name, value in counts.items():
            self.stdout.write(f"{name.replace('_', ' '):<12} {value:>14,}")


def _container(name: str | None) -> Container | None:
    if name is None:
        return None
    found = list(Container.objects.standing().filter(name=name)[:2])
    if len(found) == 1:
        return found[0]
    known = ", ".join(Container.objects.by_name().values_list("name", flat=True)[:20]) or "none yet"
    raise CommandError(f"There {'are several containers' if found else 'is no container'} named {name!r}. Containers: {known}.")
