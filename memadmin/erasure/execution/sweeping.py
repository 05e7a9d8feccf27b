"""What came about the person since the search, beside items: recalls, lines of runs, events on their way, entries of the queue.

New items of the person send a request back before its execution begins, and the fence keeps more of them out. But agents recall until
then, and previews are made every night: such rows hang on what was approved, and go with it. They are added to the manifest first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from itertools import groupby

from memadmin.erasure import asking
from memadmin.erasure.execution.erasing import erase
from memadmin.erasure.models import ErasureRequest, Manifest
from memadmin.erasure.scope import scope_of
from memadmin.store import locations
from memadmin.store.locations import ItemClass, Location

AT_ONCE = 200
RECALLS = "store.recalls"
# See `users`; links come with items; see `access_exports.ending`; files of imports that run at this moment are not ours to take away.
BY_OTHERS = {"store.holds", "store.provenance", "access_exports.copies", "transfer.files"}


def sweep(request: ErasureRequest, manifest: Manifest, *, actor: str, now: datetime) -> int:
    """Erase what is there by now and was not in the manifest, and return how much that was. The caller has the transaction."""
    scope = replace(scope_of(manifest), erased_by=manifest.pk)
    last = manifest.items.order_by("-pk").values_list("pk", flat=True).first() or 0
    for place in _swept():
        after = asking.ask(manifest, scope, place, None, again=True)
        while after is not None:
            after = asking.ask(manifest, scope, place, after, again=True)
    new = manifest.items.filter(pk__gt=last).order_by("location", "pk")
    for name, found in groupby(new, key=lambda item: item.location):
        items = list(found)
        for at in range(0, len(items), AT_ONCE):
            erase(request, locations.get(name), items[at : at + AT_ONCE], actor=actor, now=now)
    return new.count()


def _swept() -> Iterator[Location]:
    """Yield the places of technical copies, and of recalls. What people or agents have said is reviewed first."""
    for place in asking.places():
        if (place.item_class == ItemClass.COPY or place.name == RECALLS) and place.name not in BY_OTHERS:
            yield place
