"""What was tried and refused is in the log too: who, what, and why not. The refused act itself has changed nothing."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from django.db import transaction

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.audit.models import Outcome
from memadmin.erasure.intake import target_of
from memadmin.erasure.models import ErasureRequest
from memadmin.erasure.moves import Refusal

P = ParamSpec("P")
R = TypeVar("R")


def audited(action: Action) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Run a verb `verb(request, …, actor=…, now=…)` in one transaction; where it refuses, note that in a transaction of its own."""

    def decorate(verb: Callable[P, R]) -> Callable[P, R]:
        @wraps(verb)
        def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                with transaction.atomic():
                    return verb(*args, **kwargs)
            except Refusal as refusal:
                _note(action, args[0], kwargs, refusal)
                raise

        return guarded

    return decorate


@transaction.atomic
def _note(action: Action, request: Any, details: dict[str, Any], refusal: Refusal) -> None:
    assert isinstance(request, ErasureRequest)
    target = target_of(request)
    log.append(action, actor=details["actor"], target=target, at=details["now"], outcome=Outcome.REFUSED, reason_code=refusal.code)
