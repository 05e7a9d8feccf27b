"""The policy page of a container: the form, what it would do, its versions."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from memadmin.access.actors import actor_of, names_of
from memadmin.access.rights import Right
from memadmin.access.visibility import get_container
from memadmin.lifecycle import planning
from memadmin.lifecycle.differences import differences
from memadmin.lifecycle.models import ItemKind, Run, RunState, Trigger
from memadmin.lifecycle.warnings import NOUNS, why_nothing_runs
from memadmin.pages import wording
from memadmin.pages.comparing import Clash, version_of
from memadmin.pages.decorators import may
from memadmin.pages.forms import address_without_token
from memadmin.pages.htmx import PersonRequest, render_page
from memadmin.pages.policy_form import PolicyForm, query_of
from memadmin.pages.summaries import switch_card
from memadmin.pages.victims import shown_victims
from memadmin.store import drafts, policies
from memadmin.store.models import Container, PolicyStatus, PolicyVersion
from retention.rules import RetentionPolicy

RUNS_SHOWN = 5
HIDDEN = ("base", "draft", "revision", "seen")
REFUSED = {
    drafts.RETENTION_OFF: "retention was off",
    drafts.BASE_CHANGED: "another policy was in force by then than the one it was made over",
}


@require_safe
@may("policy.view")
def policy_detail(request: PersonRequest, uid: UUID) -> HttpResponse:
    """The page; with a form in the address also what that policy would do, which is not stored."""
    if tidied := address_without_token(request):
        return redirect(tidied)
    container = get_container(request.user, uid)
    may_edit = request.user.may(Right.POLICY_EDIT)
    if may_edit and "base" in request.GET:
        return policy_page(request, container, PolicyForm(request.GET, standing=policies.current(container)))
    form = _form_of_draft(container, request.GET["draft"]) if may_edit and "draft" in request.GET else _form_in_force(container)
    return policy_page(request, container, form)


@require_POST
@may("policy.edit")
def policy_preview(request: PersonRequest, uid: UUID) -> HttpResponse:
    """Record the victims of the policy in the form, under a number."""
    container, now = get_container(request.user, uid), timezone.now()
    form = PolicyForm(request.POST, standing=policies.current(container))
    if not form.is_valid() or form.policy is None:
        return policy_page(request, container, form, status=422)
    version = _version_with(container, form.policy, draft=form.cleaned_data["draft"])
    policy = policies.parse(version) if version else form.policy  # as the version spells it, which a run must go by
    run = planning.plan(container, policy, now=now, trigger=Trigger.PREVIEW, actor=actor_of(request.user), policy_version=version)
    return redirect("pages:run-detail", run.number)


@require_safe
@may("policy.view")
def policy_versions(request: PersonRequest, uid: UUID) -> HttpResponse:
    container = get_container(request.user, uid)
    versions = list(PolicyVersion.objects.filter(container=container).order_by("-number")[:200])
    context = {
        "container": container,
        "versions": versions,
        "names": names_of(version.author for version in versions),
        "total": PolicyVersion.objects.filter(container=container).count(),
    }
    return render_page(request, "policies/versions.html", "policies/_versions.html", context)


@require_safe
@may("policy.view")
def policy_version(request: PersonRequest, uid: UUID, number: int) -> HttpResponse:
    """One version, in words, against the one in force."""
    container = get_container(request.user, uid)
    return version_page(request, container, get_object_or_404(PolicyVersion, container=container, number=number))


def version_page(
    request: PersonRequest, container: Container, version: PolicyVersion, *, status: int = 200, more: dict[str, Any] | None = None
) -> HttpResponse:
    """Answer with the page of a version; `more` is what a refused form adds."""
    standing, policy = policies.published(container), policies.readable(version)
    context = {
        "container": container,
        "version": version,
        "standing": standing,
        "sentences": wording.sentences_of(policy),
        "differences": differences(policies.readable(standing), policy) if policy and standing and standing != version else (),
        "names": names_of([version.author, version.changed_by, version.scheduled_by, version.published_by]),
        "can_publish": request.user.may(Right.POLICY_PUBLISH) and policy is not None and standing != version,
        "can_copy": request.user.may(Right.POLICY_EDIT) and policy is not None and version.status != PolicyStatus.DROPPED,
        "form_url": form_url(container, policy) if policy and request.user.may(Right.POLICY_EDIT) and standing != version else "",
        "is_behind": version.status == PolicyStatus.DRAFT and version.base != (standing.number if standing else None),
        "refused_because": REFUSED.get(version.refused_because, version.refused_because),
        "previews": Run.objects.filter(policy_version=version).exclude(state=RunState.DISCARDED).newest_first()[:RUNS_SHOWN],
        "now": timezone.now(),
        **(more or {}),
    }
    return render_page(request, "policies/version.html", "policies/_version.html", context, status=status)


def form_url(container: Container, policy: RetentionPolicy) -> str:
    """Return the address of the form filled with a policy, to be published over the one in force now."""
    number = policies.number_in_force(container)
    query = query_of(policy, more={"base": "" if number is None else str(number)})
    return f"{reverse('pages:policy-detail', args=[container.uid])}?{query}"


def _form_of_draft(container: Container, number: str) -> PolicyForm:
    """Return the form that edits a draft; 404 when there is none of this number, or one that cannot be read."""
    drafts_there = PolicyVersion.objects.filter(container=container, status=PolicyStatus.DRAFT)
    draft = get_object_or_404(drafts_there, number=int(number) if number.isdecimal() and len(number) < 10 else 0)
    policy = policies.readable(draft)
    if policy is None:
        raise Http404
    return PolicyForm.of_draft(draft, policy, base=policies.number_in_force(container))


def _version_with(container: Container, policy: RetentionPolicy, *, draft: int | None) -> PolicyVersion | None:
    """Return the version that a preview of these values belongs to: the draft being edited, or the one in force, if it says the same."""
    of_draft = version_of(container, draft)
    for version in (of_draft, policies.published(container)):
        if version and policies.means(version, policy):
            return version
    return None


def _form_in_force(container: Container) -> PolicyForm:
    standing = policies.published(container)
    return PolicyForm.of(policies.readable(standing), base=standing.number if standing else None)


def policy_page(
    request: PersonRequest, container: Container, form: PolicyForm, *, status: int = 200, clash: Clash | None = None
) -> HttpResponse:
    """Answer with the policy page around this form, or with what the form would do where htmx asks."""
    standing = policies.published(container)
    hidden = {name: form[name].value() for name in HIDDEN} | (clash.again if clash else {})
    context: dict[str, Any] = {
        "container": container,
        "form": form,
        "hidden": {name: "" if value is None else value for name, value in hidden.items()},
        "draft": hidden["draft"] or None,
        "standing": standing,
        "scheduled": drafts.scheduled(container),
        "unreadable": wording.UNREADABLE if standing and policies.readable(standing) is None else "",
        "clash": clash,
        "blocked": why_nothing_runs(container),
        "may_edit": request.user.may(Right.POLICY_EDIT),
        "may_publish": request.user.may(Right.POLICY_PUBLISH),
        "runs": Run.objects.of_container(container).exclude(state=RunState.DISCARDED).newest_first()[:RUNS_SHOWN],
        "summaries": switch_card(container, policies.readable(standing)),
        "drafts": PolicyVersion.objects.filter(container=container, status=PolicyStatus.DRAFT).order_by("-number")[:RUNS_SHOWN],
        **_effect(request, container, form, standing),
    }
    return render_page(request, "policies/detail.html", "policies/_effect.html", context, status=status)


def _effect(request: PersonRequest, container: Container, form: PolicyForm, standing: PolicyVersion | None) -> dict[str, Any]:
    """What the policy in the form says and would do now. Reads, records nothing."""
    if not form.is_valid() or form.policy is None:
        return {"sentences": [], "estimate": None}
    now = timezone.now()
    estimate = planning.estimate(container, form.policy, now=now)
    old = policies.readable(standing)
    return {
        "sentences": wording.sentences_of(form.policy),
        "changes": wording.changes_between(old, form.policy) if old and old != form.policy else [],
        "differences": differences(old, form.policy) if standing else (),
        "estimate": estimate,
        "first": _by_type(estimate, may_read=request.user.may(Right.MEMORY_READ_TEXT)),
        "now": now,
    }


def _by_type(estimate: planning.Estimate, *, may_read: bool) -> list[tuple[str, int, list[dict[str, Any]]]]:
    """Return the first victims as (noun, how many go in all, rows), type by type."""
    rows = shown_victims(list(estimate.first), may_read=may_read)
    shown = [(kind.memory_type, [row for row in rows if row["kind"] == kind]) for kind in ItemKind]
    return [(NOUNS[memory_type], estimate.totals.of(memory_type).total, of_type) for memory_type, of_type in shown if of_type]
