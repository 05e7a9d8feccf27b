"""What a policy would do, as it is typed and before anybody keeps it: later, to the scores, to whom, and at other caps.

Each figure has an address of its own, so that none waits for another. None is stored.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from memadmin.access.rights import Right
from memadmin.access.visibility import get_container
from memadmin.lifecycle import whatif
from memadmin.lifecycle.backtesting import Window, backtest, varied
from memadmin.lifecycle.warnings import why_nothing_runs
from memadmin.pages import wording
from memadmin.pages.charts import WIDTH, Chart, stacked
from memadmin.pages.decorators import may
from memadmin.pages.forms import address_without_token
from memadmin.pages.htmx import PersonRequest, render_page
from memadmin.pages.policy_form import PolicyForm
from memadmin.store import policies
from memadmin.store.models import Container, Subject
from retention.rules import RelevanceRule, RetentionPolicy

DAYS = (0, 7, 30, 90)
MOST_DAYS = 3_650
LOSERS = 10
RECALL_DAYS = 30
REPLAYED = 8_000  # memories of users whose recalls are replayed for the page
BY_ITSELF = 2_000_000  # memories of a container whose figures are worked out without being asked for
MEASURED = 350_000  # memories a second of the slowest figure, see docs/retention.md

Figures = dict[str, Any]


@dataclass(frozen=True)
class Typed:
    """The policy of an address: as typed there, else that in force, else the usual values. None where what is typed is none."""

    container: Container
    policy: RetentionPolicy | None
    form: PolicyForm | None
    query: str

    @property
    def rule(self) -> RelevanceRule:
        return (self.policy.relevance if self.policy else None) or RelevanceRule()


def _typed(request: PersonRequest, uid: UUID) -> Typed:
    container = get_container(request.user, uid)
    said = request.GET.copy()
    standing = policies.current(container)
    if "base" not in said or not request.user.may(Right.POLICY_EDIT):
        return Typed(container, standing or RetentionPolicy(relevance=RelevanceRule()), None, "")
    form = PolicyForm(said, standing=standing)
    return Typed(container, form.policy if form.is_valid() else None, form, said.urlencode())


@require_safe
@may("policy.view")
def whatif_detail(request: PersonRequest, uid: UUID) -> HttpResponse:
    """All figures, which come one by one; without JavaScript links to them."""
    if tidied := address_without_token(request):
        return redirect(tidied)
    typed = _typed(request, uid)
    stored = Subject.objects.of_container(typed.container).totals(["long_term"])["long_term"]
    context = {
        **_shared(typed),
        "days": [(number, _later_words(number)) for number in DAYS],
        "stored": stored,
        "by_itself": stored <= BY_ITSELF,
        "seconds": max(1, round(stored / MEASURED)),
    }
    return render_page(request, "whatif/detail.html", "whatif/_parts.html", context, status=200 if typed.policy else 422)


@require_safe
@may("policy.view")
def whatif_later(request: PersonRequest, uid: UUID, days: int) -> HttpResponse:
    """What a run in so many days would take."""
    if days > MOST_DAYS:
        raise Http404

    def figures(typed: Typed, policy: RetentionPolicy, now: datetime) -> Figures:
        totals = whatif.going(typed.container, policy, now=now, days=days)
        return {"totals": totals, "days": days, "at": now + timedelta(days=days), "title": _later_words(days).capitalize()}

    return _part(request, uid, "later", figures)


@require_safe
@may("policy.view")
def whatif_scores(request: PersonRequest, uid: UUID) -> HttpResponse:
    """How the memories are spread over the scores, and where users are cut."""

    def figures(typed: Typed, policy: RetentionPolicy, now: datetime) -> Figures:
        found = whatif.scores(typed.container, policy, now=now)
        return {"scores": found, "chart": _histogram(found), "lines": _drawn(found.lines), "has_rule": policy.relevance is not None}

    return _part(request, uid, "scores", figures)


@require_safe
@may("policy.view")
def whatif_users(request: PersonRequest, uid: UUID) -> HttpResponse:
    """Who would lose most."""

    def figures(typed: Typed, policy: RetentionPolicy, now: datetime) -> Figures:
        losers = whatif.heaviest_losers(typed.container, policy, now=now, limit=LOSERS)
        subjects = Subject.objects.in_bulk([loser.subject_id for loser in losers])
        return {"losers": [(loser, subjects.get(loser.subject_id)) for loser in losers]}

    return _part(request, uid, "users", figures)


@require_safe
@may("policy.view")
def whatif_caps(request: PersonRequest, uid: UUID) -> HttpResponse:
    """What each cap of memories per user costs in tokens, and in recalls that could not have been answered."""

    def figures(typed: Typed, policy: RetentionPolicy, now: datetime) -> Figures:
        typed_cap = typed.rule.max_records
        caps = sorted({*whatif.CAPS, *([typed_cap] if typed_cap else [])})
        kept = whatif.kept_at_caps(typed.container, policy, now=now, caps=caps)
        variants = {str(each.cap): varied(policy, max_records=each.cap) for each in kept}
        window = Window(now - timedelta(days=RECALL_DAYS), now)
        replayed = backtest(typed.container, variants, window=window, most_memories=REPLAYED)
        rows = [(each, replayed.losses[str(each.cap)], each.cap == typed_cap) for each in kept]
        return {"rows": rows, "replayed": replayed, "recall_days": RECALL_DAYS, "token_cap": typed.rule.max_tokens}

    return _part(request, uid, "caps", figures)


def _part(request: PersonRequest, uid: UUID, name: str, figures: Callable[[Typed, RetentionPolicy, datetime], Figures]) -> HttpResponse:
    """Answer with one figure and how long it took; without the policy to judge by, with what is wrong with it."""
    typed, now, began = _typed(request, uid), timezone.now(), time.monotonic()
    context: Figures = {**_shared(typed), "now": now, "part": f"whatif/_{name}.html"}
    if typed.policy is not None:
        context.update(figures(typed, typed.policy, now))
    context["took"] = f"{time.monotonic() - began:.1f}"
    return render_page(request, "whatif/part.html", f"whatif/_{name}.html", context, status=200 if typed.policy else 422)


def _shared(typed: Typed) -> Figures:
    page = reverse("pages:policy-detail", args=[typed.container.uid])
    return {
        "container": typed.container,
        "form": typed.form,
        "policy": typed.policy,
        "sentences": wording.sentences_of(typed.policy) if typed.policy else [],
        "query": typed.query,
        "policy_url": f"{page}?{typed.query}" if typed.query else page,
        "blocked": why_nothing_runs(typed.container),
    }


def _later_words(days: int) -> str:
    return "now" if days == 0 else "tomorrow" if days == 1 else f"in {days:,} days"


def _histogram(found: whatif.Scores) -> Chart:
    columns = []
    for bar in found.bars:
        words = f"Score {bar.low / 10_000:g} to {bar.high / 10_000:g}: {bar.stays:,} stay, {bar.goes:,} go, {bar.exempt:,} pinned or held"
        columns.append((words, (("exempt", bar.exempt), ("stays", bar.stays), ("goes", bar.goes))))
    return stacked(columns)


def _drawn(lines: whatif.Lines | None) -> Figures | None:
    """Return the cut lines as points out of 100, and as places in the chart."""
    if lines is None:
        return None
    points = {name: f"{getattr(lines, name) / 10_000:.1f}" for name in ("lowest", "median", "highest")}
    places = {f"{name}_x": round(WIDTH * getattr(lines, name) / 1_000_000, 2) for name in ("lowest", "median", "highest")}
    return {**points, **places, "band": round(places["highest_x"] - places["lowest_x"], 2), "users": lines.users}
