"""Holds and restrictions: which there are, placing one, the notice before a restriction ends, and releasing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django import forms
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from memadmin.access.actors import actor_of, names_of
from memadmin.access.models import Person
from memadmin.access.rights import Right
from memadmin.access.visibility import visible_containers, visible_memories, visible_sessions, visible_subjects, within
from memadmin.audit.ledger import LedgerUnusable
from memadmin.erasure.destroyed import Destroyed, destroyed
from memadmin.pages.decorators import may
from memadmin.pages.htmx import PersonRequest, notice, problem, render_page
from memadmin.pages.lists import by_time, in_order, paging, slice_of
from memadmin.store import holding
from memadmin.store.holding import Holdable, Placing
from memadmin.store.models import Authority, Container, Hold, HoldKind, HoldScope, Subject
from memadmin.store.text import clean

SHOWN = {"standing": "Standing", "due": "To be reviewed", "released": "Released"}
SEEN: dict[str, Callable[[Person], Any]] = {
    HoldScope.CONTAINER.value: visible_containers,
    HoldScope.SUBJECT.value: visible_subjects,
    HoldScope.SESSION.value: visible_sessions,
    HoldScope.MEMORY.value: visible_memories,
}
DAY = forms.DateInput(attrs={"type": "date"})
REFUSED = (holding.NoReason, holding.AlreadyHeld, holding.Gone, holding.NotHeld, holding.NoticeMissing, LedgerUnusable)


class HoldForm(forms.Form):
    kind = forms.ChoiceField(
        choices=[(HoldKind.HOLD, "Hold: must not be destroyed"), (HoldKind.RESTRICTION, "Restriction: kept, but not used")],
        initial=HoldKind.HOLD,
        widget=forms.RadioSelect(attrs={"class": "form-check-input"}),
    )
    authority = forms.ChoiceField(choices=[("", "Choose…"), *Authority.choices], label="On whose word")
    reason = forms.CharField(max_length=1_000, help_text="The case or letter that asks for it. No names: it outlives the person.")
    review_on = forms.DateField(label="Look at it again on", widget=DAY)

    def clean_review_on(self) -> Any:
        day = self.cleaned_data["review_on"]
        if day < timezone.now().date():
            raise forms.ValidationError("That day has passed. Choose today or a later one.")
        return day

    def placing(self) -> Placing:
        given = self.cleaned_data
        return Placing(
            kind=HoldKind(given["kind"]),
            authority=Authority(given["authority"]),
            reason=clean(given["reason"]),
            review_on=given["review_on"],
        )


class DayForm(forms.Form):
    day = forms.DateField(widget=DAY)


@require_safe
@may("erasure.view")
def hold_list(request: PersonRequest) -> HttpResponse:
    state = request.GET.get("state", "standing")
    state = state if state in SHOWN else "standing"
    today = timezone.now().date()
    visible = within(request.user, Hold.objects.all())
    parts = {
        "standing": visible.filter(released_at__isnull=True),
        "due": visible.filter(released_at__isnull=True, review_on__lte=today),
        "released": visible.filter(released_at__isnull=False),
    }
    page = slice_of(request, parts[state].annotate(key=by_time("store_hold.placed_at")), key="key", descending=True)
    holds = in_order(Hold.objects.select_related("container", "subject"), page)
    context = {
        "holds": holds,
        "state": state,
        "states": [(name, label, parts[name].count()) for name, label in SHOWN.items()],
        "names": names_of([hold.placed_by for hold in holds] + [hold.released_by for hold in holds if hold.released_by]),
        "paging": paging(request, page, total=parts[state].count(), noun="holds"),
        "may_read": request.user.may(Right.MEMORY_READ_TEXT),
        "today": today,
    }
    return render_page(request, "holds/list.html", "holds/_table.html", context)


@require_safe
@may("erasure.hold")
def hold_new(request: PersonRequest, scope: str, uid: UUID) -> HttpResponse:
    target = _target(request.user, scope, uid)
    return _gone(request, target) if isinstance(target, Destroyed) else _form_page(request, target, scope, HoldForm())


@require_POST
@may("erasure.hold")
def hold_place(request: PersonRequest, scope: str, uid: UUID) -> HttpResponse:
    target, form = _target(request.user, scope, uid), HoldForm(request.POST)
    if isinstance(target, Destroyed):
        return _gone(request, target)
    if form.is_valid():
        try:
            hold = holding.place(target, form.placing(), actor=actor_of(request.user), now=timezone.now())
        except REFUSED as error:
            form.add_error(None, str(error))
        else:
            notice(request, "It is held." if hold.kind == HoldKind.HOLD else "It is restricted: no agent is given it from now on.")
            late = destroyed(request.user, target.uid)
            if late is not None and not late.is_complete:
                problem(request, f"The hold binds what is left. {late.sentence}")
            return redirect("pages:hold-list")
    return _form_page(request, target, scope, form, status=422)


@require_POST
@may("erasure.hold")
def hold_release(request: PersonRequest, uid: UUID) -> HttpResponse:
    reason = clean(request.POST.get("reason", ""))
    return _act(request, uid, lambda hold, who, now: holding.release(hold, reason=reason, actor=who, now=now), "Released.")


@require_POST
@may("erasure.hold")
def hold_notice(request: PersonRequest, uid: UUID) -> HttpResponse:
    return _with_day(request, uid, lambda hold, day, who, now: holding.record_notice(hold, sent_on=day, actor=who, now=now), "Noted.")


@require_POST
@may("erasure.hold")
def hold_review(request: PersonRequest, uid: UUID) -> HttpResponse:
    return _with_day(request, uid, lambda hold, day, who, now: holding.change_review(hold, review_on=day, actor=who, now=now), "Noted.")


def _with_day(request: PersonRequest, uid: UUID, act: Callable[..., None], words: str) -> HttpResponse:
    form = DayForm(request.POST)
    if not form.is_valid():
        problem(request, "Give a day, such as 2026-03-31.")
        return redirect("pages:hold-list")
    return _act(request, uid, lambda hold, who, now: act(hold, form.cleaned_data["day"], who, now), words)


def _act(request: PersonRequest, uid: UUID, act: Callable[..., None], words: str) -> HttpResponse:
    hold = get_object_or_404(within(request.user, Hold.objects.all()), uid=uid)
    try:
        act(hold, actor_of(request.user), timezone.now())
    except REFUSED as error:
        problem(request, str(error))
    else:
        notice(request, words)
    return redirect("pages:hold-list")


def _target(person: Person, scope: str, uid: UUID) -> Holdable | Destroyed:
    """Return what is to be held, or how it was erased; 404 for the rest: what the person may not see does not exist for them."""
    if scope not in SEEN:
        raise Http404
    target: Holdable | Destroyed | None = SEEN[scope](person).filter(uid=uid).first() or destroyed(person, uid)
    if target is None:
        raise Http404
    return target


def _gone(request: PersonRequest, gone: Destroyed) -> HttpResponse:
    return render(request, "holds/destroyed.html", {"gone": gone}, status=410)


def _form_page(request: PersonRequest, target: Holdable, scope: str, form: HoldForm, *, status: int = 200) -> HttpResponse:
    context = {
        "form": form,
        "target": target,
        "subject": target if isinstance(target, Subject) else getattr(target, "subject", None),
        "container": target if isinstance(target, Container) else target.container,
        "what": HoldScope(scope).label,
        "action": reverse("pages:hold-place", args=[scope, target.uid]),
    }
    return render(request, "holds/new.html", context, status=status)
