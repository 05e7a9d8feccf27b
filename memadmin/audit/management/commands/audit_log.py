"""What an operator does with the log itself: anchor it, change its key, accept that an older database was put back."""

import json
from argparse import ArgumentParser
from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from memadmin.audit import checkpoints
from memadmin.audit.anchors import AnchorsUnusable
from memadmin.audit.checkpoints import NothingLost
from memadmin.audit.signing import KeysUnusable

ACTOR = "command/audit_log"


def _anchor(now: datetime) -> tuple[dict[str, Any], str]:
    number = checkpoints.write(actor=ACTOR, now=now)
    return {"checkpoint": number}, f"Wrote checkpoint {number} to {checkpoints.folder()}."


def _rotate_key(now: datetime) -> tuple[dict[str, Any], str]:
    key_id = checkpoints.rotate_key(actor=ACTOR, now=now)
    return {"key": key_id}, f"Checkpoints are signed with the key {key_id} from here on. The old one announced it."


def _accept_restore(now: datetime) -> tuple[dict[str, Any], str]:
    lost = checkpoints.accept_restore(actor=ACTOR, now=now)
    return {"lost": lost}, "Written down: " + ", ".join(f"{rows:,} rows of {name} were lost" for name, rows in lost.items()) + "."


ACTS: dict[str, Callable[[datetime], tuple[dict[str, Any], str]]] = {
    "anchor": _anchor,
    "rotate-key": _rotate_key,
    "accept-restore": _accept_restore,
}


WOULD = {
    "anchor": "Would write a signed checkpoint.",
    "rotate-key": "Would make a new key, which signs checkpoints and certificates from then on; the old one announces it.",
    "accept-restore": "Would write down that an older database was put back, and how many rows were lost.",
}


class Command(BaseCommand):
    help = (
        "anchor: write a signed checkpoint now. rotate-key: sign with a new key. accept-restore: say that an older database was put back."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("act", choices=sorted(ACTS))
        parser.add_argument("--commit", action="store_true", help="do it; without this it is only said what would be done")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *, act: str, **options: Any) -> None:
        if not options["commit"]:
            lost = checkpoints.lost_rows()
            said = {"act": act, "would_lose": lost}
            words = f"{WOULD[act]} Rows that a checkpoint names and this database lacks: {sum(lost.values()):,}. Do it with --commit."
        else:
            said, words = self._act(act)
        self.stdout.write(json.dumps(said) if options["json"] else words)

    def _act(self, act: str) -> tuple[dict[str, Any], str]:
        try:
            return ACTS[act](timezone.now())
        except (AnchorsUnusable, KeysUnusable, NothingLost) as problem:
            raise CommandError(str(problem)) from problem
