import json
import sys
from collections import Counter
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.utils import timezone

from memadmin.store.check import check, repair


class Command(BaseCommand):
    help = "Compare counters, pins, references and policies with the rows. Exit code 1 when something disagrees."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--repair", action="store_true", help="set counters and pins right, from the rows")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        findings = repair(actor="command/check_store", now=timezone.now()) if options["repair"] else list(check())
        if options["json"]:
            self.stdout.write(json.dumps({"findings": [asdict(finding) for finding in findings], "repaired": options["repair"]}))
        else:
            for finding in findings:
                self.stdout.write(f"{finding.kind:<24} {finding.target}  stored {finding.stored}, rows say {finding.found}")
            self.stdout.write(_summary(Counter(finding.kind for finding in findings), repaired=options["repair"]))
        if findings and not options["repair"]:
            sys.exit(1)


def _summary(kinds: Counter[str], *, repaired: bool) -> str:
    if not kinds:
        return "The store agrees with itself."
    listed = ", ".join(f"{number} x {kind}" for kind, number in sorted(kinds.items()))
    return f"{kinds.total()} disagreements ({listed})." + (
        " Counters and pins were set right." if repaired else " Run with --repair to set counters and pins right."
    )
