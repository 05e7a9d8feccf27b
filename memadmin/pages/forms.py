"""Forms that several pages share."""

from typing import Any

from django import forms

from memadmin.store.text import clean


class SearchField(forms.CharField):
    """Text that is looked for. What no database stores is looked for as its replacement, and so not found: it must not widen a list."""

    def to_python(self, value: Any) -> str:
        return str(super().to_python(clean(value) if isinstance(value, str) else value))


class PinForm(forms.Form):
    reason = forms.CharField(
        max_length=1000,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        error_messages={"required": "Say why this is to be kept: the next person will ask."},
    )
    review_on = forms.DateField(required=False, label="Review on", widget=forms.DateInput(attrs={"type": "date"}))

    def clean_reason(self) -> str:
        return clean(self.cleaned_data["reason"])
