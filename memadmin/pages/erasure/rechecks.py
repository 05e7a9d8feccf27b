"""What was looked for again after erasures, and what was found: alarms, until somebody has said what they were."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from memadmin.access.actors import actor_of, names_of
from memadmin.erasure import rechecking
from memadmin.erasure.models import ErasureRequest, FoundAgain, Recheck
from memadmin.erasure.moves import Refusal
from memadmin.pages.decorators import may
from memadmin.pages.htmx import PersonRequest, notice, problem

SHOWN = 200
LOOKS = 10


@require_safe
@may("erasure.view")
def recheck_list(request: PersonRequest) -> HttpResponse:
    alarms = list(FoundAgain.objects.filter(settled_at=None).order_by("-pk")[:SHOWN])
    settled = list(FoundAgain.objects.exclude(settled_at=None).order_by("-settled_at", "-pk")[:LOOKS])
    context = {
        "alarms": alarms,
        "total": rechecking.alarms(),
        "settled": settled,
        "numbers": _numbers(row.request_ref for row in [*alarms, *settled]),
        "looks": list(Recheck.objects.order_by("-pk")[:LOOKS]),
        "names": names_of(row.settled_by for row in settled),
        "now": timezone.now(),
    }
    return render(request, "erasure/found_again.html", context)


@require_POST
@may("erasure.review")
def recheck_settle(request: PersonRequest, uid: UUID) -> HttpResponse:
    found = get_object_or_404(FoundAgain, uid=uid)
    try:
        rechecking.settle(found, request.POST.get("reason", ""), actor=actor_of(request.user), now=timezone.now())
    except Refusal as refusal:
        problem(request, str(refusal))
    else:
        notice(request, "It is noted. This finding is no alarm any more.")
    return redirect("pages:recheck-list")


def _numbers(refs: Iterable[str]) -> dict[str, int]:
    """Return the numbers of requests by how the log names them."""
    uids = {ref.partition("/")[2] for ref in refs}
    return {f"erasure/{uid}": number for uid, number in ErasureRequest.objects.filter(uid__in=uids).values_list("uid", "number")}
