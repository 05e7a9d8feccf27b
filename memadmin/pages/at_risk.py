"""At risk across all users of a container: the memories with the lowest scores, with why each is low and when it goes."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django import forms
from django.db.models.functions import Left
from django.http import HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from memadmin.access.rights import Right
from memadmin.access.visibility import get_container
from memadmin.lifecycle import explain
from memadmin.lifecycle.fates import reasons_among
from memadmin.pages.decorators import may
from memadmin.pages.htmx import PersonRequest, problem, render_page
from memadmin.pages.lists import PAGE_SIZE, Paging
from memadmin.pages.outlook import in_words, sentence
from memadmin.pages.standing import standing, with_standing
from memadmin.store import policies
from memadmin.store.lowest import Lowest, lowest
from memadmin.store.models import Container, LongTermMemory, Subject
from memadmin.store.paging import InvalidPlace
from retention.rules import RelevanceRule, RetentionPolicy
from retention.scoring import score

BEGINNING = 400  # characters of a text
TRAIL = 20  # pages that one can turn back
LATEST = 253_402_300_799  # the end of the year 9999


class RiskForm(forms.Form):
    at = forms.IntegerField(required=False, min_value=0, max_value=LATEST)


@dataclass(frozen=True, slots=True)
class Place:
    """The last row of the page before, and the number of the row to go on with."""

    row: Lowest
    position: int

    def token(self) -> str:
        packed = json.dumps([self.row.score, self.row.accessed, self.row.id, self.position], separators=(",", ":"))
        return base64.urlsafe_b64encode(packed.encode()).decode().rstrip("=")

    @classmethod
    def read(cls, token: str) -> Place:
        """Raises InvalidPlace for what is no token of this list."""
        try:
            parts = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
            score_, accessed, key, position = parts
        except (binascii.Error, ValueError, TypeError, RecursionError):
            raise InvalidPlace("This address names no place in the list.") from None
        if not all(type(number) is int and abs(number) < 2**63 for number in (score_, accessed, key, position)):
            raise InvalidPlace("This address names no place in the list.")
        return cls(Lowest(score_, accessed, key), max(position, 1))


@require_safe
@may("memory.view")
def container_at_risk(request: PersonRequest, uid: UUID) -> HttpResponse:
    container = get_container(request.user, uid)
    policy = policies.current(container)
    rule, now, place = _rule(policy), _moment(request), _place(request)
    found = lowest(container, rule, now=now, count=PAGE_SIZE + 1, behind=place.row if place else None)
    context = {
        "container": container,
        "rows": _shown(container, found[:PAGE_SIZE], policy, now=now, may_read=request.user.may(Right.MEMORY_READ_TEXT)),
        "paging": _paging(request, container, found, place, now=now),
        "has_rule": policy is not None and policy.relevance is not None,
        "may_read": request.user.may(Right.MEMORY_READ_TEXT),
        "now": now,
    }
    return render_page(request, "at_risk/list.html", "at_risk/_table.html", context)


def _moment(request: PersonRequest) -> datetime:
    """Return the moment of all pages of one list, so that scores do not move between them."""
    form, now = RiskForm(request.GET), timezone.now().replace(microsecond=0)
    form.is_valid()
    at = form.cleaned_data.get("at")
    return min(datetime.fromtimestamp(at, UTC), now) if at else now


def _place(request: PersonRequest) -> Place | None:
    token = request.GET.get("after", "")
    try:
        return Place.read(token) if token else None
    except InvalidPlace as error:
        problem(request, f"{error} This is its beginning.")
        return None


def _rule(policy: RetentionPolicy | None) -> RelevanceRule:
    return (policy.relevance if policy else None) or RelevanceRule()


def _shown(
    container: Container, found: Sequence[Lowest], policy: RetentionPolicy | None, *, now: datetime, may_read: bool
) -> list[dict[str, Any]]:
    """Return rows as the table shows them. One that has gone meanwhile is left out."""
    memories = LongTermMemory.objects.of_container(container).defer("text", "parts", "metadata", "tags", "namespace", "embedding")
    memories = memories.annotate(beginning=Left("text", BEGINNING)) if may_read else memories
    stored = memories.in_bulk([row.id for row in found])
    users = with_standing().in_bulk({memory.subject_id for memory in stored.values()})
    rule = _rule(policy)
    reasons = reasons_among(container, policy, list(stored.values()), now=now) if policy else {}
    rows = []
    for memory in (stored[row.id] for row in found if row.id in stored):
        of_user = standing(users[memory.subject_id])
        scored = score(explain.facts_of(memory), weights=rule.weights, half_life=rule.half_life, now=now)
        rows.append(
            {
                "memory": memory,
                "subject": of_user.subject,
                "score": scored.millionths,
                "why": in_words(memory, scored, now=now),
                "when": sentence(memory, of_user, reasons.get(memory.pk, ()), now=now),
                "goes": of_user.badge if memory.pk in reasons and not of_user.blocked else "",
            }
        )
    return rows


def _paging(request: PersonRequest, container: Container, found: Sequence[Lowest], place: Place | None, *, now: datetime) -> Paging:
    first = place.position if place else 1
    last = first + min(len(found), PAGE_SIZE) - 1
    here, trail = request.GET.get("after", "") if place else "", request.GET.get("trail", "").split(".")[-TRAIL:] if place else []
    at = int(now.timestamp())
    following = Place(found[PAGE_SIZE - 1], last + 1).token() if len(found) > PAGE_SIZE else ""
    return Paging(
        first=first if found else 0,
        last=last if found else 0,
        total=max(last, _exposed(container)) if found else 0,
        next=f"{request.path}?at={at}&after={following}&trail={'.'.join([*trail, here])}" if following else "",
        previous=f"{request.path}?at={at}&after={trail[-1]}&trail={'.'.join(trail[:-1])}" if trail else "",
        noun="memories that are not pinned",
    )


def _exposed(container: Container) -> int:
    sums = Subject.objects.of_container(container).totals(["long_term", "pinned_long_term"])
    return sums["long_term"] - sums["pinned_long_term"]
