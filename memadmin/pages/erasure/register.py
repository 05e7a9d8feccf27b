"""Stores and coverage: every place that holds personal data, what no erasure would reach, and the register as a file (GDPR article 30)."""

from __future__ import annotations

from django.http import HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from memadmin.access.visibility import visible_containers
from memadmin.erasure import register
from memadmin.pages.decorators import may
from memadmin.pages.htmx import PersonRequest
from memadmin.store.coverage import WHAT_TO_DO
from memadmin.transfer import sheets


@require_safe
@may("erasure.view")
def store_list(request: PersonRequest) -> HttpResponse:
    found = register.register(visible_containers(request.user).by_name(), now=timezone.now())
    return render(request, "erasure/stores.html", {"found": found, "what_to_do": WHAT_TO_DO})


@require_safe
@may("erasure.view")
def store_register(request: PersonRequest) -> HttpResponse:
    now = timezone.now()
    found = register.register(visible_containers(request.user).by_name(), now=now)
    name = f"memadmin-register-{now:%Y-%m-%d}"
    if request.GET.get("format", "json") == "csv":
        answer = HttpResponse("".join(map(sheets.line, register.lines_of(found))), content_type="text/csv; charset=utf-8")
        answer["Content-Disposition"] = f'attachment; filename="{name}.csv"'
        return answer
    whole = JsonResponse(found, json_dumps_params={"indent": 1, "ensure_ascii": False})
    whole["Content-Disposition"] = f'attachment; filename="{name}.json"'
    return whole
