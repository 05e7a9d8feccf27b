import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from memadmin.transfer.formats import LATER, READERS
from memadmin.transfer.importing import Importer
from memadmin.transfer.problems import UnusableFile
from memadmin.transfer.progress import progress_bar
from memadmin.transfer.report import Report
from memadmin.transfer.scratch import Scratch
from memadmin.transfer.sources import Source
from memadmin.transfer.targets import Target

ACTOR = "command/import_memories"
IN_A_FOLDER = ("messages.normalized.jsonl", "messages.normalized.jsonl.gz")
UNUSABLE, PARTIAL, INTERRUPTED = 2, 3, 130


class Command(BaseCommand):
    help = "Store the memories of a file. Importing the same file again adds nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("format", metavar="FORMAT", help=" | ".join(READERS))
        parser.add_argument("path", metavar="PATH", type=Path, help="a file, or for messages a folder with messages.normalized.jsonl")
        parser.add_argument("--container", metavar="NAME", help="made if absent; needed unless the file describes its container")
        parser.add_argument("--report", metavar="FILE", type=Path, help="list there what was refused or changed, one JSON object a line")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        report = Report(options["report"])
        try:
            target = Target(options["container"], actor=ACTOR, now=timezone.now())
            self._import(options["format"], options["path"], target, report)
        except UnusableFile as error:
            raise CommandError(str(error), returncode=UNUSABLE) from None
        except KeyboardInterrupt:
            self._show(target, report, as_json=options["json"])
            raise CommandError("Stopped. What is counted here is stored; run it again for the rest.", returncode=INTERRUPTED) from None
        self._show(target, report, as_json=options["json"])
        if report.refused:
            raise CommandError(_partial(report), returncode=PARTIAL)

    def _import(self, name: str, path: Path, target: Target, report: Report) -> None:
        if name not in READERS:
            raise UnusableFile(_no_such_format(name))
        with report, Source(_file(path, name)) as source, Scratch() as scratch, progress_bar(path.name, total=source.size) as advance:
            Importer(target, report=report, on_progress=lambda source: advance(source.position())).run(
                source, READERS[name](target, scratch)
            )

    def _show(self, target: Target, report: Report, *, as_json: bool) -> None:
        summary = report.summary()
        if as_json:
            containers = [{"uid": str(container.uid), "name": container.name} for container in target.used.values()]
            drafts = [{"container": str(draft.container.uid), "version": draft.number} for draft in target.drafts]
            self.stdout.write(json.dumps({"containers": containers, "drafts": drafts, **summary}, ensure_ascii=False))
            return
        names = ", ".join(container.name for container in target.used.values()) or "no container"
        self.stdout.write(f"{summary['records']:,} records read into {names}")
        self.stdout.write(f"{'':<12}{'new':>12}{'unchanged':>12}{'changed':>12}")
        for kind in summary["new"]:
            numbers = "".join(f"{summary[column][kind]:>12,}" for column in ("new", "unchanged", "changed"))
            self.stdout.write(f"{kind.replace('_', '-'):<12}{numbers}")
        if aside := sum(summary["set_aside"].values()):
            self.stdout.write(f"set aside: {aside:,}, erased on request before; a compliance officer decides on them")
        for draft in target.drafts:
            named = f"version {draft.number} of {draft.container.name}"
            self.stdout.write(f"policy: {named} is a draft, not in force until somebody publishes it")
        for code, number in summary["noted"].items():
            self.stdout.write(f"noted: {code.replace('_', ' ')} ({number:,} times)")
        for line in report.first_problems:
            self.stdout.write(_problem(line))


def _file(path: Path, name: str) -> Path:
    if not path.is_dir():
        return path
    if name != "messages":
        raise UnusableFile(f"{path} is a folder. Name the file in it.")
    found = next((path / inner for inner in IN_A_FOLDER if (path / inner).is_file()), None)
    if found is None:
        raise UnusableFile(f"{path}: there is no {IN_A_FOLDER[0]} in this folder.")
    return found


def _no_such_format(name: str) -> str:
    if name in LATER:
        return f"The format {name} comes later. Today: {', '.join(READERS)}."
    return f"There is no format {name!r}. Use one of: {', '.join(READERS)}."


def _partial(report: Report) -> str:
    where = f"all of them are listed in {report.path}" if report.path else "--report FILE lists them all"
    return f"Partial: {report.refused.total():,} refused; {where}. Everything else is stored."


def _problem(line: dict[str, Any]) -> str:
    field = f", {line['field']}" if line["field"] else ""
    return f"refused: line {line['line']}, record {line['record']}{field}: {line['words']} [{line['code']}]"
