"""The verb: load the demo into the store, in batches and in constant memory. Loading it twice adds nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice

from django.db import transaction

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.audit.models import AuditEntry
from memadmin.demo import governing, traces
from memadmin.demo.recipe import CLINIC, LOYALTY, MAIN, Recipe
from memadmin.store import ingest, policies
from memadmin.store.ingest import Arrival
from memadmin.store.models import Container, ItemType, PolicyState

ACTOR = "command/make_demo"
BATCH = 4_000  # items in one transaction
DESCRIPTIONS = {
    MAIN: "Customer support of an invented chain of pharmacies: orders, refills, deliveries, allergies.",
    CLINIC: "Appointments of an invented clinic. Nobody has set a retention policy here.",
    LOYALTY: "The loyalty programme's chat. Opted out of retention.",
}


class OtherDemo(Exception):
    """The store holds a demo of another size or seed, and one store holds one demo."""

    def __init__(self, recipe: Recipe) -> None:
        made = f"{recipe.users:,} users, {recipe.memories:,} memories, seed {recipe.seed}"
        super().__init__(f"The demo is here already, made with {made}. For another one use an empty database (DATABASE_URL).")


@dataclass
class Loaded:
    """What has been written; nothing if the demo was there. `in_force` is false where retention was left off."""

    recipe: Recipe
    new: Counter[str] = field(default_factory=Counter)
    was_there: bool = False
    in_force: bool = True


def standing() -> Recipe | None:
    """Return the recipe of the demo that the store holds, finished or not."""
    container = Container.objects.filter(external_id=_external_id(MAIN)).first()
    return None if container is None else Recipe.from_json(container.configuration["demo"])


def load(wanted: Recipe, *, now: datetime, on_batch: Callable[[int], None] = lambda memories: None) -> Loaded:
    """Load the demo, or what is missing of one that was interrupted; `on_batch` is told how many memories came with each batch.

    Raises OtherDemo when the store holds one of another size or seed.
    """
    recipe = standing() or wanted
    if (recipe.users, recipe.memories, recipe.seed) != (wanted.users, wanted.memories, wanted.seed):
        raise OtherDemo(recipe)
    loaded = Loaded(recipe)
    if AuditEntry.objects.filter(action=Action.DEMO_LOADED).exists():
        loaded.was_there = True
        return loaded
    containers = {name: _open(name, recipe, now=now) for name in (MAIN, CLINIC, LOYALTY)}
    if not governing.has_begun(containers[MAIN]):
        _fill(containers, loaded, now=now, on_batch=on_batch)
    loaded.in_force = governing.govern(containers[MAIN], recipe, demo=containers.values(), actor=ACTOR, now=now)
    _complete(containers, recipe, now=now)
    return loaded


def _fill(containers: Mapping[str, Container], loaded: Loaded, *, now: datetime, on_batch: Callable[[int], None]) -> None:
    for name, container in containers.items():
        for batch in _batches(loaded.recipe.items(name, actor=ACTOR)):
            written = ingest.write(container, batch, actor=ACTOR, now=now)
            loaded.new += written.new
            on_batch(written.new[ItemType.LONG_TERM] + written.unchanged[ItemType.LONG_TERM])


def _external_id(name: str) -> str:
    return f"demo/{name}"


def _open(name: str, recipe: Recipe, *, now: datetime) -> Container:
    container = Container.objects.filter(external_id=_external_id(name)).first()
    return container or ingest.create_container(
        name=name,
        actor=ACTOR,
        now=now,
        uid=recipe.uid(name),
        external_id=_external_id(name),
        description=DESCRIPTIONS[name],
        configuration={"demo": recipe.to_json()},
        created_at=recipe.as_of - timedelta(days=1200),
    )


def _batches(items: Iterable[Arrival]) -> Iterator[list[Arrival]]:
    source = iter(items)
    while batch := list(islice(source, BATCH)):
        yield batch


@transaction.atomic
def _complete(containers: Mapping[str, Container], recipe: Recipe, *, now: datetime) -> None:
    """Note that the demo is all there."""
    if containers[LOYALTY].policy_state == PolicyState.NEVER_SET:
        policies.opt_out(containers[LOYALTY], actor=ACTOR, now=now, base=None)
    traces.leave(containers[MAIN], as_of=recipe.as_of, actor=ACTOR, now=now)
    log.append(
        Action.DEMO_LOADED,
        actor=ACTOR,
        target=f"containers/{containers[MAIN].uid}",
        at=now,
        counts={"users": recipe.users, "memories": recipe.memories, "seed": recipe.seed},
    )
