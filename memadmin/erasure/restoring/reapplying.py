"""Applying the ledger to an older database that was put back, and letting it be used.

    check     the ledger is whole and as new as the checkpoints say, its files agree, its keys are there; else nothing is done
    epoch     the audit log goes on in a new epoch, whose first entry names the row that was anchored last and is lost
    holds     what must be kept is held again, what was released is not
    erasures  each one that this database does not know, oldest first: `replaying`
    standing  whom they name is refused as before; what was lifted is lifted
    end       a line in the ledger, an entry in the log, a checkpoint: only then the guard lets anybody in

It may be killed at any place, and goes on when it is called again. A second time it finds nothing to do.
"""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from memadmin.audit import anchors, checkpoints, ledger, log
from memadmin.audit.actions import Action
from memadmin.audit.ledger import Line
from memadmin.erasure.intake import Thing
from memadmin.erasure.restoring import guard, matching, standing, told
from memadmin.erasure.restoring.guard import Reason, State
from memadmin.erasure.restoring.papers import ACTOR, made_again
from memadmin.erasure.restoring.replaying import Moment, NotDone, replay
from memadmin.erasure.restoring.standing import Holds
from memadmin.erasure.restoring.told import Erasure
from memadmin.store import configuration

IN_THE_WAY = {Reason.LEDGER_GONE, Reason.LEDGER_OLDER, Reason.LEDGER_DAMAGED, Reason.CHECKPOINTS_GONE, Reason.CHECKPOINTS_DAMAGED}
WORDS = {
    Reason.LEDGER_GONE: "The ledger of erasures is not in {ledger}, and this database knows of erasures. Put its files back.",
    Reason.LEDGER_OLDER: "The ledger in {ledger} lacks lines that the checkpoints name: it is an older copy, or lines were cut off."
    " Put the newest copy back.",
    Reason.CHECKPOINTS_GONE: "The checkpoints are not in {anchors}, and the log says that there are some. Put the folder back.",
}


class CannotApply(Exception):
    """The ledger or the checkpoints are missing, older, or changed: nothing was done."""


class Busy(Exception):
    """Another process applies the ledger right now."""


@dataclass(slots=True)
class Plan:
    """What the ledger knows and this database does not."""

    state: State
    erasures: list[Erasure] = field(default_factory=list)
    holds: Holds = field(default_factory=Holds)
    lifted: list[Line] = field(default_factory=list)
    corrections: list[int] = field(default_factory=list)  # numbers of requests for which something has to be corrected again
    lines: int = 0
    lost: dict[str, int] = field(default_factory=dict)
    people: dict[str, int] = field(default_factory=dict)
    things: dict[str, Thing] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """In step with the ledger: the database says itself what is held, and knows of acts that came after a line."""
        return self.state.is_open


@dataclass(slots=True)
class Done:
    erasures: int = 0
    items: int = 0
    holds_placed: int = 0
    holds_released: int = 0
    suppressed: int = 0
    lifted: int = 0
    exports_ended: int = 0
    corrections_lost: int = 0


def plan() -> Plan:
    """Compare, and change nothing. Raises CannotApply, KeysUnusable, AnchorsUnusable."""
    state = guard.look()
    _check(state)
    if state.is_open:
        return Plan(state)
    lines = ledger.lines()
    missing = guard.missing(told.erasures(lines))
    holds = told.holds(lines)
    named = [line for each in holds for line in [each.placed] if line is not None and each.released is None]
    people = matching.users(
        [(each.facts["key_id"], name) for each in missing for name in each.facts["subjects"]]
        + [(line.facts["key_id"], line.facts["subject"]) for line in named if line.facts["subject"]]
    )
    things = matching.things(
        [(each.facts["key_id"], name) for each in missing for name in each.facts["items"]]
        + [(line.facts["key_id"], line.facts["item"]) for line in named if line.facts["item"]]
    )
    return Plan(
        state=state,
        erasures=missing,
        holds=standing.holds_of(holds, people, things),
        lifted=told.lifted(lines),
        corrections=standing.lost_corrections(told.corrected(lines)),
        lines=len(lines),
        lost=checkpoints.lost_rows(),
        people=people,
        things=things,
    )


