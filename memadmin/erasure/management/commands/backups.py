"""`backups`: the inventory of backups from a shell, so that the program that makes and deletes them can keep it."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from memadmin.erasure import backups
from memadmin.erasure.backups import AlreadyDestroyed, BackupSpec, BadBackup
from memadmin.erasure.models import BackupKind, BackupRecord

ACTOR = "command/backups"


class Command(BaseCommand):
    help = "Keep the inventory of backups: record one, say that one is destroyed, list them, say that the list is whole."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        recorded = verbs.add_parser("record", help="put a backup into the inventory; the same one twice is one")
        recorded.add_argument("--kind", choices=BackupKind.values, required=True)
        recorded.add_argument("--label", required=True, help="where it lies and what it is called there")
        recorded.add_argument("--began", metavar="ISO", help="when it was begun; without it: now")
        ends = recorded.add_mutually_exclusive_group(required=True)
        ends.add_argument("--days", type=int, help="for how many days it is kept")
        ends.add_argument("--expires", metavar="ISO", help="when it ends")
        recorded.add_argument("--key", default="", help="the name of the key that it is encrypted with")
        gone = verbs.add_parser("destroyed", help="say that a backup, and the key of its own, is gone")
        gone.add_argument("uid", type=UUID)
        gone.add_argument("--proof", required=True, help="what shows it: the line of the tool that deleted it, the number of a ticket")
        verbs.add_parser("list", help="list those that stand")
        verbs.add_parser("whole", help="say that every backup begun until now is in the inventory")
        for verb in verbs.choices.values():
            verb.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        acts: dict[str, Callable[..., tuple[dict[str, Any], str]]] = {
            "record": _record,
            "destroyed": _destroyed,
            "list": _list,
            "whole": _whole,
        }
        try:
            said, words = acts[options["verb"]](options, now=timezone.now())
        except (BadBackup, AlreadyDestroyed) as problem:
            raise CommandError(str(problem)) from problem
        self.stdout.write(json.dumps(said) if options["json"] else words)


def _record(options: dict[str, Any], *, now: datetime) -> tuple[dict[str, Any], str]:
    began = _time(options["began"]) if options["began"] else now
    expires = _time(options["expires"]) if options["expires"] else _later(began, options["days"])
    spec = BackupSpec(kind=BackupKind(options["kind"]), label=options["label"], started_at=began, expires_at=expires, key_id=options["key"])
    row = backups.record(spec, actor=ACTOR, now=now)
    return _said(row), f"Recorded {row.uid}, which ends {row.expires_at:%Y-%m-%d}."


def _destroyed(options: dict[str, Any], *, now: datetime) -> tuple[dict[str, Any], str]:
    row = BackupRecord.objects.filter(uid=options["uid"]).first()
    if row is None:
        raise CommandError(f"There is no backup {options['uid']} in the inventory.")
    backups.confirm_destroyed(row, options["proof"], actor=ACTOR, now=now)
    return _said(row), f"Noted that {row.uid} is destroyed."


def _list(options: dict[str, Any], *, now: datetime) -> tuple[dict[str, Any], str]:
    rows = list(BackupRecord.objects.filter(destroyed_at=None).order_by("expires_at", "pk"))
    lines = [f"{row.uid}  {row.get_kind_display():28}  ends {row.expires_at:%Y-%m-%d}  {row.label}" for row in rows]
    return {"backups": [_said(row) for row in rows]}, "\n".join(lines) or "No backup stands."


def _whole(options: dict[str, Any], *, now: datetime) -> tuple[dict[str, Any], str]:
    made = backups.check_inventory(actor=ACTOR, now=now)
    said = {"checked_at": made.checked_at.isoformat(), "standing": made.standing}
    return said, f"Noted that the inventory is whole: {made.standing:,} stand."


def _said(row: BackupRecord) -> dict[str, Any]:
    times = {name: getattr(row, name).isoformat() for name in ("started_at", "expires_at")}
    return {"uid": str(row.uid), "kind": row.kind, "label": row.label, **times, "destroyed": row.destroyed_at is not None}


def _later(began: datetime, days: int) -> datetime:
    try:
        return began + timedelta(days=days)
    except OverflowError:
        raise BadBackup(f"{days} days are more than a calendar has.") from None


def _time(text: str) -> datetime:
    """Return a time that knows its zone; UTC unless it says another. Raises BadBackup."""
    try:
        found = parse_datetime(text)
    except ValueError:
        found = None
    if found is None:
        raise BadBackup(f"{text} is no time: write it like 2026-11-30T03:00:00Z.")
    return found if found.tzinfo else timezone.make_aware(found)
