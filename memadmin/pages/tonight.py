"""What the night's work would do if it were done now: asked before somebody starts it by hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.http import HttpResponse
from django.urls import reverse

from memadmin.access.visibility import visible_containers
from memadmin.lifecycle import nightly, second_person
from memadmin.lifecycle.warned import Warned
from memadmin.pages import foreseeing
from memadmin.pages.confirming import ask
from memadmin.pages.htmx import PersonRequest
from memadmin.plurals import counted
from memadmin.store.models import Container

LOOKED_AT = 10  # containers: looking at one costs what a preview costs


@dataclass(frozen=True, slots=True)
class Turn:
    """What the night would do in one container. `items` None: its policy cannot be read. `asked`: what is special about a large run."""

    container: Container
    items: int | None
    asked: Warned | None = None

    @property
    def waits(self) -> bool:
        return self.asked is not None and self.asked.loud

    @property
    def in_words(self) -> str:
        return f"{self.container.name}: {self.asked.text if self.asked else f'{self.items or 0:,} would go now.'}"


def confirm_tonight(request: PersonRequest, *, now: datetime) -> HttpResponse:
    """Render the question. It carries on what the form had: whether the person came from the settings."""
    due = nightly.due()
    turns = [_turn(container, now=now) for container in due.filter(pk__in=visible_containers(request.user)).order_by("id")[:LOOKED_AT]]
    number = due.count()
    confirm = {
        "action": request.path,
        "verb": "Run the night's work now",
        "consequence": f"The rules of {_containers(number)} are carried out now. {_sum(turns, due=number)}",
        "warnings": [turn.in_words for turn in turns if turn.items],
        "keeps": list(_also(turns, due=number)),
        "cancel": reverse("pages:run-list"),
        "hidden": {"sure": "yes", "back": request.POST.get("back", "")},
        "danger": True,
    }
    return ask(request, confirm, heading="Run the night's work now")


def _turn(container: Container, *, now: datetime) -> Turn:
    totals = foreseeing.would_go(container, now=now)
    return Turn(container, totals.items, second_person.foresee(container, totals)) if totals else Turn(container, None)


def _containers(number: int) -> str:
    return counted(number, "container")


def _sum(turns: Sequence[Turn], *, due: int) -> str:
    """Say how many items would go, and how many of large runs would wait for a second person instead."""
    items, waiting = (sum(turn.items or 0 for turn in turns if turn.waits is waits) for waits in (False, True))
    here = f"In the {len(turns):,} looked at here " if len(turns) < due else ""
    goes = f"{counted(items, 'item')} would go" if items or here else "nothing would go"
    waits = f", and {waiting:,} would wait for a second person" if waiting else ""
    said = f"{here}{goes}{waits}."
    return said[0].upper() + said[1:]


def _also(turns: Sequence[Turn], *, due: int) -> Iterator[str]:
    """Yield what else a person should know."""
    for turn in turns:
        if turn.items is None:
            yield f"{turn.container.name}: its policy cannot be read, so its run fails."
    if due > len(turns):
        yield f"{_containers(due - len(turns))} more were not looked at here."
    yield "Each container gets a run of its own, which you can follow, call off, and restore from."
    yield "Pinned memories and sessions always stay."
