"""`reapply_erasures`: after a backup was put back, erase again what was erased since, and let everybody in."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any, NoReturn

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError
from django.utils import timezone

from memadmin.access.actors import actor_of
from memadmin.access.rights import Right
from memadmin.audit.anchors import AnchorsUnusable
from memadmin.audit.ledger import LedgerUnusable
from memadmin.erasure import shell
from memadmin.erasure.execution.readers import NotForgotten
from memadmin.erasure.models import Kind
from memadmin.erasure.restoring import guard, reapplying, standing
from memadmin.erasure.restoring.papers import ACTOR
from memadmin.erasure.restoring.reapplying import Busy, CannotApply, Done, Plan
from memadmin.erasure.restoring.replaying import NotDone
from memadmin.plurals import counted
from memadmin.store import configuration
from memadmin.store.suppression_keys import KeysUnusable
from memadmin.store.text import says_something

NOT_DONE, COULD_NOT_RUN, CUT_OFF = 1, 10, 21


class Command(BaseCommand):
    help = (
        "Erase again, in a database restored from a backup, what the ledger says was erased since. Exit code 0: in step;"
        " 1: something is left; 10: could not run; 21: the ledger or the checkpoints are missing, older or changed, and nothing was done."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--commit", action="store_true", help="do it; without this it is only said what would be done")
        parser.add_argument("--lift-stop", action="store_true", help="lift the emergency stop of erasures, where the backup has it set")
        parser.add_argument("--accept-loss", metavar="REASON", help="let the database be used though the ledger is lost for good")
        parser.add_argument("--as", dest="login", metavar="LOGIN", help="the administrator who accepts that; asks for the password")
        parser.add_argument("--password-stdin", action="store_true", help="the password is the first line of standard input")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, **options: Any) -> None:
        try:
            if options["accept_loss"] is not None:
                self._accept(options)
            else:
                self._reapply(options)
        except (CannotApply, LedgerUnusable) as problem:
            self._give_up(str(problem), CUT_OFF, options)
        except (KeysUnusable, AnchorsUnusable, DatabaseError, Busy) as problem:
            self._give_up(str(problem), COULD_NOT_RUN, options)
        except (NotDone, NotForgotten) as problem:
            self._give_up(f"{problem} Nobody is let in; run this again.", NOT_DONE, options)

    def _reapply(self, options: dict[str, Any]) -> None:
        found = reapplying.plan()
        if not options["commit"]:
            self._say(_would(found), _rows_of(found), options)
            return
        if options["lift_stop"]:
            configuration.change("erasure_paused", False, actor=ACTOR, now=timezone.now())
        done = reapplying.carry_out(found, on_erasure=lambda number: self._progress(number, found, options))
        self._say(_did(done) | {"correct_again": found.corrections}, [*_summary(done), *_to_correct(found), _standing()], options)

    def _accept(self, options: dict[str, Any]) -> None:
        if not says_something(options["accept_loss"]) or not options["login"]:
            raise CommandError("Say why, and who you are: --accept-loss REASON --as LOGIN.")
        state = guard.look()
        if not options["commit"]:
            words = "; ".join(reason.label for reason in state.reasons) or "nothing: the database is in step"
            self._say({"would_accept": [each.value for each in state.reasons]}, [f"Would accept: {words}."], options)
            return
        person = shell.person_of(options, Right.SETTING_CHANGE)
        reapplying.accept_loss(options["accept_loss"], actor=actor_of(person), now=timezone.now())
        self._say(
            {"accepted": [each.value for each in state.reasons]}, ["Written down in the ledger and in the log.", _standing()], options
        )

    def _progress(self, number: int, found: Plan, options: dict[str, Any]) -> None:
        if not options["json"]:
            self.stdout.write(f"{number} of {len(found.erasures)} erasures done")

    def _say(self, said: dict[str, Any], lines: list[str], options: dict[str, Any]) -> None:
        self.stdout.write(json.dumps(said | {"open": guard.look().is_open}) if options["json"] else "\n".join(lines))

    def _give_up(self, message: str, code: int, options: dict[str, Any]) -> NoReturn:
        if options["json"]:
            self.stdout.write(json.dumps({"open": False, "exit_code": code, "message": message}))
        else:
            self.stderr.write(message)
        raise SystemExit(code)


def _would(found: Plan) -> dict[str, Any]:
    return {
        "committed": False,
        "reasons": [reason.value for reason in found.state.reasons],
        "erasures": [
            {
                "number": each.facts["number"],
                "request": each.request,
                "kind": each.facts["kind"],
                "began_at": each.intent.at.isoformat(),
                "line": each.intent.seq,
                "users_here": sum(name in found.people for name in each.facts["subjects"]),
                "items_here": sum(name in found.things for name in each.facts["items"]),
            }
            for each in found.erasures
        ],
        "holds_to_place": len(found.holds.to_place),
        "holds_to_release": len(found.holds.to_release),
        "to_lift": len(standing.to_lift(found.lifted)),
        "correct_again": found.corrections,
        "lost_audit_rows": found.lost,
    }


def _rows_of(found: Plan) -> list[str]:
    if found.is_empty:
        return ["Nothing to do: this database is in step with its ledger and checkpoints."]
    said = _would(found)
    lines = [f"{'request':>8}  {'began':<20}  {'what':<48} {'users here':>10} {'items here':>10}"] if found.erasures else []
    lines += [
        f"{each['number']:>8}  {each['began_at'][:19]:<20}  {_kind(each['kind']):<48} {each['users_here']:>10,} {each['items_here']:>10,}"
        for each in said["erasures"]
    ]
    lost = sum(found.lost.values())
    lines += (
        [f"The audit log lacks {counted(lost, 'row that was anchored', 'rows that were anchored')}; a new epoch would say so."]
        if lost
        else []
    )
    lines += [
        f"Would erase again {counted(len(found.erasures), 'request')}, place {said['holds_to_place']:,} holds again, release"
        f" {said['holds_to_release']:,}, lift {counted(said['to_lift'], 'suppression')}. Do it with --commit."
    ]
    return lines + _to_correct(found)


def _kind(code: str) -> str:
    return str(Kind(code).label) if code in Kind.values else code  # the ledger may be of a later version


def _to_correct(found: Plan) -> list[str]:
    if not found.corrections:
        return []
    numbers = ", ".join(map(str, found.corrections))
    return [
        f"Corrected since the backup, and wrong again: what was asked for in request {numbers}. Correct it again; the letters say what."
    ]


def _did(done: Done) -> dict[str, Any]:
    return {"committed": True, **asdict(done)}


def _summary(done: Done) -> list[str]:
    return [
        f"Erased again {counted(done.erasures, 'request')} ({counted(done.items, 'item')}); placed {done.holds_placed:,} holds again,"
        f" released {done.holds_released:,}; suppressed {counted(done.suppressed, 'more user')},"
        f" lifted {counted(done.lifted, 'suppression')}."
    ]


def _standing() -> str:
    state = guard.look()
    return "Everybody is let in." if state.is_open else "NOT open: " + "; ".join(reason.label for reason in state.reasons) + "."
