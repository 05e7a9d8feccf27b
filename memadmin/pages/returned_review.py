"""Several items that were set aside at once: let them in or drop them. A page with the numbers comes between.

"All" are those of the list as it was when somebody looked at it: what was set aside since has a higher key, and is not among them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django import forms
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from memadmin.access.actors import actor_of
from memadmin.access.models import Person
from memadmin.access.visibility import visible_containers, visible_subjects, within
from memadmin.pages.confirming import ask_with, is_sure
from memadmin.pages.decorators import may
from memadmin.pages.forms import uids_in
from memadmin.pages.htmx import PersonRequest, notice, problem
from memadmin.plurals import counted
from memadmin.store import arrivals_together, quarantine
from memadmin.store.arrivals_together import Decided, Word
from memadmin.store.models import Container, ItemType, Returned, Subject
from memadmin.store.text import clean, says_something

MOST_AT_ONCE = 10_000
NO_REASON = "Say why these come back or go: the next person will ask."
VERBS = {Word.LET_IN: "Let in", Word.DROP: "Drop"}
STAY = {
    "user_shut_out": "what arrives of their users is refused now",
    "restricted": "they would change what is restricted",
    "id_taken": "their ids belong to somebody else by now",
    "key_missing": "the key that sealed them is missing",
}


class DecideForm(forms.Form):
    reason = forms.CharField(max_length=1000, widget=forms.Textarea(attrs={"rows": 3}), error_messages={"required": NO_REASON})

    def clean_reason(self) -> str:
        reason = clean(self.cleaned_data["reason"])
        if not says_something(reason):
            raise forms.ValidationError(NO_REASON)
        return reason


@dataclass(frozen=True)
class Narrowed:
    """What waits, of one container or user where the address names one that the person sees."""

    rows: QuerySet[Returned]
    container: Container | None
    subject: Subject | None

    @classmethod
    def read(cls, request: HttpRequest, person: Person) -> Narrowed:
        rows = within(person, quarantine.waiting())
        container = visible_containers(person).filter(uid__in=uids_in([request.GET.get("container", "")])).first()
        subject = visible_subjects(person).filter(uid__in=uids_in([request.GET.get("user", "")])).first()
        rows = rows.filter(container=container) if container else rows
        return cls(rows.filter(subject=subject) if subject else rows, container, subject)


@dataclass(frozen=True)
class Chosen:
    """What is meant: the ticked rows, or all up to a key; and how many somebody was told that these are."""

    keys: tuple[int, ...] = ()
    upto: int | None = None
    told: int = 0

    @classmethod
    def read(cls, request: HttpRequest) -> Chosen:
        if request.POST.get("all") == "yes":
            upto, told = (_numbers([request.POST.get(name, "")]) for name in ("upto", "told"))
            return cls(upto=upto[0], told=told[0]) if upto and told else cls()
        ticked = _numbers(request.POST.getlist("item") or request.POST.get("items", "").split(","))
        return cls(keys=tuple(ticked), told=len(ticked))

    def among(self, rows: QuerySet[Returned]) -> QuerySet[Returned]:
        return rows.filter(pk__in=self.keys) if self.upto is None else rows.filter(pk__lte=self.upto)


@require_POST
@may("erasure.review")
def returned_decide(request: PersonRequest) -> HttpResponse:
    """Ask first, with the numbers; then act on each item that still waits as it did."""
    sure, chosen = is_sure(request), Chosen.read(request)
    rows = chosen.among(Narrowed.read(request, request.user).rows)
    number = rows.count()
    if request.POST.get("word") not in set(Word) or not number:
        problem(request, "Nothing is done: tick at least one item that still waits, then choose what to do.")
        return redirect(_back(request))
    word = Word(request.POST["word"])
    if not sure or (chosen.upto is not None and number > chosen.told):  # never on more than was said
        return _ask(request, word, chosen, rows, DecideForm())
    form = DecideForm(request.POST)
    if not form.is_valid():
        return _ask(request, word, chosen, rows, form, status=422)
    keys = list(rows.order_by("pk").values_list("pk", flat=True)[:MOST_AT_ONCE])
    decided = arrivals_together.decide(keys, word, reason=form.cleaned_data["reason"], actor=actor_of(request.user), now=timezone.now())
    decided.changed += max(0, chosen.told - number)  # gone since they were ticked, or since the question
    _say(request, word, decided)
    return redirect(_back(request))


def _ask(
    request: PersonRequest, word: Word, chosen: Chosen, rows: QuerySet[Returned], form: DecideForm, *, status: int = 200
) -> HttpResponse:
    sums = rows.aggregate(items=Count("pk"), users=Count("subject", distinct=True), containers=Count("container", distinct=True))
    types = {row["item_type"]: row["n"] for row in rows.values("item_type").annotate(n=Count("pk")).order_by("item_type")}
    taken = min(sums["items"], MOST_AT_ONCE)
    context = {
        "form": form,
        "word": word.value,
        "verb": f"{VERBS[word]} {counted(taken, 'item')}",
        "items": ",".join(map(str, chosen.keys)),
        "upto": "" if chosen.upto is None else chosen.upto,
        "told": sums["items"],
        "sums": sums,
        "types": [(ItemType(name).label, number) for name, number in types.items()],
        "left": sums["items"] - taken,
        "most": MOST_AT_ONCE,
        "query": _query(request),
        "back": _back(request),
    }
    return ask_with(request, "returns/_decide.html", context, heading=str(context["verb"]), status=status)


def _say(request: PersonRequest, word: Word, decided: Decided) -> None:
    was = counted(decided.done, "item was", "items were")
    notice(request, f"{was} {'let in' if word is Word.LET_IN else 'dropped for good'}.")
    for why, number in decided.stay.items():
        problem(request, f"{counted(number, 'item stays', 'items stay')} set aside: {STAY[why]}.")
    if decided.changed:
        problem(request, f"{counted(decided.changed, 'item was', 'items were')} decided about or sent anew meanwhile, and left as that is.")


def _numbers(texts: Iterable[str]) -> list[int]:
    return [int(text) for text in texts if text.isascii() and text.isdigit() and len(text) < 19]


def _query(request: HttpRequest) -> str:
    query = request.GET.copy()
    query.pop("after", None)
    return query.urlencode()


def _back(request: HttpRequest) -> str:
    query = _query(request)
    return f"{reverse('pages:returned-list')}?{query}" if query else reverse("pages:returned-list")
