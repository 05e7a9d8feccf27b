"""Refusals of the API that the log keeps: a scope that a token lacks, and what was erased and came again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from memadmin.access import refusals
from memadmin.access.models import ApiToken
from memadmin.access.principals import Principal
from memadmin.access.scopes import Scope
from memadmin.audit.actions import Action
from memadmin.store import arrivals
from memadmin.store.opening import Suppressed


def note_missing_scope(principal: Principal, scope: Scope, *, now: datetime) -> None:
    refusals.note(Action.ACCESS_REFUSED, actor=principal.actor, target=f"scopes/{scope.value}", lacks=scope.value, now=now)


def note_ended(token: ApiToken, *, now: datetime) -> None:
    """Write down that somebody came with a token that has ended. A program that goes on trying is one entry a sealing."""
    lacks = "token_expired" if token.revoked_at is None else "token_revoked"
    refusals.note(Action.ACCESS_REFUSED, actor=f"token/{token.uid}", target=f"token/{token.uid}", lacks=lacks, now=now, at_most=1)


def note_erased(principal: Principal, refusal: Suppressed, *, now: datetime) -> None:
    """Write down that something was refused because it was erased. Whom it was about is not in the log."""
    target = arrivals.target_of(refusal.container, arrivals.Way.API)
    refusals.note(Action.ARRIVALS_REFUSED, actor=principal.actor, target=target, lacks=arrivals.ERASED, now=now)


@contextmanager
def noting_the_erased(principal: Principal, *, now: datetime) -> Iterator[None]:
    try:
        yield
    except Suppressed as refusal:
        note_erased(principal, refusal, now=now)
        raise
