"""Forms that several pages share."""

from datetime import date
from typing import Any

from django import forms
from django.utils import timezone

from memadmin.store.text import clean, says_something

NO_REASON = "Say why this is to be kept: the next person will ask."


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
            raise forms.ValidationError(NO_REASON)
        return reason

    def clean_review_on(self) -> date | None:
        day: date | None = self.cleaned_data["review_on"]
        if day and day < timezone.now().date():
            raise forms.ValidationError(f"{day:%d %b %Y} has passed. Choose today or a later day, or leave it empty.")
        return day
