"""What people and programs are told while nobody is served: what is so, not what is so most often."""

from __future__ import annotations

from dataclasses import dataclass

from memadmin.erasure.restoring.guard import Reason, State

OLDER_DATABASE = {Reason.OLDER, Reason.ERASURES, Reason.UNFINISHED}


@dataclass(frozen=True, slots=True)
class Told:
    """`title` for people, `what` and `until` for programs and terminals too; `is_restored`: an older database is there for certain."""

    title: str
    what: str
    until: str
    is_restored: bool


def told(state: State) -> Told:
    """Return how to say it. An older database counts before a missing or damaged file: what was erased is there again for certain."""
    if OLDER_DATABASE.intersection(state.reasons):
        return Told("An older database was put back", "What was erased since that backup is in it again.", "it is erased again", True)
    first = state.reasons[0].label if state.reasons else "it is not known how new this database is"
    what = "Without it nobody can tell whether this database is an older one, with people in it who were erased since."
    if first.startswith("the checkpoints are"):
        what = what.replace("Without it", "Without them")
    return Told(f"{first[0].upper()}{first[1:]}", what, "what is written down outside the database is whole again", False)
