"""Taking a request in: first an id is looked for, then a person ticks which of the users found are meant."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django import forms
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from memadmin.access.actors import actor_of
from memadmin.access.models import Person
from memadmin.access.visibility import visible_containers, visible_memories, visible_sessions, visible_subjects, visible_working
from memadmin.erasure import intake, look_alikes
from memadmin.erasure.intake import Opening, Thing
from memadmin.erasure.look_alikes import Candidate, candidates
from memadmin.erasure.models import Channel, Ground, IdentityLevel, Kind, Origin, Profile
from memadmin.erasure.moves import Refusal
from memadmin.pages.decorators import may
from memadmin.pages.htmx import PersonRequest, notice
from memadmin.store.identity import MAX_ID_LENGTH
from memadmin.store.models import ItemType
from memadmin.store.text import clean

PEOPLE = [(kind.value, kind.label.capitalize()) for kind in Kind if kind.is_about_people]
ITEMS = [(kind.value, kind.label.capitalize()) for kind in (Kind.SESSION, Kind.MESSAGE, Kind.MEMORY, Kind.TOPIC)]
NOT_VERIFIED = ("", "Not verified yet")
DATE = forms.DateInput(attrs={"type": "date"})
NOT_AN_ID = "This names nobody: ids are compared whole, and there are no wildcards. Open such a user's own page to begin from there."


class FindForm(forms.Form):
    """Whom to look for."""

    user_id = forms.CharField(
        max_length=MAX_ID_LENGTH, strip=False, required=False, label="User id", widget=forms.TextInput(attrs={"autocomplete": "off"})
    )

    def clean_user_id(self) -> str:
        user_id: str = clean(self.cleaned_data["user_id"])
        if user_id and not look_alikes.says_whom(user_id):
            raise forms.ValidationError(NOT_AN_ID)
        return user_id


class IntakeForm(forms.Form):
    kind = forms.ChoiceField(choices=PEOPLE)
    ground = forms.ChoiceField(choices=Ground.choices, initial=Ground.CONSENT_WITHDRAWN)
    profile = forms.ChoiceField(choices=Profile.choices, label="Law")
    received_on = forms.DateField(required=False, label="Received on", widget=DATE, help_text="Empty: today. The time runs from this day.")
    identity = forms.TypedChoiceField(
        required=False,
        coerce=lambda value: IdentityLevel(int(value)),
        empty_value=None,
        choices=[NOT_VERIFIED, *IdentityLevel.choices],
        label="Who says that it is this person",
    )
    aliases = forms.CharField(
        required=False,
        max_length=5_000,
        label="Other names to search for",
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="One on each line: names, e-mail addresses, phone numbers that others may have written about this person.",
    )
    note = forms.CharField(required=False, max_length=intake.LONGEST_NOTE, widget=forms.Textarea(attrs={"rows": 3}))

    def __init__(self, *given: Any, items: bool = False, **details: Any) -> None:
        super().__init__(*given, **details)
        if items:
            self.fields["kind"].choices = ITEMS  # type: ignore[attr-defined]

    def opening(self, **named: Any) -> Opening:
        data = self.cleaned_data
        lines = [clean(line).strip() for line in data["aliases"].splitlines()]
        return Opening(
            kind=Kind(data["kind"]),
            ground=Ground(data["ground"]),
            profile=Profile(data["profile"]),
            channel=Channel.PAGE,
            received_on=data["received_on"],
            identity=data["identity"],
            aliases=tuple(dict.fromkeys(line[:MAX_ID_LENGTH] for line in lines if line)),
            note=clean(data["note"]),
            **named,
        )


@require_safe
@may("erasure.intake")
def erasure_new(request: PersonRequest) -> HttpResponse:
    """Look for an id, or begin from a user's, session's or memory's own page."""
    user_id, found, problem = _asked(request)
    form = IntakeForm(items=_is_about_items(request))
    context = {"form": form, "find": FindForm(initial={"user_id": user_id}), "user_id": user_id, "found": found, "problem": problem}
    context |= {"ticked": {str(each.subject_uid) for each in found if each.origin == Origin.GIVEN}, "things": request.GET.getlist("item")}
    return render(request, "erasure/new.html", context, status=422 if problem else 200)


