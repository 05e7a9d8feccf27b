"""Two versions of a policy beside each other, and what two editors made of one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from django import forms
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from memadmin.access.visibility import get_container
from memadmin.lifecycle.differences import differences, label_of, shown_value
from memadmin.pages import wording
from memadmin.pages.decorators import may
from memadmin.pages.htmx import PersonRequest, render_page
from memadmin.store import policies
from memadmin.store.models import Container, PolicyVersion
from retention.differing import FIELDS, values_of
from retention.rules import RetentionPolicy

OFFERED = 200  # versions in the lists to choose from


@dataclass(frozen=True, slots=True)
class Row:
    """One limit, as each side has it. `mine` and `theirs` differ from `base` where they are marked."""

    label: str
    base: str
    theirs: str
    mine: str
    contested: bool

    @property
    def theirs_changed(self) -> bool:
        return self.theirs != self.base

    @property
    def mine_changed(self) -> bool:
        return self.mine != self.base


@dataclass(frozen=True, slots=True)
class Clash:
    """What two editors made of one policy: shown side by side, with the ways to go on. `theirs_url` drops mine, `merged_url` has both."""

    said: str
    rows: list[Row]
    base_name: str
    theirs_name: str
    theirs_url: str
    merged_url: str
    contested: list[str]
    again: dict[str, str]  # what the form sends along the next time, so that it is against what stands now
    over: str  # what the next attempt replaces


class ChosenVersions(forms.Form):
    """Which two versions an address compares; whatever it says wrongly is left out."""

    old = forms.IntegerField(required=False, min_value=1, max_value=2**31 - 1)
    new = forms.IntegerField(required=False, min_value=1, max_value=2**31 - 1)


@require_safe
@may("policy.view")
def policy_compare(request: PersonRequest, uid: UUID) -> HttpResponse:
    """Any two versions, in sentences and limit by limit. Without a choice: what is in force against the newest."""
    container = get_container(request.user, uid)
    form = ChosenVersions(request.GET)
    form.is_valid()
    chosen = {name: form.cleaned_data.get(name) for name in ("old", "new")}
    versions = PolicyVersion.objects.filter(container=container).order_by("-number")
    standing, newest = policies.published(container), versions.first()
    old = get_object_or_404(versions, number=chosen["old"]) if chosen["old"] else standing
    new = get_object_or_404(versions, number=chosen["new"]) if chosen["new"] else newest
    before, after = policies.readable(old), policies.readable(new)
    unreadable = [version.number for version, policy in ((old, before), (new, after)) if version and policy is None]
    context = {
        "container": container,
        "versions": versions[:OFFERED],
        "old": old,
        "new": new,
        "unreadable": wording.UNREADABLE if unreadable else "",
        "differences": [] if unreadable else differences(before, after),
        "rows": [] if unreadable else rows_of(before, before, after, contested=()),
    }
    return render_page(request, "policies/compare.html", "policies/_compare.html", context)


def rows_of(
    base: RetentionPolicy | None, theirs: RetentionPolicy | None, mine: RetentionPolicy | None, *, contested: Iterable[str]
) -> list[Row]:
    """Return the limits that are not the same on all sides. What a side without a relevance rule lacks is "no rule"."""
    sides, rows = [values_of(base), values_of(theirs), values_of(mine)], []
    for field in FIELDS:
        shown = [shown_value(field, side[field]) if field in side else "no rule" for side in sides]
        if len(set(shown)) > 1:
            of_base, of_theirs, of_mine = shown
            rows.append(Row(label_of(field), of_base, of_theirs, of_mine, contested=field.startswith(tuple(contested))))
    return rows


def version_of(container: Container, number: int | None) -> PolicyVersion | None:
    """Return the version of this number, None where there is none."""
    return PolicyVersion.objects.filter(container=container, number=number).first() if number else None
