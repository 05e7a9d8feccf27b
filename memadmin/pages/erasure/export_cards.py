"""What a request's page says of the exports that were made for the person."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from memadmin.erasure.access_exports import left_out, starting
from memadmin.erasure.models import AccessExport, ErasureRequest, ExportState, Kind
from memadmin.erasure.models.access_exports import LIVE
from memadmin.store import locations

SHOWN = 6
STATES = {kind: {state.value for state in states} for kind, states in starting.STATES.items()}


@dataclass(frozen=True)
class ExportCard:
    """`live` is the one that is being made, waits or is handed out; `past` are those before it, newest first."""

    live: AccessExport | None
    past: list[AccessExport]
    may_make: bool
    is_answer: bool  # the request is answered by it
    given: bool  # some export was handed out
    included: list[tuple[str, int]]
    left_out: list[tuple[str, int]]

    @property
    def state(self) -> str:
        """Return the state of the newest export, "" where there is none."""
        newest = self.live or next(iter(self.past), None)
        return newest.state if newest else ""


def card_of(found: ErasureRequest) -> ExportCard | None:
    """Return the card, None for a request that has and gets no export. One query."""
    if not starting.is_for(found):
        return None
    exports = list(found.access_exports.order_by("-pk")[:SHOWN])
    may_make = found.state in STATES[Kind(found.kind)]
    if not exports and not may_make:
        return None
    live = exports[0] if exports and exports[0].state in LIVE else None
    told = live or next((each for each in exports if each.state == ExportState.COLLECTED), None)
    reasons: Counter[str] = Counter()
    for name, things in (told.left_out if told else {}).items():
        reasons[left_out.in_words(name.split(" ")[2])] += things
    return ExportCard(
        live,
        [each for each in exports if each is not live],
        may_make,
        found.kind == Kind.ACCESS,
        any(each.handed_at for each in exports),
        _titled(told.included.items() if told else []),
        reasons.most_common(),
    )


def _titled(counts: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    return [
        (locations.LOCATIONS[name].title if name in locations.LOCATIONS else "Requests of the person", number) for name, number in counts
    ]
