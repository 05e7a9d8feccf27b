"""Mentions by what they share: with thousands of them, a reviewer decides about a name or a form of words, and not about each item.

Items are of one group where all names and passages that they have of the person are exactly the same. So what is decided about a form of
words that everybody uses never touches an item that has something else of the person too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Min, Q, QuerySet

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.erasure import bulk_decisions, deciding
from memadmin.erasure.deciding import NotDecidable, Verdict
from memadmin.erasure.intake import target_of
from memadmin.erasure.mentions import COPY, EVERYBODY_SAYS, IDENTIFIER
from memadmin.erasure.models import Decision, ErasureRequest, Manifest
from memadmin.erasure.refusals import audited
from memadmin.store.locations import Act, ItemClass

MANY_NAME = 10  # users; where so many write a name, it may be a word, or the name of others
NOT_ABOUT_THEM = "not_about_them"
COMMON = {COPY: EVERYBODY_SAYS, IDENTIFIER: MANY_NAME}  # from how many users on what they share may be nobody's own
MOST_GROUPS = 500  # decided about one by one at once


@dataclass(frozen=True, slots=True)
class Group:
    """Items that share exactly the same names and passages. `first` is one of them, to show what that is.

    `notes` are those of the items that belong to no user: what people wrote beside entries of the log, and the like.
    """

    matched: str
    why: str
    items: int
    users: int
    waiting: int
    first: int
    notes: int = 0

    @property
    def is_common(self) -> bool:
        shared = self.users + self.notes
        return bool(self.matched) and shared >= COMMON.get(self.why, EVERYBODY_SAYS)  # without: from before there were groups


def groups_of(manifest: Manifest, *, waiting: bool = False) -> list[Group]:
    """Return the groups of a manifest's mentions, the largest first; `waiting`: those alone about which somebody has to decide."""
    waits = Count("pk", filter=Q(decision=Decision.WAITING))
    found = (
        _mentions(manifest)
        .values("matched")
        .annotate(
            why=Min("reason_code", filter=Q(reason_code__in=list(COMMON))),
            items=Count("pk"),
            users=Count("subject_id", distinct=True),
            notes=Count("pk", filter=Q(subject_id__isnull=True)),
            waiting=waits,
            first=Min("pk"),
        )
    )
    rows = found.filter(waiting__gt=0) if waiting else found
    return [Group(**{**row, "why": row["why"] or ""}) for row in rows.order_by("-items", "matched")]


@audited(Action.ERASURE_DECIDED)
def decide_shared(request: ErasureRequest, matched: Sequence[str], verdict: Verdict, *, actor: str, now: datetime) -> int:
    """Treat what waits in these groups so, and return how many items that were. Raises NotDecidable, WrongState."""
    groups = set(matched)
    if len(groups) > MOST_GROUPS:
        raise NotDecidable(f"At most {MOST_GROUPS:,} lines are decided about at once, and these are {len(groups):,}. Nothing was decided.")
    return _settle(deciding.in_review(request), groups, verdict, actor=actor, now=now)


@audited(Action.ERASURE_DECIDED)
def leave_common(request: ErasureRequest, *, actor: str, now: datetime) -> int:
    """Leave with its owners what waits and many users share: it is about nobody. Raises NotDecidable, WrongState."""
    manifest = deciding.in_review(request)
    common = {group.matched for group in groups_of(manifest, waiting=True) if group.is_common}
    return _settle(manifest, common, Verdict(act=Act.KEEP, code=NOT_ABOUT_THEM), actor=actor, now=now)


def _settle(manifest: Manifest, groups: set[str], verdict: Verdict, *, actor: str, now: datetime) -> int:
    request = manifest.request
    deciding.check([ItemClass.MENTION], verdict, deciding.codes_for(request.kind, verdict.act), now=now)
    waiting = _mentions(manifest).filter(matched__in=groups, decision=Decision.WAITING)
    deciding.check_places(waiting, verdict)
    changed = bulk_decisions.decide(manifest, waiting, verdict, actor=actor, now=now)
    if not changed:
        raise NotDecidable("Nothing of this waits for a decision (any more).")
    counts = {"items": changed, "groups": len(groups)}
    log.append(
        Action.ERASURE_DECIDED, actor=actor, target=target_of(request), at=now, reason_code=verdict.code or verdict.act.value, counts=counts
    )
    return changed


@audited(Action.ERASURE_DECIDED)
def accept_uncommon(request: ErasureRequest, *, actor: str, now: datetime) -> int:
    """Decide that the words are taken out of all mentions that wait, but those that many users share. Raises NotDecidable, WrongState."""
    manifest = deciding.in_review(request)
    common = [group.matched for group in groups_of(manifest, waiting=True) if group.is_common]
    changed = bulk_decisions.decide(manifest, _mentions(manifest).exclude(matched__in=common), None, actor=actor, now=now)
    if not changed:
        raise NotDecidable("What waits is shared by many users: decide about each name or form of words.")
    counts = {"items": changed, "groups_left": len(common)}
    log.append(Action.ERASURE_DECIDED, actor=actor, target=target_of(request), at=now, reason_code="as_planned", counts=counts)
    return changed


def _mentions(manifest: Manifest) -> QuerySet[Any]:
    return manifest.items.filter(item_class=ItemClass.MENTION).exclude(decision=Decision.NONE).order_by()
