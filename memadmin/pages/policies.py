"""The policy page of a container: the form, what it would do, its versions."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from memadmin.access.actors import actor_of, names_of
from memadmin.access.rights import Right
from memadmin.access.visibility import get_container
from memadmin.lifecycle import planning
from memadmin.lifecycle.models import ItemKind, Run, RunState, Trigger
from memadmin.lifecycle.warnings import NOUNS, why_nothing_runs
from memadmin.pages import wording
from memadmin.pages.decorators import may
from memadmin.pages.htmx import PersonRequest, notice, render_page
from memadmin.pages.policy_form import PolicyForm, query_of
from memadmin.pages.victims import shown_victims
from memadmin.store import policies
from memadmin.store.models import Container, PolicyVersion
from retention.policy import digest
from retention.rules import RetentionPolicy

RUNS_SHOWN = 5
FORM_TOKEN = "csrfmiddlewaretoken"


@require_safe
@may("policy.view")
def policy_detail(request: PersonRequest, uid: UUID) -> HttpResponse:
    """The page; with a form in the address also what that policy would do, which is not stored."""
    if FORM_TOKEN in request.GET:  # a browser without scripts sends the whole form: its token has no place in an address
        said = request.GET.copy()
        del said[FORM_TOKEN]
        return redirect(f"{request.path}?{said.urlencode()}")
    container = get_container(request.user, uid)
    may_edit = request.user.may(Right.POLICY_EDIT)
    form = (
        PolicyForm(request.GET, standing=policies.current(container)) if may_edit and "base" in request.GET else _form_in_force(container)
    )
    return policy_page(request, container, form)


@require_POST
@may("policy.edit")
def policy_preview(request: PersonRequest, uid: UUID) -> HttpResponse:
    """Record the victims of the policy in the form, under a number."""
    container, now = get_container(request.user, uid), timezone.now()
    form = PolicyForm(request.POST, standing=policies.current(container))
    if not form.is_valid() or form.policy is None:
        return policy_page(request, container, form, status=422)
    standing = policies.published(container)
    version = standing if standing and standing.digest == digest(form.policy) else None
    run = planning.plan(container, form.policy, now=now, trigger=Trigger.PREVIEW, actor=actor_of(request.user), policy_version=version)
    return redirect("pages:run-detail", run.number)


@require_POST
@may("policy.edit")
def policy_draft(request: PersonRequest, uid: UUID) -> HttpResponse:
    container = get_container(request.user, uid)
    form = PolicyForm(request.POST, standing=policies.current(container))
    if not form.is_valid() or form.policy is None:
        return policy_page(request, container, form, status=422)
    note, actor = form.cleaned_data["note"], actor_of(request.user)
    version = policies.save_draft(container, form.policy, actor=actor, now=timezone.now(), note=note)
    notice(request, f"Kept as draft, version {version.number}. Nothing is evicted by a draft.")
    return redirect("pages:policy-version", container.uid, version.number)


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
    version = get_object_or_404(PolicyVersion, container=container, number=number)
    standing = policies.published(container)
    policy = policies.readable(version)
    context = {
        "container": container,
        "version": version,
        "standing": standing,
        "sentences": wording.sentences_of(policy),
        "changes": wording.changes_between(policies.readable(standing), policy) if policy and standing != version else [],
        "names": names_of([version.author]),
        "can_publish": request.user.may(Right.POLICY_PUBLISH) and policy is not None and standing != version,
        "form_url": form_url(container, policy) if policy and request.user.may(Right.POLICY_EDIT) and standing != version else "",
    }
    return render_page(request, "policies/version.html", "policies/_version.html", context)


def form_url(container: Container, policy: RetentionPolicy) -> str:
    """Return the address of the form filled with a policy, to be published over the one in force now."""
    standing = policies.published(container)
    query = query_of(policy, base=standing.number if standing else None)
    return f"{reverse('pages:policy-detail', args=[container.uid])}?{query}"


def _form_in_force(container: Container) -> PolicyForm:
    standing = policies.published(container)
    return PolicyForm.of(policies.readable(standing), base=standing.number if standing else None)


def policy_page(
    request: PersonRequest, container: Container, form: PolicyForm, *, status: int = 200, conflict: policies.Conflict | None = None
) -> HttpResponse:
    """Answer with the policy page around this form, or with what the form would do where htmx asks."""
    standing = policies.published(container)
    blocked = why_nothing_runs(container)
    context: dict[str, Any] = {
        "container": container,
        "form": form,
        "standing": standing,
        "unreadable": wording.UNREADABLE if standing and policies.readable(standing) is None else "",
        "conflict": conflict.published if conflict else None,
        "conflict_seen": conflict is not None,  # the next attempt is against what stands now
        "conflict_sentences": wording.sentences_of(policies.readable(conflict.published)) if conflict and conflict.published else [],
        "blocked": blocked,
        "may_edit": request.user.may(Right.POLICY_EDIT),
        "may_publish": request.user.may(Right.POLICY_PUBLISH),
        "runs": Run.objects.of_container(container).exclude(state=RunState.DISCARDED).newest_first()[:RUNS_SHOWN],
        "drafts": PolicyVersion.objects.filter(container=container, status="draft").order_by("-number")[:RUNS_SHOWN],
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
        "estimate": estimate,
        "first": _by_type(estimate, may_read=request.user.may(Right.MEMORY_READ_TEXT)),
        "now": now,
    }


def _by_type(estimate: planning.Estimate, *, may_read: bool) -> list[tuple[str, int, list[dict[str, Any]]]]:
    """Return the first victims as (noun, how many go in all, rows), type by type."""
    rows = shown_victims(list(estimate.first), may_read=may_read)
    shown = [(kind.memory_type, [row for row in rows if row["kind"] == kind]) for kind in ItemKind]
    return [(NOUNS[memory_type], estimate.totals.of(memory_type).total, of_type) for memory_type, of_type in shown if of_type]
