"""What a verb answers with, on a page of its own: the POST leads to it, so that loading it again asks nothing and does nothing.

A secret is shown once: whoever loads its page again is told so, and nothing new is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpResponse
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
from memadmin.pages.htmx import PersonRequest, problem

Back = tuple[str, str]  # what it is called, and its address


def show_once(request: PersonRequest, part: str, context: Mapping[str, Any], *, heading: str, back: Back) -> HttpResponse:
    """Lead to a page that shows this part once."""
    return _lead(request, part, context, heading=heading, back=back, once=True)


def show_result(request: PersonRequest, part: str, context: Mapping[str, Any], *, heading: str, back: Back) -> HttpResponse:
    """Lead to a page that shows this part, for as long as it is kept."""
    return _lead(request, part, context, heading=heading, back=back, once=False)


def _lead(request: PersonRequest, part: str, context: Mapping[str, Any], *, heading: str, back: Back, once: bool) -> HttpResponse:
    name, match = kept.new_name(), request.resolver_match
    assert match is not None  # a view runs because an address matched
    shown = {
        "part": render_to_string(part, dict(context), request),
        "heading": heading,
        "back": back,
        "once": once,
        "here": match.url_name,
        "right": getattr(match.func, "required_right", ""),
    }
    kept.keep(request, name, shown, now=timezone.now())
    return redirect(reverse("pages:shown", args=[name]))


@require_safe
@signed_in
def shown(request: PersonRequest, name: str) -> HttpResponse:
    """Show what a verb answered. A secret is taken with it: it is nowhere from then on."""
    now = timezone.now()
    found = kept.find(request, name, now=now)
    if found is None or "part" not in found:
        problem(request, "What was here is not kept any more: a secret is shown once, all else for half an hour. What was done stays done.")
        return redirect(home_url(request.user))
    if not request.user.may(found["right"]):
        return not_allowed(request, Right(found["right"]))
    if found["once"] and request.method != "HEAD":
        kept.take(request, name, now=now)
    part = mark_safe(found["part"])  # our own template made it, and escaped
    context = {"heading": found["heading"], "back": found["back"], "part": part, "navigation": navigation(request.user, found["here"])}
    return render(request, "components/shown.html", context)
