"""What the night's work would do if it were done now: asked before somebody starts it by hand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from django.http import HttpResponse
from django.urls import reverse

from memadmin.access.visibility import visible_containers
from memadmin.lifecycle import nightly
from memadmin.pages import foreseeing
from memadmin.pages.confirming import ask
from memadmin.pages.htmx import PersonRequest
from memadmin.store.models import Container

LOOKED_AT = 10  # containers: looking at one costs what a preview costs


def confirm_tonight(request: PersonRequest, *, now: datetime) -> HttpResponse:
    """Render the question. It carries on what the form had: whether the person came from the settings."""
    due = nightly.due()
    seen = list(due.filter(pk__in=visible_containers(request.user)).order_by("id")[:LOOKED_AT])
    totals = {container: foreseeing.would_go(container, now=now) for container in seen}
    would_go = {container: None if each is None else each.items for container, each in totals.items()}
    number = due.count()
    confirm = {
        "action": request.path,
        "verb": "Run the night's work now",
        "consequence": f"The rules of {_containers(number)} are carried out now. {_sum(would_go.values(), due=number)}",
        "warnings": [f"{container.name}: {items:,} would go now." for container, items in would_go.items() if items],
        "keeps": list(_also(would_go, due=number)),
        "cancel": reverse("pages:run-list"),
        "hidden": {"sure": "yes", "back": request.POST.get("back", "")},
        "danger": True,
    }
    return ask(request, confirm, heading="Run the night's work now")


def _containers(number: int) -> str:
    return "1 container" if number == 1 else f"{number:,} containers"


def _sum(would_go: Iterable[int | None], *, due: int) -> str:
    numbers = [items or 0 for items in would_go]
    if len(numbers) < due:
        return f"In the {len(numbers):,} looked at here {sum(numbers):,} items would go."
    return f"{sum(numbers):,} items would go." if any(numbers) else "Nothing would go."


def _also(would_go: Mapping[Container, int | None], *, due: int) -> Iterator[str]:
    """Yield what else a person should know."""
    for container, items in would_go.items():
        if items is None:
            yield f"{container.name}: its policy cannot be read, so its run fails."
    if due > len(would_go):
        yield f"{_containers(due - len(would_go))} more were not looked at here."
    yield "Each container gets a run of its own, which you can follow, call off, and restore from."
    yield "Pinned memories and sessions always stay."
