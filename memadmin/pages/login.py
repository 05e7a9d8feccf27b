"""Signing in and out, and the colour theme, which works for everybody."""

from datetime import timedelta
from math import ceil
from typing import Any

from django import forms
from django.contrib.auth import authenticate
from django.contrib.auth import login as start_session
from django.contrib.auth import logout as end_session
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from memadmin.access import throttling
from memadmin.access.models import Person
from memadmin.pages.context import THEME_COOKIE, THEMES, home_url
from memadmin.pages.decorators import is_ours, open_to_all
from memadmin.pages.htmx import notice
from memadmin.plurals import counted

A_YEAR = 365 * 24 * 3600  # seconds


class LoginForm(forms.Form):
    login = forms.CharField(
        max_length=150,
        widget=forms.TextInput(attrs={"autocomplete": "username", "autocapitalize": "none", "spellcheck": "false", "autofocus": True}),
    )
    password = forms.CharField(
        max_length=1000,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )
    person: Person
    wait: timedelta | None = None

    def __init__(self, *args: Any, request: HttpRequest, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._request = request

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        if "login" in data and "password" in data:
            self.wait = throttling.wait_before(data["login"], self._request, now=timezone.now())
            if self.wait:
                raise forms.ValidationError(
                    f"Too many failed attempts. Wait {_minutes(self.wait)} and try again, or ask an administrator for a new password."
                )
            person = authenticate(self._request, login=data["login"], password=data["password"])
            if not isinstance(person, Person):
                # One sentence for every cause: which of the two was wrong, or that the account is closed, helps a guesser only.
                raise forms.ValidationError("Login and password do not match an account. Check both and try again.")
            self.person = person
        return data


@sensitive_post_parameters("password")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@open_to_all
def login(request: HttpRequest) -> HttpResponse:
    back = request.POST.get("next") or request.GET.get("next", "")
    back = back if is_ours(request, back) else ""
    if isinstance(request.user, Person):
        return HttpResponseRedirect(back or home_url(request.user))
    if request.method != "POST":
        return render(request, "login/login.html", {"form": LoginForm(request=request), "next": back})
    form = LoginForm(request.POST, request=request)
    if not form.is_valid():
        return _refused(request, form, back)
    with transaction.atomic():  # no session without its audit entry
        start_session(request, form.person)
        request.session["proved_at"] = timezone.now().isoformat()  # approving an erasure asks how long ago
    return HttpResponseRedirect(back or home_url(form.person))


def _refused(request: HttpRequest, form: LoginForm, back: str) -> HttpResponse:
    response = render(request, "login/login.html", {"form": form, "next": back}, status=429 if form.wait else 422)
    if form.wait:
        response["Retry-After"] = str(ceil(form.wait.total_seconds()))
    return response


def _minutes(wait: timedelta) -> str:
    return counted(ceil(wait.total_seconds() / 60), "minute")


@require_POST
@open_to_all
def logout(request: HttpRequest) -> HttpResponse:
    with transaction.atomic():
        end_session(request)
    notice(request, "You are signed out.")
    return redirect("pages:login")


@require_POST
@open_to_all
def theme(request: HttpRequest) -> HttpResponse:
    chosen = request.POST.get("theme", "")
    back = request.POST.get("next", "")
    response = HttpResponseRedirect(back if is_ours(request, back) else reverse("pages:login"))
    if chosen in THEMES:
        response.set_cookie(THEME_COOKIE, chosen, max_age=A_YEAR, httponly=True, samesite="Lax", secure=request.is_secure())
    else:
        response.delete_cookie(THEME_COOKIE)
    return response
