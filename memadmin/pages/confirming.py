"""Asking before something large. Looking and doing are two addresses: the question has one of its own, which can be loaded again and gone
back to, and the verb is posted to another.

A POST that is not sure yet keeps its question with the person's session and leads to it. A question is answered once; a second answer,
from a page that was gone back to, is asked anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpResponse
from django.middleware.csrf import get_token
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import mark_safe
from django.views.decorators.http import require_safe

from memadmin.access.rights import Right
from memadmin.pages import kept
from memadmin.pages.context import home_url, navigation
from memadmin.pages.decorators import signed_in
from memadmin.pages.errors import not_allowed
from memadmin.pages.htmx import PersonRequest, leave_to, problem, wants_part

TOKEN_GOES_HERE = "the-token-of-the-form-goes-here"


def is_sure(request: PersonRequest) -> bool:
    """True when the person was asked and said yes, and had not answered this question before."""
    if request.POST.get("sure") != "yes":
        return False
    name = request.POST.get("question", "")
    return not name or kept.take(request, name, now=timezone.now()) is not None


def ask(request: PersonRequest, confirm: Mapping[str, Any], *, heading: str, status: int = 200) -> HttpResponse:
    """Lead to the question; `confirm` as components/_confirm.html wants it."""
    return ask_with(request, "components/_confirm.html", {"confirm": confirm}, heading=heading, status=status)


def ask_with(request: PersonRequest, part: str, context: Mapping[str, Any], *, heading: str, status: int = 200) -> HttpResponse:
    """Lead to a question whose form is a part of its own; with 422 answer with it at once, since an answer was not whole."""
    name, match = kept.new_name(), request.resolver_match
    form = render_to_string(part, {**context, "question": name, "csrf_token": TOKEN_GOES_HERE}, request)
    assert match is not None  # a view runs because an address matched
    asked = {"heading": heading, "form": form, "here": match.url_name, "right": getattr(match.func, "required_right", "")}
    kept.keep(request, name, asked, now=timezone.now())
    if status != 200:
        return _page(request, asked, status=status)
    address = reverse("pages:question", args=[name])
    return leave_to(request, address) if wants_part(request) else redirect(address)


@require_safe
@signed_in
def question(request: PersonRequest, name: str) -> HttpResponse:
    """Show a question that was asked of this person. It does nothing, however often it is loaded."""
    asked = kept.find(request, name, now=timezone.now())
    if asked is None or "form" not in asked:
        problem(request, "This question is not open any more: it was answered, or stood too long. Begin again from the page it belongs to.")
        return redirect(home_url(request.user))
    if not request.user.may(asked["right"]):
        return not_allowed(request, Right(asked["right"]))
    return _page(request, asked)


def _page(request: PersonRequest, asked: Mapping[str, Any], *, status: int = 200) -> HttpResponse:
    form = asked["form"].replace(TOKEN_GOES_HERE, get_token(request))  # our own template made it, and escaped
    context = {"heading": asked["heading"], "form": mark_safe(form), "navigation": navigation(request.user, asked["here"])}
    return render(request, "components/question.html", context, status=status)
