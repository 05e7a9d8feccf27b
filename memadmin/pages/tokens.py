"""API tokens: which there are, a new one (its secret is shown once), and the end of one."""

from __future__ import annotations

from datetime import UTC, datetime, time
from uuid import UUID

from django import forms
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from memadmin.access import tokens
from memadmin.access.actors import actor_of, names_of
from memadmin.access.models import ApiToken
from memadmin.access.scopes import AGENT, Scope
from memadmin.access.tokens import BadToken, TokenSpec
from memadmin.access.visibility import visible_containers
from memadmin.pages.confirming import ask, is_sure
from memadmin.pages.container_names import names_told_apart
from memadmin.pages.decorators import may
from memadmin.pages.forms import TICK, ReachForm
from memadmin.pages.htmx import PersonRequest, notice, problem, render_page
from memadmin.pages.showing import show_once

DATE = forms.DateInput(attrs={"type": "date"})


class TokenForm(ReachForm):
    label = forms.CharField(max_length=tokens.LABEL_LENGTH, help_text="Which program is it for?")
    owner_name = forms.CharField(
        max_length=tokens.NAME_LENGTH,
        label="Owner",
        help_text="Whose memories the program writes and reads: the name stands on each of them.",
    )
    scopes = forms.MultipleChoiceField(
        choices=Scope.choices,
        initial=[scope.value for scope in AGENT],
        widget=forms.CheckboxSelectMultiple(attrs=TICK),
        error_messages={"required": "Choose at least one thing that the token may do."},
    )
    all_access = forms.BooleanField(required=False, label="Reads and changes memories of all owners, not only its own")
    backend_roles = forms.CharField(
        required=False, help_text="Separated by commas. For tokens of all containers: they open those of these roles."
    )
    tenant = forms.CharField(required=False, max_length=tokens.NAME_LENGTH, help_text="Only where tenants are kept apart.")
    expires_on = forms.DateField(required=False, label="Works until the end of", help_text="Empty: until it is revoked.", widget=DATE)

    def spec(self) -> TokenSpec:
        """Return what the valid form describes."""
        given, chosen = self.cleaned_data, self.chosen()
        last_day = given["expires_on"]
        return TokenSpec(
            label=given["label"],
            owner_name=given["owner_name"],
            scopes=tuple(Scope(name) for name in given["scopes"]),
            containers=None if chosen is None else tuple(chosen),
            backend_roles=tuple(role.strip() for role in given["backend_roles"].split(",") if role.strip()),
            all_access=given["all_access"],
            tenant=given["tenant"] or None,
            expires_at=datetime.combine(last_day, time.max, tzinfo=UTC) if last_day else None,
        )


@require_safe
@may("token.manage")
def token_list(request: PersonRequest) -> HttpResponse:
    now = timezone.now()
    found = list(ApiToken.objects.prefetch_related("containers").order_by("-created_at", "-pk"))
    seen = names_told_apart(visible_containers(request.user))
    rows = [
        {
            "token": token,
            "works": token.works(now),
            "containers": [seen[container.pk] for container in token.containers.all() if container.pk in seen],
            "others": sum(container.pk not in seen for container in token.containers.all()),
        }
        for token in found
    ]
    context = {"rows": rows, "names": names_of(token.created_by for token in found), "now": now}
    return render_page(request, "tokens/list.html", "tokens/_table.html", context)


@require_safe
@may("token.manage")
def token_new(request: PersonRequest) -> HttpResponse:
    return render(request, "tokens/new.html", {"form": TokenForm(person=request.user)})


@require_POST
@may("token.manage")
def token_create(request: PersonRequest) -> HttpResponse:
    form = TokenForm(request.POST, person=request.user)
    if form.is_valid():
        try:
            token, secret = tokens.create_token(form.spec(), actor=actor_of(request.user), now=timezone.now())
        except BadToken as error:
            form.add_error(None, str(error))
        else:
            context, back = {"token": token, "secret": secret}, ("API tokens", reverse("pages:token-list"))
            return show_once(request, "tokens/_made.html", context, heading="API token made", back=back)
    return render(request, "tokens/new.html", {"form": form}, status=422)


@require_POST
@may("token.manage")
def token_revoke(request: PersonRequest, uid: UUID) -> HttpResponse:
    token = get_object_or_404(ApiToken, uid=uid)
    if not is_sure(request):
        return _confirm(request, token)
    try:
        tokens.revoke_token(token, actor=actor_of(request.user), now=timezone.now())
    except tokens.AlreadyRevoked as error:
        problem(request, str(error))
    else:
        notice(request, f"The token “{token.label}” works no more.")
    return redirect("pages:token-list")


def _confirm(request: PersonRequest, token: ApiToken) -> HttpResponse:
    confirm = {
        "action": request.path,
        "verb": "Revoke the token",
        "consequence": f"“{token.label}” ({token.beginning}…) is refused from the next request on. This cannot be undone.",
        "keeps": ["What the program has stored stays.", "A new token of the same owner goes on where this one ends."],
        "cancel": reverse("pages:token-list"),
        "hidden": {"sure": "yes"},
        "danger": True,
    }
    return ask(request, confirm, heading="Revoke an API token")
