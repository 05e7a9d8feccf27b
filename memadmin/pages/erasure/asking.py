"""What the page of a request that waits says of its approval: whether this person can give it, and who else can."""

from __future__ import annotations

from typing import Any

from memadmin.access.actors import actor_of
from memadmin.access.humans import human_of
from memadmin.access.models import Person
from memadmin.access.rights import Right
from memadmin.erasure.approvers import approvers, involved_in
from memadmin.erasure.models import ErasureRequest, Status

SHOWN = 5


def question_of(person: Person, found: ErasureRequest) -> dict[str, Any]:
    """Return why this person cannot approve ("": they can) and who can, for a request that waits for it; nothing for any other."""
    if found.state != Status.AWAITING_APPROVAL:
        return {}
    able = approvers(found)
    names = [str(each) for each in able if each.pk != person.pk]
    return {"why_not": _why_not(person, found, able), "able": names[:SHOWN], "able_more": max(len(names) - SHOWN, 0)}


def _why_not(person: Person, found: ErasureRequest, able: list[Person]) -> str:
    if any(each.pk == person.pk for each in able):
        return ""
    if found.drill_id is not None:
        return "this is a drill: its own made-up person approves it"
    if person.may(Right.ERASURE_APPROVE) and human_of(actor_of(person)) in involved_in(found):
        return (
            "you took this request in, reviewed it or noted who asks, under this account or another one of yours: somebody else approves it"
        )
    return "you have no right to approve erasures"
