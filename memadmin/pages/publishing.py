"""What puts a policy in force or takes it out. Each asks on a page of its own first, with the numbers as of then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from memadmin.access.actors import actor_of
from memadmin.access.visibility import get_container
from memadmin.jobs import schedules
from memadmin.lifecycle import planning
from memadmin.lifecycle.differences import sentences_on
from memadmin.pages import wording
from memadmin.pages.clashes import with_published
from memadmin.pages.confirming import ask, is_sure
from memadmin.pages.decorators import may
from memadmin.pages.htmx import PersonRequest, notice, problem
from memadmin.pages.policies import policy_page
from memadmin.pages.policy_form import PolicyForm
from memadmin.pages.standing import NIGHTLY
from memadmin.plurals import counted
from memadmin.store import policies
from memadmin.store.models import Container, PolicyState, PolicyVersion
from retention.rules import RetentionPolicy

REFUSALS = (policies.Conflict, policies.RetentionIsOff, policies.NoSuchVersion, policies.DraftChanged)


@require_POST
@may("policy.publish")
def policy_publish(request: PersonRequest, uid: UUID) -> HttpResponse:
    container = get_container(request.user, uid)
    form = PolicyForm(request.POST, standing=policies.current(container))
    if not form.is_valid() or form.policy is None:
        return policy_page(request, container, form, status=422)
    base, note = form.cleaned_data["base"], form.cleaned_data["note"]
    try:
        if not is_sure(request):
            policies.may_publish(container, base=base)
            return _ask(request, container, form.policy, verb="Publish", heading="Publish this policy", **_sent(request, container, form))
        version = policies.publish(container, form.policy, actor=actor_of(request.user), now=timezone.now(), base=base, note=note)
    except policies.RetentionIsOff as error:
        form.add_error(None, str(error))
        return policy_page(request, container, form, status=409)
    except policies.Conflict as conflict:
        form.add_error(None, str(conflict))
        return policy_page(request, container, form, status=409, clash=with_published(container, form, conflict.published))
    notice(request, f"Published as version {version.number}. It acts at the next run.{_kept_by_pins(container, form.policy)}")
    return redirect("pages:policy-detail", container.uid)


@require_POST
@may("policy.publish")
def policy_publish_draft(request: PersonRequest, uid: UUID, number: int) -> HttpResponse:
    def act(container: Container, base: int | None) -> str:
        seen = request.POST.get("digest", "")
        policies.publish_draft(container, number, actor=actor_of(request.user), now=timezone.now(), base=base, seen=seen)
        return f"Version {number} is published. It acts at the next run."

    return _of_version(request, uid, number, act, verb=f"Publish version {number}", heading=f"Publish the draft, version {number}")


@require_POST
@may("policy.publish")
def policy_roll_back(request: PersonRequest, uid: UUID, number: int) -> HttpResponse:
    def act(container: Container, base: int | None) -> str:
        version = policies.roll_back(container, number, actor=actor_of(request.user), now=timezone.now(), base=base)
        return f"The content of version {number} is in force again, as version {version.number}."

    return _of_version(request, uid, number, act, verb=f"Put version {number} in force again", heading=f"Back to version {number}")


@require_POST
@may("policy.publish")
def policy_opt_out(request: PersonRequest, uid: UUID) -> HttpResponse:
    container = get_container(request.user, uid)
    base = _number(request.POST.get("base"))
    if not is_sure(request):
        return _ask_to_opt_out(request, container, base)
    try:
        policies.opt_out(container, actor=actor_of(request.user), now=timezone.now(), base=base)
    except policies.Conflict as conflict:
        problem(request, str(conflict))
    else:
        notice(request, "Opted out: nothing is evicted here by itself.")
    return redirect("pages:policy-detail", uid)


def _of_version(
    request: PersonRequest, uid: UUID, number: int, act: Callable[[Container, int | None], str], *, verb: str, heading: str
) -> HttpResponse:
    """Ask about a stored version, then act on it."""
    container = get_container(request.user, uid)
    version = get_object_or_404(PolicyVersion, container=container, number=number)
    base, policy = _number(request.POST.get("base")), policies.readable(version)
    if policy is None:
        problem(request, f"Version {number} cannot be put in force. {wording.UNREADABLE}")
        return redirect("pages:policy-version", uid, number)
    try:
        if not is_sure(request):
            policies.may_publish(container, base=base)
            cancel, hidden = reverse("pages:policy-version", args=[uid, number]), {"base": base or "", "digest": version.digest}
            return _ask(request, container, policy, verb=verb, heading=heading, cancel=cancel, hidden=hidden)
        said = act(container, base)
    except REFUSALS as error:
        problem(request, str(error))
        return redirect("pages:policy-version", uid, number)
    notice(request, f"{said}{_kept_by_pins(container, policy)}")
    return redirect("pages:policy-detail", uid)


def _ask(
    request: PersonRequest, container: Container, policy: RetentionPolicy, *, verb: str, heading: str, cancel: str, hidden: dict[str, Any]
) -> HttpResponse:
    """Show what the policy would evict now, what is loud about that, and what it replaces."""
    standing = policies.published(container)
    old = policies.readable(standing)
    estimate = planning.estimate(container, policy, now=timezone.now(), limit=0)
    changes = sentences_on(old, policy) if old else wording.sentences_of(policy)
    confirm = {
        "action": request.path,
        "verb": verb,
        "consequence": f"{_begins()} this policy is carried out in {container.name}. {_replaced(container, standing)}",
        "warnings": [warned.text for warned in estimate.warnings if warned.loud],
        "totals": estimate.totals,
        "keeps": [*changes, *(warned.text for warned in estimate.warnings if warned.code == "no_second_person")],
        "cancel": cancel,
        "hidden": {**hidden, "sure": "yes"},
        "danger": True,
    }
    return ask(request, confirm, heading=heading)


def _ask_to_opt_out(request: PersonRequest, container: Container, base: int | None) -> HttpResponse:
    standing = policies.published(container)
    ends, policy = [], policies.readable(standing)
    if standing and policy:
        spared = planning.estimate(container, policy, now=timezone.now(), limit=0).totals.items
        ends.append(f"Version {standing.number} goes out of force. What it would evict now stays: {counted(spared, 'item')}.")
    confirm = {
        "action": request.path,
        "verb": "Opt out of retention",
        "consequence": f"Nothing of {container.name} will be evicted any more, by any rule, until a policy is published again.",
        "keeps": [*ends, "What earlier runs evicted stays in the archive until its last day."],
        "cancel": reverse("pages:policy-detail", args=[container.uid]),
        "hidden": {"base": base or "", "sure": "yes"},
    }
    return ask(request, confirm, heading="Opt out of retention")


def _begins() -> str:
    at = schedules.next_run(NIGHTLY, now=timezone.now())
    return f"From the next run on, {at:%d %b %Y, %H:%M} UTC," if at else "The nightly run is switched off; once one is started,"


def _replaced(container: Container, standing: PolicyVersion | None) -> str:
    if standing:
        return f"It replaces version {standing.number}."
    return "It ends the opting out." if container.policy_state == PolicyState.OPTED_OUT else "It is the first one here."


def _sent(request: PersonRequest, container: Container, form: PolicyForm) -> dict[str, Any]:
    """Return the values of the form, to be sent again, and the way back to the form with them in it."""
    values = {"base": "", **{name: request.POST[name] for name in form.fields if name in request.POST}}
    return {"hidden": values, "cancel": f"{reverse('pages:policy-detail', args=[container.uid])}?{urlencode(values)}"}


def _kept_by_pins(container: Container, policy: RetentionPolicy) -> str:
    """Say what the policy that was just published will never take, although it is past its limits."""
    kept = planning.kept_past_limits(container, policy, now=timezone.now())
    if not kept:
        return ""
    return f" {counted(kept, 'item is', 'items are')} past a limit of it and kept by a pin or a hold."


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else None
