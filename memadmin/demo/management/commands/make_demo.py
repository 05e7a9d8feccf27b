import json
import sys
import time
from collections import Counter
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from memadmin.demo.loading import Loaded, OtherDemo, load, standing
from memadmin.demo.recipe import CAST_FROM_MEMORIES, CAST_FROM_USERS, BadRecipe, Recipe
from memadmin.store.counts import store_counts


class Command(BaseCommand):
    help = "Load the demo: the support agent of an invented pharmacy, at any size. A second run adds nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--users", type=int, metavar="N", help="how many users (default 200, or one for 25 memories)")
        parser.add_argument("--memories", type=int, metavar="N", help="how many long-term memories (default 25 for each user)")
        parser.add_argument("--seed", type=int, metavar="S", help="another seed makes other people and chats (default 1)")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        began = time.monotonic()
        now = timezone.now()
        try:
            recipe = _recipe(options, now=now)
            loaded = self._load(recipe, now=now)
        except (BadRecipe, OtherDemo) as error:
            raise CommandError(str(error)) from error
        counts = store_counts()
        if options["json"]:
            self.stdout.write(json.dumps(_as_json(loaded, counts)))
        else:
            self._print(loaded, counts, seconds=time.monotonic() - began)

    def _load(self, recipe: Recipe, *, now: Any) -> Loaded:
        console = Console(stderr=True)
        columns = (TextColumn("Loading the demo"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
        with Progress(*columns, console=console, transient=True, disable=not sys.stderr.isatty()) as progress:
            task = progress.add_task("", total=recipe.memories)
            return load(recipe, now=now, on_batch=lambda memories: progress.advance(task, memories))

    def _print(self, loaded: Loaded, counts: dict[str, int], *, seconds: float) -> None:
        recipe = loaded.recipe
        if loaded.was_there:
            self.stdout.write(f"The demo is here already, as of {recipe.as_of:%d %B %Y}. Nothing was added.")
        else:
            self.stdout.write(f"Loaded the demo in {seconds:.1f} s. The store now holds:")
        for name, value in counts.items():
            self.stdout.write(f"  {name.replace('_', ' '):<12} {value:>14,}")
        if not recipe.has_cast:
            self.stdout.write(f"The worked example is in demos of {CAST_FROM_USERS} users and {CAST_FROM_MEMORIES:,} memories or more.")
        if not loaded.in_force:
            self.stdout.write("Retention was off and other containers live here, so it stays off; the demo's policy is a draft.")


def _recipe(options: dict[str, Any], *, now: Any) -> Recipe:
    """What is not asked for follows from the demo that is there: `up --demo` takes any size."""
    given = {name: options[name] for name in ("users", "memories", "seed")}
    there = standing()
    if there is not None and set(given.values()) == {None}:
        return there
    return Recipe.of(**given, as_of=now)


def _as_json(loaded: Loaded, counts: dict[str, int]) -> dict[str, Any]:
    return {
        "recipe": loaded.recipe.to_json(),
        "already_there": loaded.was_there,
        "added": dict(Counter({str(name): number for name, number in loaded.new.items()})),
        "retention_in_force": loaded.in_force,
        "store": counts,
    }
