"""Put back what a run evicted, or what a user has in the archive. Only shows what would come back until --commit."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from datetime import UTC, datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db.models import QuerySet
from django.utils import timezone

from memadmin.jobs.models import Job
from memadmin.jobs.runner import run_inline
from memadmin.lifecycle import comeback, restoring, runs
from memadmin.lifecycle.models import Run
from memadmin.lifecycle.states import WrongState
from memadmin.plurals import counted
from memadmin.store import suppression
from memadmin.store.models import Archived, Container, Subject

ACTOR = "command/restore_archived"


class Command(BaseCommand):
    help = __doc__ or ""

    def add_arguments(self, parser: ArgumentParser) -> None:
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--run", type=int, help="what this run evicted")
        what.add_argument("--user", help="what the archive has of this user id, in the container of --container")
        parser.add_argument("--container", help="the name of the user's container")
        parser.add_argument("--since", help="only what was evicted then or later (ISO 8601, UTC where no zone is given)")
        parser.add_argument("--commit", action="store_true", help="really put it back")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        now = timezone.now()
        run, subject, since = self._run(options), self._subject(options), _moment(options["since"])
        if run and since:
            raise CommandError("--since narrows the archive of a user. A run is restored as a whole.")
        copies = self._copies(run, subject, since)
        found = comeback.look_ahead(copies, now=now)
        restored = 0
        if options["commit"] and found.items:
            try:
                job = self._reserve(run, subject, since, now=now)
            except (WrongState, restoring.NothingToRestore) as error:
                raise CommandError(str(error)) from None
            restored = run_inline(job).done
        self._print(found, restored, options)

    def _run(self, options: dict[str, Any]) -> Run | None:
        if options["run"] is None:
            return None
        run: Run | None = Run.objects.select_related("container").filter(pk=options["run"]).first()
        if run is None:
            raise CommandError(f"There is no run {options['run']}.")
        return run

    def _subject(self, options: dict[str, Any]) -> Subject | None:
        if options["user"] is None:
            return None
        if not options["container"]:
            raise CommandError("Say with --container in which container the user is.")
        found = list(Subject.objects.filter(container__name=options["container"], user_id=options["user"])[:2])
        if len(found) > 1:
            raise CommandError("Several containers of this name have such a user.")
        if not found:
            raise CommandError(_why_nobody(options["container"], options["user"]))
        return found[0]

    def _copies(self, run: Run | None, subject: Subject | None, since: datetime | None) -> QuerySet[Archived]:
        if run is not None:
            return Archived.objects.of_run(run.number, run.container)
        assert subject is not None
        return restoring.copies_of(subject, since=since)

    def _reserve(self, run: Run | None, subject: Subject | None, since: datetime | None, *, now: datetime) -> Job:
        if run is not None:
            return runs.restore_run_reserved(run, actor=ACTOR, now=now)
        assert subject is not None
        return restoring.restore_user_reserved(subject, since=since, actor=ACTOR, now=now)

    def _print(self, found: comeback.Comeback, restored: int, options: dict[str, Any]) -> None:
        numbers = {
            "items": found.items,
            "already_there": found.there,
            "expired": found.expired,
            "past_limits": found.past,
            "users_over_a_cap": len(found.over),
            "would_go_again": found.again,
            "restored": restored,
            "committed": options["commit"],
        }
        if options["json"]:
            self.stdout.write(json.dumps(numbers))
            return
        verb, number = ("Restored", restored) if options["commit"] else ("Would restore", found.coming)
        self.stdout.write(f"{verb} {counted(number, 'item')}.")
        if found.barred:
            self.stdout.write(f"{found.barred:,} stay in the archive: their erasure was asked for or has been carried out.")
        if found.warns and options["commit"]:
            self.stdout.write(f"The next run would evict at least {found.again:,} again. Pin what must stay, or raise the limit.")
        elif found.warns:
            self.stdout.write(comeback.in_words(found))
        if not options["commit"]:
            self.stdout.write("Nothing was put back. With --commit it is.")


def _why_nobody(container: str, user_id: str) -> str:
    places = Container.objects.filter(name=container)
    if any(suppression.verdicts(place, [user_id], now=timezone.now()) for place in places):
        return "Somebody with this id was erased on request there: nothing of them is left that could be restored."
    return "There is no such user in a container of this name."


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise CommandError("--since is not a time like 2026-03-01 or 2026-03-01T12:00:00+00:00.") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
