"""The list of rules that do nothing or contradict each other, over all containers that a person sees."""

from __future__ import annotations

from collections import Counter

from django import forms
from django.http import HttpResponse
from django.views.decorators.http import require_safe

from memadmin.access.visibility import visible_containers
from memadmin.lifecycle.findings import findings_of
from memadmin.pages.decorators import may
from memadmin.pages.htmx import PersonRequest, render_page
from memadmin.store import configuration

AT_ONCE = 200  # containers a page
NAMES = {  # the beginning of a code -> what the chip says
    "no_policy": "No policy",
    "opted_out": "Opted out",
    "unreadable": "Unreadable",
    "no_limits": "No limit",
    "idle": "Does nothing",
    "no_strategies": "No strategies",
    "shadowed": "Shadowed",
    "pinned": "Pins over a limit",
    "no_working_ttl": "Working memories without a limit",
    "no_archive": "No archive",
    "short_archive": "Short archive",
    "schedule_refused": "Will be refused",
}


class FindingFilter(forms.Form):
    """What an address may say; whatever it says wrongly is left out."""

    kind = forms.ChoiceField(required=False, choices=NAMES.items())
    after = forms.IntegerField(required=False, min_value=0, max_value=2**31 - 1)


@require_safe
@may("policy.view")
def policy_findings(request: PersonRequest) -> HttpResponse:
    form = FindingFilter(request.GET)
    form.is_valid()
    kind, after = form.cleaned_data.get("kind") or "", form.cleaned_data.get("after") or 0
    seen = visible_containers(request.user).standing()
    looked_at = list(seen.filter(pk__gt=after).order_by("pk")[:AT_ONCE])
    found = [(container, warned) for container in looked_at for warned in findings_of(container)]
    counts = Counter(warned.code.partition(".")[0] for _, warned in found)
    rows = [(container, warned) for container, warned in found if not kind or warned.code.partition(".")[0] == kind]
    settings, total = configuration.values(), seen.count()
    context = {
        "rows": sorted(rows, key=lambda row: not row[1].loud),
        "kinds": [(name, label, counts[name]) for name, label in NAMES.items() if counts[name]],
        "kind": kind,
        "all": sum(counts.values()),
        "containers": len(looked_at),
        "total": total,
        "next": looked_at[-1].pk if len(looked_at) == AT_ONCE and seen.filter(pk__gt=looked_at[-1].pk).exists() else None,
        "off": not settings["retention_enabled"] or settings["multi_tenancy_enabled"],
    }
    return render_page(request, "policies/findings.html", "policies/_findings.html", context)
