import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from memadmin.store.models import Container
from memadmin.store.querysets import ContainerQuerySet
from memadmin.transfer.exporting import Exported, NobodyFound, export_containers, export_user
from memadmin.transfer.problems import UnusableFile
from memadmin.transfer.targets import find_by_name

ACTOR = "command/export_memories"
UNUSABLE = 2


class Command(BaseCommand):
    help = "Write all memories of a container, or of one user, to a file that import_memories jsonl reads back."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--container", metavar="NAME")
        parser.add_argument("--user", metavar="ID", help="one user, in the container or in all of them")
        parser.add_argument("--to", metavar="PATH", type=Path, required=True, help="the file; packed if its name ends in .gz")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["container"] is None and options["user"] is None:
            raise CommandError("Say what to export: --container NAME, --user ID, or both.", returncode=UNUSABLE)
        try:
            exported = self._export(options["to"], _containers(options["container"]), options["user"])
        except UnusableFile as error:
            raise CommandError(str(error), returncode=UNUSABLE) from None
        except NobodyFound:
            raise CommandError("No container has this user.", returncode=UNUSABLE) from None
        if options["json"]:
            self.stdout.write(json.dumps({"path": str(options["to"]), "containers": exported.containers, "counts": exported.counts}))
            return
        for kind, number in exported.counts.items():
            self.stdout.write(f"{kind:<12}{number:>12,}")
        self.stdout.write(f"Exported to {options['to']}")

    def _export(self, to: Path, containers: ContainerQuerySet, user_id: str | None) -> Exported:
        if user_id is None:
            return export_containers(to, containers, actor=ACTOR, now=timezone.now())
        return export_user(to, user_id, containers, actor=ACTOR, now=timezone.now())


def _containers(name: str | None) -> ContainerQuerySet:
    if name is None:
        return Container.objects.all()
    container = find_by_name(name)
    if container is None:
        raise UnusableFile(f"There is no container named {name!r}.")
    return Container.objects.filter(pk=container.pk)
