"""Drafts: kept from the form, edited, previewed, dropped, brought to other containers, and given a time."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django import forms
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from memadmin.access.actors import actor_of
from memadmin.access.rights import Right
from memadmin.access.visibility import get_container, visible_containers
from memadmin.lifecycle import planning, second_person
from memadmin.lifecycle.models import Trigger
from memadmin.pages import wording
from memadmin.pages.clashes import with_draft
from memadmin.pages.confirming import ask, is_sure
from memadmin.pages.copying import to_know
from memadmin.pages.decorators import may
from memadmin.pages.forms import uids_in
from memadmin.pages.htmx import PersonRequest, notice, problem, render_page
from memadmin.pages.policies import policy_page, version_page
from memadmin.pages.policy_form import PolicyForm
from memadmin.pages.showing import show_result
from memadmin.pages.text import shown_id
from memadmin.store import drafts, policies
from memadmin.store.models import Container, PolicyStatus, PolicyVersion
from retention.rules import RetentionPolicy

REFUSALS = (policies.NoSuchVersion, policies.DraftChanged, policies.Conflict, drafts.AlreadyScheduled)
LOOKED_AT = 10  # containers: looking at one costs what a preview costs


class TimeForm(forms.Form):
    """When a version comes into force, in UTC."""

    at = forms.DateTimeField(
        input_formats=["%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M"],
        error_messages={"required": "Say when.", "invalid": "Write a day and a time of day in UTC, like 2027-03-01 08:00."},
    )

    def clean_at(self) -> datetime:
        at: datetime = self.cleaned_data["at"]
        return at.replace(tzinfo=UTC)


@require_POST
@may("policy.edit")
def policy_draft(request: PersonRequest, uid: UUID) -> HttpResponse:
    """Keep the form as a draft: a new one, or the one that it was opened with."""
    container = get_container(request.user, uid)
    form = PolicyForm(request.POST, standing=policies.current(container))
    if not form.is_valid() or form.policy is None:
        return policy_page(request, container, form, status=422)
    number, actor, now = form.cleaned_data["draft"], actor_of(request.user), timezone.now()
    if number is None or "as_new" in request.POST:
        version = policies.save_draft(container, form.policy, actor=actor, now=now, note=form.cleaned_data["note"])
    else:
        try:
            given = {"revision": form.cleaned_data["revision"] or 0, "note": form.cleaned_data["note"]}
            version = drafts.edit(container, number, form.policy, actor=actor, now=now, **given)
        except policies.DraftChanged as changed:
            form.add_error(None, str(changed))
            return policy_page(request, container, form, status=409, clash=with_draft(container, form, changed.draft))
        except policies.NoSuchVersion as gone:
            form.add_error(None, f"{gone} Your values are still in the form: keep them as a new draft.")
            return policy_page(request, container, form, status=409)
    notice(request, f"Kept as draft, version {version.number}. Nothing is evicted by a draft.")
    return redirect("pages:policy-version", container.uid, version.number)


@require_POST
@may("policy.edit")
def policy_version_preview(request: PersonRequest, uid: UUID, number: int) -> HttpResponse:
    """Record the victims of a stored version, under a number; the preview is bound to the content of now."""
    container = get_container(request.user, uid)
    version, policy = _readable(request, container, number)
    if policy is None:
        return redirect("pages:policy-version", uid, number)
    actor = actor_of(request.user)
    run = planning.plan(container, policy, now=timezone.now(), trigger=Trigger.PREVIEW, actor=actor, policy_version=version)
    return redirect("pages:run-detail", run.number)


@require_POST
@may("policy.edit")
def policy_version_drop(request: PersonRequest, uid: UUID, number: int) -> HttpResponse:
    container = get_container(request.user, uid)
    try:
        drafts.drop(container, number, actor=actor_of(request.user), now=timezone.now())
    except policies.NoSuchVersion as error:
        problem(request, str(error))
        return redirect("pages:policy-version", uid, number)
    notice(request, f"Draft {number} is dropped. What it said stays readable among the versions.")
    return redirect("pages:policy-versions", uid)


@require_POST
@may("policy.publish")
def policy_version_schedule(request: PersonRequest, uid: UUID, number: int) -> HttpResponse:
    """Ask with the numbers of now; then let the draft come into force at its time."""
    container = get_container(request.user, uid)
    version, policy = _readable(request, container, number)
    if policy is None:
        return redirect("pages:policy-version", uid, number)
    form, base = TimeForm(request.POST), request.POST.get("base", "")
    if not form.is_valid():
        return version_page(request, container, version, status=422, more={"time_form": form})
    at, now = form.cleaned_data["at"], timezone.now()
    number_in_force = int(base) if base.isdecimal() and len(base) < 10 else None
    try:
        if not is_sure(request):
            if not now < at <= now + drafts.FURTHEST:
                raise drafts.BadTime("A policy comes into force at a time that is still to come, within a year.")
            return _ask_for_time(request, container, version, policy, at=at)
        seen, actor = request.POST.get("digest", ""), actor_of(request.user)
        drafts.schedule(container, number, at=at, base=number_in_force, seen=seen, actor=actor, now=now)
    except drafts.BadTime as error:
        form.add_error("at", str(error))
        return version_page(request, container, version, status=422, more={"time_form": form})
    except REFUSALS as error:
        problem(request, str(error))
        return redirect("pages:policy-version", uid, number)
    notice(request, f"Version {number} comes into force on {at:%d %b %Y, %H:%M} UTC. Until then it can be cancelled here.")
    return redirect("pages:policy-version", uid, number)


@require_POST
@may("policy.publish")
def policy_version_unschedule(request: PersonRequest, uid: UUID, number: int) -> HttpResponse:
    container = get_container(request.user, uid)
    try:
        drafts.unschedule(container, number, actor=actor_of(request.user), now=timezone.now())
    except policies.NoSuchVersion as error:
        problem(request, str(error))
    else:
        notice(request, f"Version {number} is a draft again, and comes into force at no time by itself.")
    return redirect("pages:policy-version", uid, number)


@require_safe
@may("policy.edit")
def policy_version_copy(request: PersonRequest, uid: UUID, number: int) -> HttpResponse:
    """Choose the containers that get the version as a draft."""
    container = get_container(request.user, uid)
    version = get_object_or_404(PolicyVersion, container=container, number=number)
    return _copy_page(request, container, version)


@require_POST
@may("policy.edit")
def policy_version_copied(request: PersonRequest, uid: UUID, number: int) -> HttpResponse:
    """Make the drafts, and show for each what it would do there."""
    container = get_container(request.user, uid)
    version, policy = _readable(request, container, number)
    if policy is None:
        return redirect("pages:policy-version", uid, number)
    chosen = list(_others(request, container).filter(uid__in=uids_in(request.POST.getlist("container"))))
    if not chosen:
        return _copy_page(request, container, version, error="Choose at least one container.", status=422)
    made = drafts.copy(version, chosen, actor=actor_of(request.user), now=timezone.now())
    rows = [_effect_there(draft, policy) for draft in made[:LOOKED_AT]] + [{"draft": draft} for draft in made[LOOKED_AT:]]
    rows = [{**row, "known": list(to_know(row["draft"], policy, source=version))} for row in rows]
    context = {"container": container, "version": version, "rows": rows, "may_publish": request.user.may(Right.POLICY_PUBLISH)}
    back = (f"Version {number} of {shown_id(container.name, 60)}", reverse("pages:policy-version", args=[uid, number]))
    return show_result(request, "policies/_copied.html", context, heading=f"Version {number} is copied", back=back)


def _copy_page(request: PersonRequest, container: Container, version: PolicyVersion, *, error: str = "", status: int = 200) -> HttpResponse:
    context = {"container": container, "version": version, "others": _others(request, container), "error": error}
    return render_page(request, "policies/copy.html", "policies/_copy.html", context, status=status)


def _others(request: PersonRequest, container: Container) -> Any:
    return visible_containers(request.user).standing().exclude(pk=container.pk).by_name()


def _effect_there(draft: PolicyVersion, policy: RetentionPolicy) -> dict[str, Any]:
    totals = planning.estimate(draft.container, policy, now=timezone.now(), limit=0).totals
    return {"draft": draft, "totals": totals, "asked": second_person.foresee(draft.container, totals)}


def _readable(request: PersonRequest, container: Container, number: int) -> tuple[PolicyVersion, RetentionPolicy | None]:
    version = get_object_or_404(PolicyVersion.objects.exclude(status=PolicyStatus.DROPPED), container=container, number=number)
    policy = policies.readable(version)
    if policy is None:
        problem(request, f"Version {number} cannot be used. {wording.UNREADABLE}")
    return version, policy


def _ask_for_time(
    request: PersonRequest, container: Container, version: PolicyVersion, policy: RetentionPolicy, *, at: datetime
) -> HttpResponse:
    estimate = planning.estimate(container, policy, now=timezone.now(), limit=0)
    base = policies.number_in_force(container)
    over = f"version {base}" if base else "no policy"
    confirm = {
        "action": request.path,
        "verb": f"Publish version {version.number} on {at:%d %b %Y, %H:%M} UTC",
        "consequence": f"From {at:%d %b %Y, %H:%M} UTC on, the next run in {container.name} carries out version {version.number}.",
        "warnings": [warned.text for warned in estimate.warnings if warned.loud],
        "totals": estimate.totals,
        "keeps": [
            f"It is published then only if {over} is still in force, and retention is on.",
            "Until then it can be cancelled; nobody can edit it meanwhile.",
        ],
        "keeps_heading": "What to know",
        "cancel": reverse("pages:policy-version", args=[container.uid, version.number]),
        "hidden": {"at": f"{at:%Y-%m-%dT%H:%M}", "base": base or "", "digest": version.digest, "sure": "yes"},
        "danger": True,
    }
    return ask(request, confirm, heading=f"Publish version {version.number} at a time")
