"""Summarise before evicting, on pages: the switch of a container, and what became of the clusters of a run."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django import forms
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST

from memadmin.access.actors import actor_of
from memadmin.access.visibility import get_container
from memadmin.lifecycle.models import ClusterState, Run, RunCluster
from memadmin.lifecycle.summarising.switch import LEAST, MOST, USUAL, switch, why_inactive
from memadmin.pages.decorators import may
from memadmin.pages.htmx import PersonRequest, notice, problem
from memadmin.store import policies
from memadmin.store.models import Container, LongTermMemory, Subject
from retention.rules import RetentionPolicy

SHOWN = 50
WHYS = {
    "no_endpoint": "no model endpoint is set any more",
    "unreachable": "the model did not answer",
    "refused": "the model refused the question",
    "bad_answer": "the model's answer could not be used",
    "not_shorter": "the summary was too long to fit",
    "suppressed": "the summary said what was erased",
}


class SummariesForm(forms.Form):
    on = forms.BooleanField(required=False)
    at_least = forms.IntegerField(min_value=LEAST, max_value=MOST, required=False)

    def clean(self) -> dict[str, Any]:
        given = super().clean() or {}
        if given.get("on") and given.get("at_least") is None and "at_least" not in self.errors:
            self.add_error("at_least", f"Say from how many alike memories on: {LEAST} to {MOST}.")
        return given


@require_POST
@may("policy.publish")
def container_summarise(request: PersonRequest, uid: UUID) -> HttpResponse:
    container, form = get_container(request.user, uid), SummariesForm(request.POST)
    if not form.is_valid():
        problem(request, f"Nothing is changed. From how many alike memories on? Write a whole number from {LEAST} to {MOST}.")
        return redirect("pages:policy-detail", uid)
    at_least = form.cleaned_data["at_least"] if form.cleaned_data["on"] else None
    switch(container, at_least, actor=actor_of(request.user), now=timezone.now())
    notice(request, _said(container, at_least))
    return redirect("pages:policy-detail", uid)


def _said(container: Container, at_least: int | None) -> str:
    if at_least is None:
        return "Runs evict one by one from now on."
    inactive = why_inactive(container, policies.current(container))
    return f"It is switched on. {inactive.text}" if inactive else "Runs summarise before they evict from now on."


def switch_card(container: Container, policy: RetentionPolicy | None) -> dict[str, Any]:
    """Return what the policy page says of the switch."""
    inactive = why_inactive(container, policy)
    return {
        "on": container.summarise_from is not None,
        "at_least": container.summarise_from or USUAL,
        "least": LEAST,
        "most": MOST,
        "inactive": inactive.text if inactive else "",
    }


def clusters_of(run: Run) -> dict[str, Any] | None:
    """Return what the run's page says of its clusters; None where it has none."""
    clusters = RunCluster.objects.filter(run=run).order_by("number")
    shown = list(clusters[:SHOWN])
    numbers = run.outcome.get("summaries", {})
    if not shown and not numbers:
        return None
    users = Subject.objects.in_bulk([cluster.subject_id for cluster in shown])
    there = set(LongTermMemory.objects.with_uids([each.summary_uid for each in shown if each.summary_uid]).values_list("uid", flat=True))
    return {
        "rows": [
            {
                "cluster": cluster,
                "user": users.get(cluster.subject_id),
                "why": WHYS.get(cluster.why, cluster.why),
                "there": cluster.summary_uid in there,
            }
            for cluster in shown
        ],
        "total": clusters.count(),
        "planned": sum(1 for cluster in shown if cluster.state == ClusterState.PLANNED),
        "written": numbers.get("written", 0),
        "sources": numbers.get("sources", 0),
        "kept": numbers.get("kept", 0),
        "kept_victims": numbers.get("kept_victims", 0),
        "dissolved": numbers.get("dissolved", 0),
    }


def cluster_by_victim(run: Run, seqs: list[int]) -> dict[int, str]:
    """Return, as a text, the number of the cluster of each of these victims that is a source in one."""
    if not seqs:
        return {}
    found = RunCluster.objects.filter(run=run, last__gte=min(seqs), first__lte=max(seqs))
    return {seq: str(cluster.number) for cluster in found for seq in seqs if cluster.first <= seq <= cluster.last}


def unsummarised(runs: list[Run]) -> int:
    """Return how many memories the given runs kept because no summary could be made of them."""
    return sum(run.outcome.get("summaries", {}).get("kept_victims", 0) for run in runs)
