"""Forms that several pages share."""

from collections.abc import Iterable
from datetime import date
from typing import Any
from uuid import UUID

from django import forms
from django.http import HttpRequest
from django.utils import timezone

from memadmin.access.models import Person
from memadmin.access.visibility import visible_containers
from memadmin.pages.container_names import names_told_apart
from memadmin.store.models import Container
from memadmin.store.text import clean, says_something

NO_REASON = "Say why this is to be kept: the next person will ask."
FORM_TOKEN = "csrfmiddlewaretoken"
ALL, SOME = "all", "some"
TICK = {"class": "form-check-input"}


def address_without_token(request: HttpRequest) -> str:
    """Return the address without the form's token; "" where it has none: only a browser without scripts sends the whole form."""
    if FORM_TOKEN not in request.GET:
        return ""
    said = request.GET.copy()
    del said[FORM_TOKEN]
    return f"{request.path}?{said.urlencode()}"


def uids_in(texts: Iterable[str]) -> list[UUID]:
    """Return the ids among the texts, in order; what is none is left out."""
    found = []
    for text in texts:
        try:
            found.append(UUID(text))
        except ValueError:
            continue
    return found


class SearchField(forms.CharField):
    """Text that is looked for. What no database stores is looked for as its replacement, and so not found: it must not widen a list."""

    def to_python(self, value: Any) -> str:
        return str(super().to_python(clean(value) if isinstance(value, str) else value))


class PinForm(forms.Form):
    reason = forms.CharField(
        max_length=1000,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        error_messages={"required": NO_REASON},
    )
    review_on = forms.DateField(required=False, label="Review on", widget=forms.DateInput(attrs={"type": "date"}))

    def clean_reason(self) -> str:
        reason = clean(self.cleaned_data["reason"])
        if not says_something(reason):
            raise forms.ValidationError(self.fields["reason"].error_messages["required"])
        return reason

    def clean_review_on(self) -> date | None:
        day: date | None = self.cleaned_data["review_on"]
        if day and day < timezone.now().date():
            raise forms.ValidationError(f"{day:%d %b %Y} has passed. Choose today or a later day, or leave it empty.")
        return day


class ReachForm(forms.Form):
    """Of all containers, now and later, or of some that the person sees."""

    reach = forms.ChoiceField(
        choices=[(ALL, "All, now and later"), (SOME, "Only these")], initial=SOME, widget=forms.RadioSelect(attrs=TICK)
    )
    containers = forms.MultipleChoiceField(required=False, widget=forms.CheckboxSelectMultiple(attrs=TICK))

    def __init__(self, *given: Any, person: Person, **details: Any) -> None:
        super().__init__(*given, **details)
        self._visible = {str(container.uid): container for container in visible_containers(person).standing().by_name()}
        told_apart = names_told_apart(self._visible.values())
        self.fields["containers"].choices = [(uid, told_apart[container.pk]) for uid, container in self._visible.items()]  # type: ignore[attr-defined]
        if not person.all_containers:
            self.fields["reach"].choices = [(SOME, "Only these")]  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        given = self.cleaned_data
        if given.get("reach") == SOME and not given.get("containers"):
            self.add_error("containers", "Choose at least one container.")
        return given

    def chosen(self) -> list[Container] | None:
        """Return the containers of the valid form; None for all of them."""
        given = self.cleaned_data
        return None if given["reach"] == ALL else [self._visible[uid] for uid in given["containers"]]
