"""Forms that several pages share."""

from django import forms

from memadmin.store.text import clean


class PinForm(forms.Form):
    reason = forms.CharField(
        max_length=1000,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        error_messages={"required": "Say why this is to be kept: the next person will ask."},
    )
    review_on = forms.DateField(required=False, label="Review on", widget=forms.DateInput(attrs={"type": "date"}))

    def clean_reason(self) -> str:
        return clean(self.cleaned_data["reason"])