@require_POST
@may("erasure.intake")
def erasure_open(request: PersonRequest) -> HttpResponse:
    """Take the request in: the users ticked are meant, those that were shown and not ticked are not."""
    about_items = bool(request.POST.getlist("item"))
    form = IntakeForm(request.POST, items=about_items)
    ticked, others, unknown = _named(request)
    try:
        if form.is_valid():
            things = _things(request.user, request.POST.getlist("item"))
            opening = form.opening(ticked=ticked, others=others, unknown=unknown, things=things)
            opened = intake.open_request(opening, actor=actor_of(request.user), now=timezone.now())
            notice(request, f"Request {opened.number} was taken in.")
            return redirect("pages:erasure-detail", opened.uid)
    except Refusal as refusal:
        form.add_error(None, str(refusal))
    shown = [*ticked, *(candidate for candidate, _ in others)]
    context = {"form": form, "find": FindForm(), "user_id": "".join(unknown), "found": shown, "things": request.POST.getlist("item")}
    context["ticked"] = {str(each.subject_uid) for each in ticked}
    return render(request, "erasure/new.html", context, status=422)


def _is_about_items(request: PersonRequest) -> bool:
    return bool(request.GET.getlist("item"))


def _asked(request: PersonRequest) -> tuple[str, list[Candidate], str]:
    """Return the id that is looked for, the users found, and what is wrong with the id."""
    containers = list(visible_containers(request.user).values_list("pk", flat=True))
    uid = request.GET.get("user", "")
    if uid:
        subject = visible_subjects(request.user).select_related("container").filter(uid=_uuid(uid), user_id__isnull=False).first()
        if subject is None:
            return "", [], "There is no such user any more."
        user_id = str(subject.user_id)
        return user_id, candidates(user_id, containers), ""
    form = FindForm(request.GET)
    if not form.is_valid():
        return "", [], " ".join(error["message"] for error in form.errors.get_json_data()["user_id"])
    user_id = form.cleaned_data["user_id"]
    return user_id, candidates(user_id, containers) if user_id else [], ""


def _named(request: PersonRequest) -> tuple[list[Candidate], list[tuple[Candidate, bool | None]], list[str]]:
    """Return who was ticked, who was shown and not ticked, and the id itself where no container knows it."""
    shown = [_uuid(uid) for uid in request.POST.getlist("shown")[: intake.MOST_USERS]]
    rows = visible_subjects(request.user).select_related("container").filter(uid__in=[uid for uid in shown if uid], user_id__isnull=False)
    ticks, asked = set(request.POST.getlist("tick")), clean(request.POST.get("user_id", ""))
    found = [look_alikes.candidate_of(subject, _origin(str(subject.user_id), asked)) for subject in rows.order_by("id")]
    ticked = [each for each in found if str(each.subject_uid) in ticks]
    others: list[tuple[Candidate, bool | None]] = [(each, False) for each in found if str(each.subject_uid) not in ticks]
    nobody = request.POST.get("unknown") == "yes" and bool(asked) and look_alikes.says_whom(asked) and not found
    return ticked, others, [asked[:MAX_ID_LENGTH]] if nobody else []


def _origin(user_id: str, asked: str) -> Origin:
    if user_id == asked:
        return Origin.GIVEN
    is_part = bool(asked) and user_id.startswith(asked) and user_id[len(asked)] in look_alikes.PARTS_AFTER
    return Origin.PART if is_part else Origin.LOOK_ALIKE


def _things(person: Person, names: list[str]) -> list[Thing]:
    """Return the items named as `long-term/<uid>`; a name of another kind, or of nothing that the person sees, is left out."""
    places = {ItemType.SESSION: visible_sessions, ItemType.WORKING: visible_working, ItemType.LONG_TERM: visible_memories}
    things = []
    for item_type, visible in places.items():
        uids = [_uuid(name.partition("/")[2]) for name in names if name.partition("/")[0] == item_type]
        for uid, container, subject in (
            visible(person).filter(uid__in=[uid for uid in uids if uid]).values_list("uid", "container", "subject")
        ):
            things.append(Thing(item_type, uid, container, subject))
    return things


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
