"""The defaults page: what a container without a policy gets, which ones would get it, and what that would evict there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from memadmin.access.actors import actor_of
from memadmin.access.rights import Right
from memadmin.access.visibility import visible_containers
from memadmin.lifecycle import planning, second_person
from memadmin.lifecycle.nightly import may_evict
from memadmin.pages import wording
from memadmin.pages.confirming import ask, is_sure
from memadmin.pages.decorators import may
from memadmin.pages.forms import address_without_token
from memadmin.pages.htmx import PersonRequest, notice, render_page
from memadmin.store import configuration, defaults
from memadmin.store.configuration import REGISTRY, InvalidSetting
from memadmin.store.models import PolicyState
from retention.rules import RelevanceRule, RetentionPolicy

LOOKED_AT = 10  # containers: looking at one costs what a preview costs
NO_LIMIT = -1
LABELS = {  # in the order of the page
    "default_session_retention_days": ("Keep sessions for", "days"),
    "default_session_max_count": ("Keep at most", "sessions"),
    "default_long_term_max_count": ("Keep at most", "memories"),
    "default_history_max_count": ("Keep at most", "entries"),
}


class DefaultsForm(forms.Form):
    """Each default is a number or the ticked choice "no limit"."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for key, (label, _) in LABELS.items():
            self.fields[key] = forms.CharField(required=False, max_length=20, label=label)
            self.fields[f"{key}_none"] = forms.BooleanField(required=False, label="no limit")
        self.values: dict[str, Any] = {}

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> DefaultsForm:
        data = {key: str(values[key]) if values[key] > 0 else "" for key in LABELS}
        return cls({**data, **{f"{key}_none": True for key in LABELS if values[key] <= 0}})

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        for key in LABELS:
            number, none = (data.get(key) or "").strip(), data.get(f"{key}_none")
            if bool(number) == bool(none):
                self.add_error(key, "Write a number, or tick “no limit”: one of the two.")
            elif none:
                self.values[key] = NO_LIMIT
            else:
                self._read(key, number)
        return data

    def _read(self, key: str, number: str) -> None:
        try:
            value = REGISTRY[key].parse(number)
        except InvalidSetting as error:
            self.add_error(key, str(error))
            return
        if value <= 0:
            self.add_error(key, "A number from 1, or tick “no limit”.")
        self.values[key] = value

    @property
    def limits(self) -> dict[str, Any]:
        return {key: {"number": self[key], "none": self[f"{key}_none"], "unit": unit} for key, (_, unit) in LABELS.items()}


@require_safe
@may("policy.view")
def default_policy(request: PersonRequest) -> HttpResponse:
    """The page; with a form in the address also what those defaults would do, which is not stored."""
    if tidied := address_without_token(request):
        return redirect(tidied)
    asked = request.user.may(Right.SETTING_CHANGE) and any(key in request.GET or f"{key}_none" in request.GET for key in LABELS)
    return _page(request, DefaultsForm(request.GET) if asked else DefaultsForm.of(configuration.values()))


@require_POST
@may("setting.change")
def default_policy_change(request: PersonRequest) -> HttpResponse:
    """Ask with the numbers where something would go, then change the defaults that differ."""
    form, actor, now = DefaultsForm(request.POST), actor_of(request.user), timezone.now()
    if not form.is_valid():
        return _page(request, form, status=422)
    if not is_sure(request) and may_evict() and (rows := [row for row in _stamped(request, form.values)[0] if row["items"]]):
        return _ask(request, form, rows)
    with transaction.atomic():
        standing = configuration.values()
        for key, value in form.values.items():
            if value != standing[key]:
                configuration.change(key, value, actor=actor, now=now)
    notice(request, "The defaults are changed. Containers that have a policy keep it.")
    return redirect("pages:default-policy")


def _page(request: PersonRequest, form: DefaultsForm, *, status: int = 200) -> HttpResponse:
    standing = configuration.values()
    policy = defaults.default_policy({**standing, **form.values}) if form.is_valid() else None
    rows, left_out = _stamped(request, form.values) if form.is_valid() else ([], 0)
    context = {
        "form": form,
        "policy": policy,
        "sentences": wording.sentences_of(policy) if policy else [],
        "relevance": wording.sentences_of(RetentionPolicy(relevance=RelevanceRule()))[3:5],
        "rows": rows,
        "left_out": left_out,
        "never_set": len(rows) + left_out,
        "runs": may_evict(),
        "may_change": request.user.may(Right.SETTING_CHANGE),
        "changed": form.is_valid() and any(standing[key] != value for key, value in form.values.items()),
    }
    return render_page(request, "policies/defaults.html", "policies/_defaults.html", context, status=status)


def _stamped(request: PersonRequest, values: Mapping[str, Any]) -> tuple[list[dict[str, Any]], int]:
    """Return what each container without a policy would lose under these defaults, and how many were not looked at."""
    never = visible_containers(request.user).standing().filter(policy_state=PolicyState.NEVER_SET).order_by("id")
    policy, now, rows = defaults.default_policy({**configuration.values(), **values}), timezone.now(), []
    for container in never[:LOOKED_AT]:
        totals = planning.estimate(container, policy, now=now, limit=0).totals if policy else None
        asked = second_person.foresee(container, totals) if totals else None
        rows.append({"container": container, "items": totals.items if totals else 0, "asked": asked})
    return rows, max(0, never.count() - LOOKED_AT)


def _ask(request: PersonRequest, form: DefaultsForm, rows: list[dict[str, Any]]) -> HttpResponse:
    rows = sorted(rows, key=lambda row: not (row["asked"] and row["asked"].loud))
    confirm = {
        "action": request.path,
        "verb": "Change the defaults",
        "consequence": "At the next nightly run each container without a policy gets these defaults, once, and they are carried out.",
        "warnings": [f"{row['container'].name}: {_told(row)}" for row in rows],
        "keeps": ["Containers that have a policy keep it.", "Pinned memories and sessions always stay."],
        "cancel": reverse("pages:default-policy"),
        "hidden": {**{name: value for name, value in form.data.items() if name in form.fields}, "sure": "yes"},
        "danger": True,
    }
    return ask(request, confirm, heading="Change the defaults")


def _told(row: Mapping[str, Any]) -> str:
    return row["asked"].text if row["asked"] else f"{row['items']:,} would go at the next run."
