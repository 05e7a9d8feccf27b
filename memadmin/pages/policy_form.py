"""The form of a policy. Each limit is a number or the ticked choice "no limit"; nothing else ever means "for ever"."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any
from urllib.parse import urlencode

from django import forms

from memadmin.store.models import PolicyVersion
from memadmin.store.text import clean
from retention.policy import InvalidPolicy, parse_policy, to_document
from retention.reading import HIGHEST_HALF_LIFE_HOURS, LOWEST_HALF_LIFE_HOURS
from retention.rules import RelevanceRule, RetentionPolicy

# (field, path in the document, label, unit)
LIMITS = (
    ("sessions_days", "retention.sessions.retention_days", "Keep sessions for", "days"),
    ("sessions_count", "retention.sessions.max_count", "Keep at most", "sessions"),
    ("long_term_days", "retention.long-term.retention_days", "Keep long-term memories for", "days"),
    ("long_term_count", "retention.long-term.max_count", "Keep at most", "memories"),
    ("history_count", "retention.history.max_count", "Keep at most", "entries"),
    ("ttl_days", "relevance.ttl_days", "A memory lives for", "days"),
    ("max_records", "relevance.max_records", "A user keeps at most", "memories"),
    ("max_tokens", "relevance.max_tokens", "A user keeps at most", "tokens"),
)
WEIGHTS = ("recency", "frequency", "importance")
HALF_LIFE_WANTED = f"The half-life is a number of days above 0, up to {HIGHEST_HALF_LIFE_HOURS // 24:,} (10 years). Usual are 30."


def _text(called: str, **details: Any) -> forms.CharField:
    """Return a field for the digits of a number; `called` names it where its message stands apart from it."""
    too_long = f"“{called}” takes up to %(limit_value)d characters, and got %(show_value)d: that is no number it can have."
    return forms.CharField(required=False, max_length=20, error_messages={"max_length": too_long}, **details)


class PolicyForm(forms.Form):
    """Texts throughout: the rules read the numbers themselves, and say in words what is wrong with one."""

    base = forms.IntegerField(required=False, min_value=1, max_value=2**31 - 1, widget=forms.HiddenInput())
    draft = forms.IntegerField(required=False, min_value=1, max_value=2**31 - 1, widget=forms.HiddenInput())  # which one is edited
    revision = forms.IntegerField(required=False, min_value=1, max_value=2**31 - 1, widget=forms.HiddenInput())
    seen = forms.CharField(required=False, max_length=10_000, widget=forms.HiddenInput())  # the draft as it was opened
    note = forms.CharField(required=False, max_length=1000, label="Note", help_text="Why the policy changes; the next editor reads it.")
    use_relevance = forms.BooleanField(required=False, label="Use a relevance rule for each user's long-term memories")
    half_life_days = _text("Half-life", label="Half-life", help_text="days without a recall until recency halves")

    def __init__(self, *args: Any, standing: RetentionPolicy | None = None, **kwargs: Any) -> None:
        """`standing` is the policy in force: what it leaves out and the form does not limit stays left out."""
        super().__init__(*args, **kwargs)
        self._standing: dict[str, Any] = to_document(standing) if standing else {}
        for name, _, label, unit in LIMITS:
            number = forms.TextInput(attrs={"inputmode": "numeric", "autocomplete": "off"})
            self.fields[name] = _text(f"{label} … {unit}", label=label, help_text=unit, widget=number)
            self.fields[f"{name}_none"] = forms.BooleanField(required=False, label="no limit")
        for name in WEIGHTS:
            decimal = forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"})
            self.fields[name] = _text(name.capitalize(), label=name.capitalize(), widget=decimal)
        self.policy: RetentionPolicy | None = None

    @classmethod
    def of(cls, policy: RetentionPolicy | None, *, base: int | None) -> PolicyForm:
        """Return the form that shows a policy; without one, the defaults of the relevance rule stand in it."""
        shown = policy or RetentionPolicy(relevance=RelevanceRule())
        return cls(_data(shown, base=base), standing=policy)

    @classmethod
    def of_draft(cls, draft: PolicyVersion, policy: RetentionPolicy, *, base: int | None) -> PolicyForm:
        """Return the form that edits a draft."""
        opened = {"draft": draft.number, "revision": draft.revision, "seen": draft.document, "note": draft.note}
        return cls({**_data(policy, base=base), **opened}, standing=policy)

    def clean_note(self) -> str:
        return clean(self.cleaned_data["note"])

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        for name, _, label, unit in LIMITS:
            if data.get(f"{name}_none") and (data.get(name) or "").strip():
                both = f"“{label}” has a number of {unit} and the tick “no limit” at once."
                self.add_error(name, f"{both} Take the tick away, or empty the number.")
        told = "half_life_days" in self.errors
        if data.get("use_relevance") and not told and not _is_half_life(data.get("half_life_days") or ""):
            self.add_error("half_life_days", HALF_LIFE_WANTED)
        document = self._document(data)
        for wrong in _all_wrong(document):
            field = _field_at(wrong.field)
            if field is None or field not in self.errors:
                self.add_error(field, wrong.message)
        if not self.errors:
            self.policy = parse_policy(document)
        return data

    def _document(self, data: Mapping[str, Any]) -> dict[str, Any]:
        # The nulls of what is in force stay, also where no field stands for them: a client may have written history's days as null.
        rules = {name: dict.fromkeys(rule) for name, rule in self._standing.get("retention", {}).items()}
        document: dict[str, Any] = {"retention": rules, "relevance": {}}
        for name, path, _, _ in LIMITS:
            *parents, last = path.split(".")
            if not data.get(f"{name}_none"):
                _place(document, parents)[last] = (data.get(name) or "").strip()
            elif path.startswith("relevance"):
                document["relevance"][last] = None
        if not data.get("use_relevance"):
            return {**document, "relevance": None}
        document["relevance"]["half_life_hours"] = _hours(data.get("half_life_days") or "")
        document["relevance"]["weights"] = {name: _decimal(data.get(name) or "") for name in WEIGHTS}
        return document

    @property
    def weight_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in WEIGHTS]

    @property
    def limits(self) -> dict[str, Any]:
        """The number and its tick, by field, for the template."""
        return {name: {"number": self[name], "none": self[f"{name}_none"], "unit": unit} for name, _, _, unit in LIMITS}


def query_of(policy: RetentionPolicy, *, more: Mapping[str, str]) -> str:
    """Return the query with which the policy page shows the form filled with this policy. `more`: its other fields, base at least."""
    data = {**_data(policy, base=None), **more}
    return urlencode(
        {name: "on" if value is True else value for name, value in data.items() if value is not False and value != ""}
        | {"base": more["base"]}
    )


def _data(policy: RetentionPolicy, *, base: int | None) -> dict[str, Any]:
    document = to_document(policy)
    data: dict[str, Any] = {"base": base, "use_relevance": policy.relevance is not None}
    relevance = policy.relevance or RelevanceRule()
    for name, path, _, _ in LIMITS:
        value = _at(document, path) if policy.relevance or not path.startswith("relevance") else getattr(relevance, path.split(".")[1])
        data[name] = "" if value is None else str(value)
        data[f"{name}_none"] = value is None
    data["half_life_days"] = f"{relevance.half_life_hours / 24:.12g}"
    data.update({name: f"{getattr(relevance.weights, name):.12g}" for name in WEIGHTS})
    return data


def _all_wrong(document: Mapping[str, Any]) -> Iterator[InvalidPolicy]:
    """Yield all that is wrong. The rules tell the first fault alone, so each is put right in a copy and they are asked again."""
    right = to_document(RetentionPolicy(relevance=RelevanceRule()))
    tried, told = deepcopy(dict(document)), set[str]()
    while True:
        try:
            parse_policy(tried)
        except InvalidPolicy as error:
            yield error
            if error.field in told or not error.field:
                return
            told.add(error.field)
            *parents, last = error.field.split(".")
            _place(tried, parents)[last] = _at(right, error.field)
        else:
            return


def _place(document: dict[str, Any], parents: list[str]) -> dict[str, Any]:
    for key in parents:
        document = document.setdefault(key, {})
    return document


def _at(document: Any, path: str) -> Any:
    for key in path.split("."):
        document = (document or {}).get(key)
    return document


def _is_half_life(text: str) -> bool:
    days = _decimal(text)
    return isinstance(days, float) and LOWEST_HALF_LIFE_HOURS <= days * 24 <= HIGHEST_HALF_LIFE_HOURS  # False for what is no number


def _hours(text: str) -> object:
    days = _decimal(text)
    return round(days * 24, 6) if isinstance(days, float) else days  # 100 hours, shown as 4.16666666667 days, are 100 again


def _decimal(text: str) -> object:
    """Return the number, or the text itself for the rules to refuse in words."""
    try:
        return float(text.strip().replace(",", "."))
    except ValueError:
        return text


def _field_at(path: str) -> str | None:
    names = {place: name for name, place, _, _ in LIMITS}
    names |= {"relevance.half_life_hours": "half_life_days", "relevance.weights": WEIGHTS[-1]} | {
        f"relevance.weights.{name}": name for name in WEIGHTS
    }
    return names.get(path)
