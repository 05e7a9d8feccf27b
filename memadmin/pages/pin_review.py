"""Several pins at once: keep them and say when to look again, or take them away. A page with the numbers comes between."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from django import forms
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from memadmin.access.actors import actor_of
from memadmin.access.visibility import visible_pins
from memadmin.lifecycle import pinned
from memadmin.pages.confirming import ask_with, is_sure
from memadmin.pages.decorators import may
from memadmin.pages.forms import PinForm
from memadmin.pages.htmx import PersonRequest, notice, problem
from memadmin.pages.pins import Register, selected_first
from memadmin.plurals import counted
from memadmin.store import pinning
from memadmin.store.querysets import PinQuerySet

MOST_AT_ONCE = 500
NO_REASON = "Say why these stay or go: the next person will ask."
VERBS = {"keep": "Keep", "unpin": "Unpin"}


@dataclass(frozen=True)
class Ticked:
    """A pin as it was when somebody ticked it."""

    key: int
    revision: int

    @classmethod
    def read(cls, given: Iterable[str]) -> list[Ticked]:
        """Return what is well written among `key:revision` texts, each once, in order."""
        found = {}
        for text in given:
            key, _, revision = text.partition(":")
            if all(part.isascii() and part.isdigit() and len(part) < 19 for part in (key, revision)):
                found[int(key)] = cls(int(key), min(int(revision), 2**31 - 1))
        return list(found.values())

    @property
    def text(self) -> str:
        return f"{self.key}:{self.revision}"


class ReviewForm(PinForm):
    reason = forms.CharField(max_length=1000, widget=forms.Textarea(attrs={"rows": 3}), error_messages={"required": NO_REASON})
    review_on = forms.DateField(required=False, label="Look again on", widget=forms.DateInput(attrs={"type": "date"}))

    def clean_review_on(self) -> date | None:
        day: date | None = self.cleaned_data["review_on"]
        if day and day <= timezone.now().date():
            raise forms.ValidationError(f"{day:%d %b %Y} is not to come. Choose a later day, or leave it empty.")
        return day


@require_POST
@may("memory.pin")
def pin_review(request: PersonRequest) -> HttpResponse:
    """Ask first, with the numbers; then act on each pin that is still as it was when it was ticked."""
    action, sure = request.POST.get("action", ""), is_sure(request)
    ticked = Ticked.read(request.POST.get("pins", "").split(",")) if request.POST.get("sure") == "yes" else _ticked(request)
    if action not in VERBS or not ticked:
        problem(request, "Tick at least one pin, then choose what to do with them.")
        return redirect(_back(request))
    ticked = ticked[:MOST_AT_ONCE]
    if not visible_pins(request.user).filter(pk__in=[each.key for each in ticked]).exists():
        problem(request, "Nothing is done: what you ticked was unpinned meanwhile, or has gone.")
        return redirect(_back(request))
    if not sure:
        return _ask(request, action, ticked, ReviewForm())
    form = ReviewForm(request.POST)
    if not form.is_valid():
        return _ask(request, action, ticked, form, status=422)
    done, changed = _act(request, action, ticked, form.cleaned_data)
    notice(request, _said(action, done))
    if changed:
        problem(request, f"{_pins(changed)} changed, unpinned or gone meanwhile, and left as {'it is' if changed == 1 else 'they are'}.")
    return redirect(_back(request))


def _ticked(request: PersonRequest) -> list[Ticked]:
    if request.POST.get("all") != "yes":
        return Ticked.read(request.POST.getlist("pin"))
    register = Register.read(request, now=timezone.now())
    return [Ticked(pin.pk, pin.revision) for pin in selected_first(register, MOST_AT_ONCE)]


def _act(request: PersonRequest, action: str, ticked: Sequence[Ticked], said: dict[str, Any]) -> tuple[int, int]:
    """Return how many were done, and how many were not as they had been."""
    pins = visible_pins(request.user).in_bulk([each.key for each in ticked])
    given = {"reason": said["reason"], "actor": actor_of(request.user), "now": timezone.now()}
    verb: Callable[..., None] = pinning.unpin_reviewed
    if action == "keep":
        verb, given = pinning.keep, {**given, "review_on": said["review_on"]}
    done = 0
    for each in ticked:
        pin = pins.get(each.key)
        if pin is None or pin.revision != each.revision:
            continue
        try:
            verb(pin, **given)
        except (pinning.Changed, pinning.Gone):
            continue
        done += 1
    return done, len(ticked) - done


def _ask(request: PersonRequest, action: str, ticked: Sequence[Ticked], form: ReviewForm, *, status: int = 200) -> HttpResponse:
    now = timezone.now()
    pins = visible_pins(request.user).filter(pk__in=[each.key for each in ticked])
    totals = pinned.totals_of(pins, pinned.policies_of(_containers(pins)), now=now)
    matching = Register.read(request, now=now).total if request.POST.get("all") == "yes" else len(ticked)
    context = {
        "form": form,
        "action": action,
        "verb": f"{VERBS[action]} {counted(totals.pins, 'pin')}",
        "pins": ",".join(each.text for each in ticked),
        "query": _query(request).urlencode(),
        "totals": totals,
        "left": max(0, matching - len(ticked)),
        "most": MOST_AT_ONCE,
        "freed": pinned.freed_by_unpinning(pins, now=now) if action == "unpin" else [],
        "back": _back(request),
    }
    return ask_with(request, "pins/_review.html", context, heading=str(context["verb"]), status=status)


def _containers(pins: PinQuerySet) -> list[Any]:
    found = {pin.container_id: pin.container for pin in pins.select_related("container")}
    return list(found.values())


def _said(action: str, done: int) -> str:
    if action == "keep":
        return f"{_pins(done)} looked at and kept."
    return f"{_pins(done)} taken away. A limit that an item is past evicts it at the next run."


def _pins(number: int) -> str:
    return counted(number, "pin was", "pins were")


def _query(request: PersonRequest) -> QueryDict:
    query = request.GET.copy()
    query.pop("after", None)
    return query


def _back(request: PersonRequest) -> str:
    query = _query(request).urlencode()
    return f"{reverse('pages:pin-list')}?{query}" if query else reverse("pages:pin-list")
