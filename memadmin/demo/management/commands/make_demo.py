import json
import sys
import time
from datetime import datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from memadmin.access.demo_people import DemoLogin, make_demo_people
from memadmin.access.roles import Role
from memadmin.demo.loading import Loaded, OtherDemo, load, standing
from memadmin.demo.recipe import CAST_FROM_MEMORIES, CAST_FROM_USERS, BadRecipe, Recipe
from memadmin.store.counts import store_counts

WHAT_FOR = {
    Role.SUPPORT: "opens a user's memories, sees why each is kept, pins and unpins",
    Role.POLICY_EDITOR: "edits policies, previews victims, publishes, starts and undoes runs; reads no texts",
    Role.COMPLIANCE: "reads memories and the audit log, exports",
    Role.AUDITOR: "reads everything that was done, changes nothing",
    Role.ADMINISTRATOR: "people, settings, schedules, imports; sees nobody's memories",
}


class Command(BaseCommand):
    help = "Load the demo: the support agent of an invented pharmacy, at any size. A second run adds nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--users", type=int, metavar="N", help="how many users (default 200, or one for 25 memories)")
        parser.add_argument("--memories", type=int, metavar="N", help="how many long-term memories (default 25 for each user)")
        parser.add_argument("--seed", type=int, metavar="S", help="another seed makes other people and chats (default 1)")
        parser.add_argument("--people", action="store_true", help="make the demo people, too, or give them new passwords, and print these")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        began, now = time.monotonic(), timezone.now()
        try:
            loaded = _load(_recipe(options, now=now), now=now)
        except (BadRecipe, OtherDemo) as error:
            raise CommandError(str(error)) from error
        logins = make_demo_people(now) if options["people"] else []
        if options["json"]:
            self.stdout.write(json.dumps(_as_json(loaded, logins)))
            return
        self._print(loaded, seconds=time.monotonic() - began)
        for made in logins:
            self.stdout.write(f"  {made.login:<6} {made.password}   {', '.join(made.roles)}: {_purpose(made)}")

    def _print(self, loaded: Loaded, *, seconds: float) -> None:
        recipe = loaded.recipe
        if loaded.was_there:
            self.stdout.write(f"The demo is here already, as of {recipe.as_of:%d %B %Y}. Nothing was added.")
        else:
            self.stdout.write(f"Loaded the demo in {seconds:.1f} s.")
        self.stdout.write("The store now holds:")
        for name, value in store_counts().items():
            self.stdout.write(f"  {name.replace('_', ' '):<12} {value:>14,}")
        if not recipe.has_cast:
            self.stdout.write(f"The worked example is in demos of {CAST_FROM_USERS} users and {CAST_FROM_MEMORIES:,} memories or more.")
        if not loaded.in_force:
            self.stdout.write("Retention was off and other containers live here, so it stays off; the demo's policy is a draft.")


def _recipe(options: dict[str, Any], *, now: datetime) -> Recipe:
    """Without numbers the demo that is there is meant, of whatever size."""
    given = {name: options[name] for name in ("users", "memories", "seed")}
    there = standing()
    if there is not None and set(given.values()) == {None}:
        return there
    return Recipe.of(**given, as_of=now)


def _load(recipe: Recipe, *, now: datetime) -> Loaded:
    columns = (TextColumn("Loading the demo"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task("", total=recipe.memories)
        return load(recipe, now=now, on_batch=lambda memories: progress.advance(task, memories))


def _purpose(made: DemoLogin) -> str:
    return "; ".join(purpose for role, purpose in WHAT_FOR.items() if role.label in made.roles)


def _as_json(loaded: Loaded, logins: list[DemoLogin]) -> dict[str, Any]:
    return {
        "recipe": loaded.recipe.to_json(),
        "already_there": loaded.was_there,
        "added": {str(name): number for name, number in loaded.new.items()},
        "retention_in_force": loaded.in_force,
        "store": store_counts(),
        "people": [{**made._asdict(), "purpose": _purpose(made)} for made in logins],
    }