def carry_out(found: Plan, *, fixed: Moment = None, on_erasure: Callable[[int], object] = lambda _number: None) -> Done:
    """Do it. Raises NotDone, LedgerUnusable, and what an execution raises: then nobody is let in, and it is called again."""
    done = Done()
    if found.is_empty:
        return done
    if found.erasures and configuration.value("erasure_paused"):
        raise NotDone("The emergency stop of erasures is set in this database: lift it with --lift-stop.")
    with _alone():
        if found.lost:
            checkpoints.accept_restore(actor=ACTOR, now=_now(fixed))
        done.holds_placed, done.holds_released = standing.settle_holds(found.holds, now=_now(fixed))
        for each in found.erasures:
            request = made_again(each, found.people, found.things, now=_now(fixed))
            done.items += replay(request, each, now=_now(fixed), fixed=fixed)
            done.suppressed += standing.remember(each, now=_now(fixed))
            done.erasures += 1
            on_erasure(done.erasures)
        done.lifted = standing.lift(standing.to_lift(found.lifted), now=_now(fixed))
        done.exports_ended = standing.end_exports(now=_now(fixed))
        done.corrections_lost = len(found.corrections)
        _end(found, done, now=_now(fixed))
    guard.look_again()
    return done


@transaction.atomic
def accept_loss(reason: str, *, actor: str, now: datetime) -> None:
    """Let the database be used though the ledger cannot be applied to it: what is lost is written down.

    Raises CannotApply, LedgerUnusable.
    """
    state = guard.look()
    if {Reason.LEDGER_DAMAGED, Reason.CHECKPOINTS_DAMAGED} & set(state.reasons):
        raise CannotApply(f"{state.detail} Move the damaged file out of the way first, and keep it: it is evidence.")
    if checkpoints.lost_rows():
        checkpoints.accept_restore(actor=actor, now=now)
    lines = ledger.lines()
    facts = {"by": actor, "lines": len(lines), "reasons": [each.value for each in state.reasons]}
    line = ledger.write("loss_accepted", request="", at=now, facts=facts)
    counts = {"lines": len(lines), "erasures": len(guard.missing(told.erasures(lines)))}
    log.append(
        Action.LEDGER_LOSS_ACCEPTED, actor=actor, target=f"ledger/{line.hash}", at=now, counts=counts, payload={"reason": reason.strip()}
    )
    transaction.on_commit(lambda: _anchor_anew(now))


def _anchor_anew(now: datetime) -> None:
    checkpoints.anchor_loss_of_ledger(now=now)
    guard.look_again()


def _check(state: State) -> None:
    """Raise CannotApply for what has to be put right first."""
    wrong = [reason for reason in state.reasons if reason in IN_THE_WAY]
    if not wrong:
        faults = anchors.read(checkpoints.folder()).faults
        if faults:
            raise CannotApply(f"Line {faults[0][0]} of the checkpoints is not what was written: {faults[0][1]}.")
        return
    where = {"ledger": ledger.names(), "anchors": checkpoints.folder()}
    raise CannotApply(WORDS[wrong[0]].format(**where) if wrong[0] in WORDS else state.detail)


def _end(found: Plan, done: Done, *, now: datetime) -> None:
    numbers = {
        "erasures": done.erasures,
        "items": done.items,
        "holds_placed": done.holds_placed,
        "holds_released": done.holds_released,
        "suppressed": done.suppressed,
        "lifted": done.lifted,
        "exports_ended": done.exports_ended,
        "corrections_lost": done.corrections_lost,
        "lines": found.lines,
    }
    with transaction.atomic():
        log.append(Action.LEDGER_REPLAYED, actor=ACTOR, target=f"ledger/{_last_hash(ledger.lines())}", at=now, counts=numbers)
        ledger.write("replayed", request="", at=now, facts=numbers)
    checkpoints.write(actor=ACTOR, now=now)


def _last_hash(lines: Sequence[Line]) -> str:
    return lines[-1].hash if lines else ledger.FIRST


def _now(fixed: Moment) -> datetime:
    return fixed or timezone.now()


@contextmanager
def _alone() -> Iterator[None]:
    """Let one process apply the ledger at a time. Raises Busy."""
    path = Path(f"{settings.ERASURE_LEDGERS[0]}.applying")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Busy("Another process applies the ledger right now: wait for it.") from None
        yield
