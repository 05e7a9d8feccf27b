"""Taking a request in: first an id is looked for, then a person ticks which of the users found are meant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django import forms
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.text import capfirst
from django.views.decorators.http import require_POST, require_safe

from memadmin.access.actors import actor_of
from memadmin.access.models import Person
from memadmin.access.visibility import visible_containers, visible_subjects
from memadmin.erasure import grounds, intake, look_alikes, naming
from memadmin.erasure.intake import Opening
from memadmin.erasure.look_alikes import NAMES_NOBODY, Candidate, candidates
from memadmin.erasure.models import Channel, Ground, IdentityLevel, Kind, Origin, Profile
from memadmin.erasure.moves import Refusal
from memadmin.pages import kept
from memadmin.pages.decorators import may
from memadmin.pages.erasure.shown_items import named_items, shown_items
from memadmin.pages.htmx import PersonRequest, notice
from memadmin.store.identity import MAX_ID_LENGTH
from memadmin.store.models import Container, ItemType
from memadmin.store.text import clean

PEOPLE = [(kind.value, capfirst(kind.label)) for kind in Kind if kind.is_about_people]
ITEMS = [(kind.value, capfirst(kind.label)) for kind in (Kind.SESSION, Kind.MESSAGE, Kind.MEMORY, Kind.TOPIC)]
ITEM_KINDS = {ItemType.SESSION.value: Kind.SESSION, ItemType.WORKING.value: Kind.MESSAGE, ItemType.LONG_TERM.value: Kind.MEMORY}
MOST_SHOWN = 500  # items that are ticked one by one
NOT_VERIFIED = ("", "Not verified yet")
DATE = forms.DateInput(attrs={"type": "date"})
TOO_LONG = f"An id or name has at most {MAX_ID_LENGTH} characters. A part of it would be another one."
NO_ID = "Type the id by which the agent knows the person. A user whose id is empty is taken in from their own page."
NOT_AN_ID = f"{NAMES_NOBODY} Open such a user's own page to begin from there."


class FindForm(forms.Form):
    """Whom to look for."""

    user_id = forms.CharField(
        max_length=MAX_ID_LENGTH, strip=False, required=False, label="User id", widget=forms.TextInput(attrs={"autocomplete": "off"})
    )

    def clean_user_id(self) -> str:
        user_id: str = clean(self.cleaned_data["user_id"])
        if not user_id:
            raise forms.ValidationError(NO_ID)
        if not look_alikes.says_whom(user_id):
            raise forms.ValidationError(NOT_AN_ID)
        return user_id


class GroundSelect(forms.Select):
    """Its options say for which kinds they are, so that a script can leave the others out. Without a script the right stands above them."""

    def create_option(self, name: str, value: Any, *given: Any, **details: Any) -> dict[str, Any]:
        option: dict[str, Any] = super().create_option(name, value, *given, **details)
        if value:
            kinds = [kind for kind, fitting in grounds.GROUNDS_OF.items() if value in fitting]
            option["attrs"]["data-for"] = " ".join(kinds)
            option["attrs"]["data-usual"] = " ".join(kind for kind in kinds if grounds.usual_for(kind) == value)
        return option


def _ground_choices() -> list[Any]:
    """Return the grounds by right; the one that all rights share comes last, and once."""
    rights = [
        (right, [(each.value, capfirst(grounds.words(each))) for each in grounds.GROUNDS_OF[kinds[0]] if each != Ground.OTHER])
        for right, kinds in grounds.RIGHTS.items()
    ]
    return [("", "Choose…"), *rights, (Ground.OTHER.value, capfirst(Ground.OTHER.label))]


class IntakeForm(forms.Form):
    kind = forms.ChoiceField(choices=PEOPLE)
    ground = forms.ChoiceField(
        choices=_ground_choices, initial=Ground.CONSENT_WITHDRAWN, widget=GroundSelect(attrs={"data-narrowed-by": "id_kind"})
    )
    profile = forms.ChoiceField(choices=Profile.choices, label="Law")
    received_on = forms.DateField(required=False, label="Received on", widget=DATE, help_text="Empty: today. The time runs from this day.")
    identity = forms.TypedChoiceField(
        required=False,
        coerce=lambda value: IdentityLevel(int(value)),
        empty_value=None,
        choices=[NOT_VERIFIED, *((value, capfirst(label)) for value, label in IdentityLevel.choices)],
        label="How it is known that it is this person",
    )
    aliases = forms.CharField(
        required=False,
        max_length=5_000,
        label="Other names to search for",
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="One on each line: names, e-mail addresses, phone numbers that others may have written about this person.",
    )
    freeze = forms.BooleanField(
        required=False,
        widget=forms.CheckboxInput(attrs={"class": "form-check-input"}),
        label="Restrict them on receipt",
        help_text="Until the request has ended nothing of them is recalled, summarised, evicted or changed. For erasing and correcting.",
    )
    note = forms.CharField(required=False, max_length=intake.LONGEST_NOTE, widget=forms.Textarea(attrs={"rows": 3}))

    def __init__(self, *given: Any, items: Sequence[str] = (), **details: Any) -> None:
        super().__init__(*given, **details)
        if items:
            fitting = ITEM_KINDS.get(items[0].partition("/")[0]) if len(items) == 1 else None
            self.fields["kind"].choices = ITEMS  # type: ignore[attr-defined]
            self.fields["kind"].initial = fitting or Kind.TOPIC
            del self.fields["freeze"]

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = self.cleaned_data
        if "kind" in data and "ground" in data:
            kind, ground = Kind(data["kind"]), Ground(data["ground"])
            if ground not in grounds.GROUNDS_OF[kind]:
                self.add_error("ground", f"This is no ground to {kind.label}. Choose one under “{grounds.right_of(kind)}”.")
        return data

    def clean_aliases(self) -> tuple[str, ...]:
        lines = [clean(line).strip() for line in self.cleaned_data["aliases"].splitlines()]
        if any(len(line) > MAX_ID_LENGTH for line in lines):
            raise forms.ValidationError(TOO_LONG)
        return tuple(dict.fromkeys(line for line in lines if line))

    def opening(self, **named: Any) -> Opening:
        data = self.cleaned_data
        return Opening(
            kind=Kind(data["kind"]),
            ground=Ground(data["ground"]),
            profile=Profile(data["profile"]),
            channel=Channel.PAGE,
            received_on=data["received_on"],
            identity=data["identity"],
            aliases=data["aliases"],
            freeze=data.get("freeze", False),
            note=clean(data["note"]),
            **named,
        )


class TopicForm(forms.Form):
    """Which words, in which container."""

    container = forms.ModelChoiceField(queryset=Container.objects.none(), to_field_name="uid", empty_label=None)
    words = forms.CharField(max_length=500, help_text="Exactly as they stand in memories, summaries or messages, whatever their case.")

    def __init__(self, person: Person, *given: Any, **details: Any) -> None:
        super().__init__(*given, **details)
        self.fields["container"].queryset = visible_containers(person).by_name()  # type: ignore[attr-defined]


@require_safe
@may("erasure.intake")
def erasure_new(request: PersonRequest) -> HttpResponse:
    """Begin with an empty form, from a user's, session's or memory's own page, or with what was looked for: that is kept with the browser's
    session, as no address carries an id from outside, and looked for again each time.
    """
    if name := request.GET.get("looked"):
        return _looked_for(request, name)
    names, uid = request.GET.getlist("item"), request.GET.get("user", "")
    problem = ""
    if names:
        try:
            naming.things_named(request.user, names)
        except Refusal as refusal:
            names, problem = [], str(refusal)
    user_id = ""
    found: list[Candidate] = []
    if uid and not names:
        user_id, found, problem = _user(request.user, uid)
    return _show(request, IntakeForm(items=names), user_id=user_id, found=found, things=names, problem=problem)


@require_POST
@may("erasure.intake")
def erasure_find(request: PersonRequest) -> HttpResponse:
    """Look for an id. A POST, so that the id stands in no address and in no log of a server; it changes nothing."""
    find = FindForm(request.POST)
    if not find.is_valid():
        problem = " ".join(error["message"] for error in find.errors.get_json_data()["user_id"])
        return _show(request, IntakeForm(), problem=problem)
    return _lead(request, {"user_id": find.cleaned_data["user_id"]})


@require_POST
@may("erasure.intake")
def erasure_topic(request: PersonRequest) -> HttpResponse:
    """Look for words, and list what has them: the list that is sent on is fixed, the words are not kept. It changes nothing."""
    topic = TopicForm(request.user, request.POST)
    if not topic.is_valid():
        return _show(request, IntakeForm(), topic=topic, problem="Choose a container and give some words.")
    try:
        things = naming.things_about(request.user, topic.cleaned_data["words"], topic.cleaned_data["container"])
    except Refusal as refusal:
        return _show(request, IntakeForm(), topic=topic, problem=str(refusal))
    if len(things) > MOST_SHOWN:
        problem = f"{len(things):,} items have these words, and at most {MOST_SHOWN:,} can be looked through here. Give more of the words."
        return _show(request, IntakeForm(), topic=topic, problem=problem)
    names = [f"{thing.item_type}/{thing.uid}" for thing in things]
    words = [clean(topic.cleaned_data["words"]).strip()]
    if not names:
        return _show(request, IntakeForm(), topic=topic, problem="Nothing has these words.")
    return _lead(request, {"things": names, "words": words})


@require_POST
@may("erasure.intake")
def erasure_open(request: PersonRequest) -> HttpResponse:
    """Take the request in: the users ticked are meant, those that were shown and not ticked are not."""
    names = request.POST.getlist("item")
    listed = request.POST.getlist("listed")[:MOST_SHOWN] or names
    form = IntakeForm(request.POST, items=listed)
    ticked, others, unknown = _named(request)
    try:
        if listed and not names:
            form.add_error(None, "Tick at least one of them.")
        if any(len(each) > MAX_ID_LENGTH for each in unknown):
            form.add_error(None, TOO_LONG)
        if form.is_valid():
            things = naming.things_named(request.user, names)
            opening = form.opening(ticked=ticked, others=others, unknown=unknown, things=things)
            opened = intake.open_request(opening, actor=actor_of(request.user), now=timezone.now())
            kept.take(request, request.POST.get("looked", ""), now=timezone.now())
            notice(request, f"Request {opened.number} was taken in.")
            return redirect("pages:erasure-detail", opened.uid)
    except Refusal as refusal:
        form.add_error(None, str(refusal))
    shown = [*ticked, *(candidate for candidate, _ in others)]
    meant = {str(each.subject_uid) for each in ticked}
    asked = clean(request.POST.get("user_id", ""))[:MAX_ID_LENGTH]
    return _show(request, form, user_id=asked, found=shown, things=listed, ticked={*meant, *names}, unknown=bool(unknown), status=422)


def _lead(request: PersonRequest, looked_for: dict[str, Any]) -> HttpResponse:
    """Lead to a page that can be loaded again and gone back to."""
    name = kept.new_name()
    kept.keep(request, name, looked_for, now=timezone.now())
    return redirect(f"{reverse('pages:erasure-new')}?{urlencode({'looked': name})}")


def _looked_for(request: PersonRequest, name: str) -> HttpResponse:
    said = kept.find(request, name, now=timezone.now())
    if said is None:
        return _show(request, IntakeForm(), problem="What you looked for is not kept any more. Look for it again.")
    if things := said.get("things"):
        return _show(request, IntakeForm(items=things), things=things, words=said["words"], looked=name)
    user_id = said.get("user_id", "")
    found = candidates(user_id, _containers(request.user)) if user_id else []
    return _show(request, IntakeForm(), user_id=user_id, found=found, looked=name)


def _show(request: PersonRequest, form: IntakeForm, *, status: int = 200, **context: Any) -> HttpResponse:
    found: list[Candidate] = context.get("found", [])
    things = named_items(context.pop("things", []))
    shown = shown_items(request.user, things, words=context.pop("words", []))
    given = {
        "form": form,
        "find": FindForm(initial={"user_id": context.get("user_id", "")}),
        "topic": TopicForm(request.user),
        "user_id": "",
        "found": [],
        "things": [shown[thing] for thing in things if thing in shown],
        "problem": "",
        "looked": request.POST.get("looked", ""),
        "ticked": {*(str(each.subject_uid) for each in found if each.origin == Origin.GIVEN), *(each.name for each in shown.values())},
        **context,
    }
    return render(request, "erasure/new.html", given, status=422 if given["problem"] else status)


def _containers(person: Person) -> list[int]:
    return list(visible_containers(person).values_list("pk", flat=True))


def _user(person: Person, uid: str) -> tuple[str, list[Candidate], str]:
    """Return the id of the user whose page one comes from, the users found for it, and what is wrong."""
    subject = visible_subjects(person).filter(uid=_uuid(uid), user_id__isnull=False).first()
    if subject is None:
        return "", [], "There is no such user any more."
    user_id = str(subject.user_id)
    return user_id, candidates(user_id, _containers(person)), ""


def _named(request: PersonRequest) -> tuple[list[Candidate], list[tuple[Candidate, bool | None]], list[str]]:
    """Return who was ticked, who was shown and not ticked, and the id itself where no container knows it."""
    shown = [_uuid(uid) for uid in request.POST.getlist("shown")]
    rows = visible_subjects(request.user).select_related("container").filter(uid__in=[uid for uid in shown if uid], user_id__isnull=False)
    ticks, asked = set(request.POST.getlist("tick")), clean(request.POST.get("user_id", ""))
    found = [look_alikes.candidate_of(subject, _origin(str(subject.user_id), asked)) for subject in rows.order_by("id")]
    ticked = [each for each in found if str(each.subject_uid) in ticks]
    others: list[tuple[Candidate, bool | None]] = [(each, False) for each in found if str(each.subject_uid) not in ticks]
    nobody = request.POST.get("unknown") == "yes" and bool(asked) and not found
    return ticked, others, [asked] if nobody else []


def _origin(user_id: str, asked: str) -> Origin:
    if user_id == asked:
        return Origin.GIVEN
    is_part = bool(asked) and user_id.startswith(asked) and user_id[len(asked)] in look_alikes.PARTS_AFTER
    return Origin.PART if is_part else Origin.LOOK_ALIKE


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
