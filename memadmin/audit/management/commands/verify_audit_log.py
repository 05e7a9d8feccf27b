import json
import sys
from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path
from typing import Any, NoReturn

from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import DatabaseError, connection
from rich.console import Console
from rich.progress import Progress

from memadmin.audit import anchors, exporting, verification
from memadmin.audit.anchors import AnchorsUnusable
from memadmin.audit.findings import COULD_NOT_RUN, WORDS, Kind, Report
from memadmin.audit.models import AuditHead
from memadmin.plurals import counted


class Command(BaseCommand):
    help = "Verify that nobody changed, removed or cut off the audit log. Exit code 0: whole."
    requires_system_checks: list[str] = []  # a fault elsewhere must not keep anybody from verifying

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--anchors", metavar="FOLDER", help="the folder of the signed checkpoints; without it the one of the settings")
        parser.add_argument("--from", metavar="CHECKPOINT", type=int, dest="since", help="read only what came since this checkpoint")
        parser.add_argument("--export", metavar="FILE", help="check an exported file, without the database")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, **options: Any) -> None:
        if options["export"]:
            self.check_export(Path(options["export"]), options["json"])
            return
        try:
            report = self.verify(Path(options["anchors"] or settings.AUDIT_ANCHORS), since=options["since"])
        except AnchorsUnusable as problem:
            self.give_up(str(problem), options["json"])
        except verification.NotInstalled:
            self.give_up("This database has no audit log yet: run `python3 manage.py migrate`.", options["json"])
        except DatabaseError as error:
            self.give_up(f"The database could not be read: {type(error).__name__}: {error}".strip(), options["json"])
        self.stdout.write(_as_json(report) if options["json"] else "\n".join(_as_lines(report)))
        if report.exit_code:
            raise SystemExit(int(report.exit_code))

    def check_export(self, path: Path, as_json: bool) -> None:
        try:
            with open(path, encoding="utf-8") as file:
                faults, rows, pinned = exporting.check(file)
        except (OSError, UnicodeError) as error:
            self.give_up(f"The file cannot be read: {type(error).__name__}.", as_json)
        result = "altered" if faults else "whole"
        if as_json:
            said = {"result": result, "exit_code": int(Kind.ALTERED) if faults else 0, "rows": rows, "pinned": pinned, "findings": faults}
            self.stdout.write(json.dumps(said))
        else:
            pin = "A signed checkpoint pins it." if pinned else "No checkpoint pins it: its end could have been cut off or computed anew."
            self.stdout.write("\n".join([*faults[:1000], f"{rows:,} rows, {result}. {pin}"]))
        if faults:
            raise SystemExit(int(Kind.ALTERED))

    def verify(self, folder: Path, *, since: int | None) -> Report:
        begin = None if since is None else anchors.heads_at(folder, since)
        with Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as progress:
            task = progress.add_task("Verifying", total=None)
            if not progress.disable:
                progress.update(task, total=sum(AuditHead.objects.values_list("seq", flat=True)))
            return verification.verify(connection, anchors=folder, since=begin, on_progress=lambda rows: progress.advance(task, rows))

    def give_up(self, message: str, as_json: bool) -> NoReturn:
        if as_json:
            self.stdout.write(json.dumps({"result": "could not run", "exit_code": COULD_NOT_RUN, "message": message}))
        else:
            self.stderr.write(f"Could not run. {message}")
        raise SystemExit(COULD_NOT_RUN)


def _result(report: Report) -> str:
    return WORDS[Kind(report.exit_code)] if report.exit_code else "whole"


def _as_json(report: Report) -> str:
    return json.dumps(
        {
            "result": _result(report),
            "exit_code": int(report.exit_code),
            "tail_pinned": report.tail_pinned,
            "unanchored": report.unanchored,
            "redacted": report.redacted,
            "checkpoints": report.anchors.lines,
            "root_key": report.anchors.root_key,
            "restored": report.anchors.restored,
            "clock_went_back": [asdict(each) for each in report.clock_turns],
            "streams": [asdict(part) for part in report.streams],
            "found": {WORDS[kind]: number for kind, number in sorted(report.found.items())},
            "findings": [asdict(each) | {"kind": WORDS[each.kind]} for each in report.findings],
        }
    )


def _anchoring(report: Report) -> list[str]:
    known = report.anchors
    if not known.lines:
        return ["Tail: not pinned. There are no checkpoints outside the database, so a tail cut off with its head row would not show."]
    pinned = "pinned to the last row" if report.tail_pinned else f"{report.unanchored:,} rows since the last checkpoint are not pinned yet"
    lines = [f"Tail: {pinned}. {known.lines:,} checkpoints, the last one of {known.at}, first signed with the key {known.root_key}."]
    lines += [
        f"Restored: {each['stream']} was put back to row {each['kept']} and lost the rows to {each['lost_to']}." for each in known.restored
    ]
    return lines


def _clock(report: Report) -> list[str]:
    if not report.clock_went_back:
        return []
    unsaid = report.clock_went_back - len(report.clock_turns)
    turns = "; ".join([*map(str, report.clock_turns), *([f"and {unsaid:,} times more"] if unsaid else [])])
    return [f"Clock: {turns}. The order of the entries is that of their numbers."]


def _as_lines(report: Report) -> list[str]:
    lines = [
        f"{part.stream}: {part.rows:,} rows" + (f", {part.first_seq} to {part.last_seq}, last hash {part.last_hash}" if part.rows else "")
        for part in report.streams
    ]
    lines += [str(each) for each in report.worst_first]
    unsaid = report.found.total() - len(report.findings)
    if unsaid:
        lines.append(f"... and {unsaid:,} more")
    lines.append("Protection: some triggers are missing or changed." if report.found[Kind.PROTECTION_MISSING] else "Protection: in place.")
    if report.redacted:
        lines.append(f"Redacted: {counted(report.redacted, 'payload')}, accounted for by entries of the log.")
    lines += _anchoring(report)
    lines += _clock(report)
    lines.append(
        f"The log is {_result(report)}." if not report.exit_code else f"NOT WHOLE: {_result(report)}, {report.found.total():,} findings."
    )
    return lines
