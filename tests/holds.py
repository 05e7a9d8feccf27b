"""Placing holds and restrictions in tests."""

from datetime import date
from typing import Any

from memadmin.store import holding
from memadmin.store.holding import Placing
from memadmin.store.models import Authority, Hold, HoldKind
from tests.factories import ACTOR, NOON


def hold(target: Any, *, kind: HoldKind = HoldKind.HOLD, authority: Authority = Authority.COURT_ORDER) -> Hold:
    what = Placing(kind=kind, authority=authority, reason="case 12 of 2026", review_on=date(2026, 9, 1))
    return holding.place(target, what, actor=ACTOR, now=NOON)


def restrict(target: Any) -> Hold:
    return hold(target, kind=HoldKind.RESTRICTION, authority=Authority.ACCURACY_CONTESTED)
