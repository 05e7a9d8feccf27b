"""What came about the person since the search, beside items: recalls, lines of runs, events on their way, entries of the queue.

New items of the person send a request back before its execution begins, and the fence keeps more of them out. But agents recall until
then, and previews are made every night: such rows hang on what was approved, and go with it. They are added to the manifest first.
There can be hundreds of thousands, so they go page by page; the last look is taken together with the rows of the users.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any

from memadmin.erasure import asking
from memadmin.erasure.execution.erasing import erase
from memadmin.erasure.models import ErasureRequest, Manifest
from memadmin.erasure.scope import RequestScope, scope_of
from memadmin.store.locations import ItemClass, Location

PAGE = 2_000  # rows of a place that one transaction takes
AT_ONCE = 200
RECALLS = "store.recalls"
# See `users`; links come with items; see `access_exports.ending`; files of imports that run at this moment are not ours to take away.
BY_OTHERS = {"store.holds", "store.provenance", "access_exports.copies", "transfer.files"}


def places() -> list[Location]:
    """Return the places of technical copies, and of recalls. What people or agents have said is reviewed first."""
    asked = [place for place in asking.places() if place.item_class == ItemClass.COPY or place.name == RECALLS]
    return [place for place in asked if place.name not in BY_OTHERS]


@dataclass(frozen=True)
class Sweep:
    """What one execution takes along in a transaction of the caller's. Whom it is about is asked once for all places."""

    request: ErasureRequest
    manifest: Manifest
    actor: str
    now: datetime

    @cached_property
    def scope(self) -> RequestScope:
        return replace(scope_of(self.manifest), erased_by=self.manifest.pk)

    def page(self, place: Location, after: Any) -> Any:
        """Erase what is in one page of a place by now and was not in the manifest, and return where the next begins, None: nowhere."""
        last = self.manifest.items.order_by("-pk").values_list("pk", flat=True).first() or 0
        after = asking.ask_for_rest(self.manifest, self.scope, place, after, most=PAGE)
        new = list(self.manifest.items.filter(pk__gt=last).order_by("pk"))
        for at in range(0, len(new), AT_ONCE):
            erase(self.request, place, new[at : at + AT_ONCE], actor=self.actor, now=self.now)
        return after

    def everything(self) -> None:
        """Sweep every place to its end: for the little that came since they were swept one by one."""
        for place in places():
            after = self.page(place, None)
            while after is not None:
                after = self.page(place, after)
