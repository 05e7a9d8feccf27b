"""The register of pins: everything that no run may evict, with who kept it, why, what it costs and when somebody looks again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django import forms
from django.db.models import Count, QuerySet
from django.db.models.functions import Left
from django.http import HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from memadmin.access.actors import names_of
from memadmin.access.rights import Right
from memadmin.access.visibility import visible_containers, visible_pins, visible_subjects
from memadmin.lifecycle import pinned
from memadmin.lifecycle.pinned import PinFilter, PinSort, PinState, PinTotals, Policies
from memadmin.lifecycle.spared import limits_past
from memadmin.pages.decorators import may
from memadmin.pages.forms import SearchField
from memadmin.pages.htmx import PersonRequest, render_page
from memadmin.pages.lists import in_order, paging, slice_of
from memadmin.pages.outlook import is_past_hard_limit
from memadmin.pages.victims import BEGINNING
from memadmin.store.models import Container, ItemType, LongTermMemory, Pin, Session, Subject
from memadmin.store.querysets import PinQuerySet

STATES = {
    "": "All pins",
    PinState.PAST_LIMIT: "Past a limit",
    PinState.PAST_HARD_LIMIT: "Past a hard limit",
    PinState.UNREASONED: "Without a real reason",
    PinState.DUE: "Review due",
    PinState.SOON: "Review within 30 days",
    PinState.NO_REVIEW: "Without a day of review",
}
SORTS = {
    PinSort.NEWEST: "Newest first",
    PinSort.OLDEST: "Oldest first",
    PinSort.REVIEW: "Review, soonest first",
    PinSort.TOKENS: "Most tokens first",
}
TYPES = {"": "Everything", ItemType.LONG_TERM.value: "Long-term memories", ItemType.SESSION.value: "Sessions"}
ACTORS_SHOWN = 50


class PinForm(forms.Form):
    """What the address of the register may say; whatever it says wrongly is left out."""

    container = forms.UUIDField(required=False)
    state = forms.ChoiceField(required=False, choices=list(STATES.items()))
    type = forms.ChoiceField(required=False, choices=list(TYPES.items()))
    by = forms.CharField(required=False, max_length=100)
    user = forms.UUIDField(required=False)
    q = SearchField(required=False, max_length=500)
    sort = forms.ChoiceField(required=False, choices=list(SORTS.items()))


@dataclass(frozen=True)
class Register:
    """The pins that an address names: of which containers, under which filter, in which order."""

    containers: Sequence[Container]  # all that this person may see
    container: Container | None
    filter: PinFilter
    sort: PinSort
    policies: Policies
    everything: PinQuerySet  # without the filter, of the container if one is named
    pins: PinQuerySet
    totals: PinTotals

    @classmethod
    def read(cls, request: PersonRequest, *, now: datetime) -> Register:
        form = PinForm(request.GET)
        form.is_valid()
        said = {name: value for name, value in form.cleaned_data.items() if name not in form.errors}
        containers = list(visible_containers(request.user).by_name())
        container = next((each for each in containers if each.uid == said.get("container")), None)
        subject = visible_subjects(request.user).filter(uid=said["user"]).first() if said.get("user") else None
        wanted = PinFilter(
            state=PinState(said["state"]) if said.get("state") else None,
            item_type=said.get("type", ""),
            actor=said.get("by", ""),
            # Without the right to read texts a search would let one read the reasons letter by letter.
            text=said.get("q", "") if request.user.may(Right.MEMORY_READ_TEXT) else "",
            subject=subject,
        )
        in_force = pinned.policies_of([container] if container else containers)
        everything = visible_pins(request.user)
        everything = everything.filter(container=container) if container else everything
        pins = pinned.matching(everything, wanted, in_force, now=now)
        sort = PinSort(said.get("sort") or PinSort.NEWEST)
        return cls(containers, container, wanted, sort, in_force, everything, pins, pinned.totals_of(everything, in_force, now=now))

    @property
    def total(self) -> int:
        """How many pins the list has, exactly."""
        if self.filter == PinFilter(state=self.filter.state):
            return self.totals.of_state(self.filter.state)  # counted already
        return self.pins.count()


@require_safe
@may("memory.view")
def pin_list(request: PersonRequest) -> HttpResponse:
    now = timezone.now()
    register = Register.read(request, now=now)
    descending = register.sort in {PinSort.NEWEST, PinSort.TOKENS}
    page = slice_of(request, pinned.keyed(register.pins, register.sort), key="key", descending=descending)
    pins = in_order(Pin.objects.select_related("subject", "container").weighed(), page)
    may_read = request.user.may(Right.MEMORY_READ_TEXT)
    actors = _actors(register.everything)
    context = {
        "register": register,
        "rows": rows_of(pins, register.policies, now=now, may_read=may_read),
        "paging": paging(request, page, total=register.total, noun="pins"),
        "states": _states(register),
        "types": TYPES,
        "sorts": SORTS,
        "actors": actors,
        "names": names_of([*(pin.actor for pin in pins), *(pin.reviewed_by for pin in pins), *actors]),
        "may_read": may_read,
        "may_review": request.user.may(Right.MEMORY_PIN),
        "now": now,
    }
    return render_page(request, "pins/list.html", "pins/_table.html", context)


def _states(register: Register) -> list[tuple[str, str, int]]:
    """Return the chips with their numbers. Most containers have no hard limit: its chip is there where something is past one."""
    counted = [(str(state), label, register.totals.of_state(PinState(state) if state else None)) for state, label in STATES.items()]
    return [chip for chip in counted if chip[0] != PinState.PAST_HARD_LIMIT or chip[2] or chip[0] == register.filter.state]


def _actors(pins: PinQuerySet) -> list[str]:
    """Return who has pinned most, for a filter."""
    return list(pins.values("actor").annotate(n=Count("id")).order_by("-n", "actor").values_list("actor", flat=True)[:ACTORS_SHOWN])


def rows_of(pins: Sequence[Pin], in_force: Policies, *, now: datetime, may_read: bool) -> list[dict[str, Any]]:
    """Return what the table shows of each pin: what is pinned, its cost, and which limits it is past."""
    items = pinned.items_of(pins)
    texts = _texts(items.values()) if may_read else {}
    weights = pinned.pinned_tokens({pin.subject_id for pin in pins})
    unreasoned = set(Pin.objects.filter(pk__in=[pin.pk for pin in pins]).unreasoned().values_list("pk", flat=True))
    rows = []
    for pin in pins:
        item, policy = items.get(pin.pk), in_force.get(pin.container_id)
        rows.append(
            {
                "pin": pin,
                "item": item,
                "is_session": pin.target_type == ItemType.SESSION,
                "text": texts.get(item) if item else None,
                "past": limits_past(item, policy, as_of=now) if item and policy else [],
                "hard_limit": pin.container.hard_limit_days if item and is_past_hard_limit(item, pin.container, now=now) else None,
                "costs": _costs(pin, pin.subject, weights.get(pin.subject_id, 0), policy),
                "unreasoned": pin.pk in unreasoned,
                "review": pinned.review_day(pin, today=now.date()),
            }
        )
    return rows


def _texts(items: Any) -> dict[LongTermMemory | Session, str]:
    """Fetch the beginnings of texts apart from the rows: whoever may not read them has them nowhere."""
    items = list(items)
    memories = LongTermMemory.objects.filter(pk__in=[item.pk for item in items if isinstance(item, LongTermMemory)])
    sessions = Session.objects.filter(pk__in=[item.pk for item in items if isinstance(item, Session)])
    beginnings = dict(memories.annotate(beginning=Left("text", BEGINNING)).values_list("pk", "beginning"))
    named = {key: summary or name or "" for key, summary, name in sessions.values_list("pk", "summary", "external_id")}
    return {item: (named if isinstance(item, Session) else beginnings).get(item.pk, "") for item in items}


def _costs(pin: Pin, subject: Subject, pinned_weight: int, policy: Any) -> dict[str, Any] | None:
    """Return what a pinned memory takes of its user's caps, beside all that the user has pinned. None for a session: it takes nothing."""
    if pin.target_type == ItemType.SESSION:
        return None
    rule = policy.relevance if policy else None
    records, tokens = (rule.max_records, rule.max_tokens) if rule else (None, None)
    return {
        "tokens": vars(pin)["tokens"],
        "token_share": _share(vars(pin)["tokens"], tokens),
        "user_slots": subject.pinned_long_term,
        "user_slot_share": _share(subject.pinned_long_term, records),
        "max_records": records,
        "user_tokens": pinned_weight,
        "user_token_share": _share(pinned_weight, tokens),
        "max_tokens": tokens,
    }


def _share(held: int, cap: int | None) -> str:
    """Return a share of a cap in words; "" where there is no cap."""
    if not cap:
        return ""
    percent = 100 * held / cap
    return "under 0.1 %" if 0 < percent < 0.1 else f"{percent:.1f} %"


def selected_first(register: Register, number: int) -> QuerySet[Pin]:
    """Return the first pins of the list, in its order."""
    sign = "-" if register.sort in {PinSort.NEWEST, PinSort.TOKENS} else ""
    return pinned.keyed(register.pins, register.sort).order_by(f"{sign}key", f"{sign}id")[:number]
