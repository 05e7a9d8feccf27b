"""Webhooks: which addresses are told of what, what became of each message, and the verbs on them. A secret is shown once."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django import forms
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from memadmin.access.actors import actor_of, names_of
from memadmin.access.models import Person
from memadmin.access.visibility import visible_containers
from memadmin.outbound import addresses
from memadmin.pages.confirming import ask, is_sure
from memadmin.pages.decorators import may
from memadmin.pages.forms import TICK, ReachForm
from memadmin.pages.htmx import PersonRequest, notice, render_page
from memadmin.pages.showing import show_once
from memadmin.webhooks import subscriptions
from memadmin.webhooks.models import Event, State, Subscription
from memadmin.webhooks.subscriptions import BadSubscription, SubscriptionSpec

SHOWN = 100  # messages


class WebhookForm(ReachForm):
    url = forms.CharField(max_length=addresses.LONGEST, label="Address", widget=forms.URLInput(attrs={"autocomplete": "off"}))
    events = forms.MultipleChoiceField(
        choices=Event.choices,
        widget=forms.CheckboxSelectMultiple(attrs=TICK),
        error_messages={"required": "Choose at least one event."},
    )

    def __init__(self, *given: Any, **details: Any) -> None:
        super().__init__(*given, **details)
        self.fields["url"].help_text = f"It begins with {' or '.join(f'{scheme}://' for scheme in addresses.schemes())}."

    def spec(self) -> SubscriptionSpec:
        """Return what the valid form describes."""
        given = self.cleaned_data
        return SubscriptionSpec(url=given["url"], events=given["events"], containers=self.chosen())


@require_safe
@may("webhook.manage")
def webhook_list(request: PersonRequest) -> HttpResponse:
    rows = subscriptions.summarised(_reached(request.user)).order_by("-created_at", "-pk")
    context = {"rows": rows, "names": names_of(row.created_by for row in rows), "now": timezone.now()}
    return render_page(request, "webhooks/list.html", "webhooks/_table.html", context)


@require_safe
@may("webhook.manage")
def webhook_new(request: PersonRequest) -> HttpResponse:
    return render(request, "webhooks/new.html", {"form": WebhookForm(person=request.user)})


@require_POST
@may("webhook.manage")
def webhook_create(request: PersonRequest) -> HttpResponse:
    form = WebhookForm(request.POST, person=request.user)
    if form.is_valid():
        try:
            made, secret = subscriptions.subscribe(form.spec(), actor=actor_of(request.user), now=timezone.now())
        except BadSubscription as error:
            form.add_error(None, str(error))
        else:
            context, back = {"webhook": made, "secret": secret}, ("Webhooks", reverse("pages:webhook-list"))
            return show_once(request, "webhooks/_made.html", context, heading="Webhook made", back=back)
    return render(request, "webhooks/new.html", {"form": form}, status=422)


@require_safe
@may("webhook.manage")
def webhook_detail(request: PersonRequest, uid: UUID) -> HttpResponse:
    webhook, now = _webhook(request.user, uid), timezone.now()
    state = request.GET.get("state", "")
    sent = webhook.deliveries.defer("body").order_by("-id")
    if state in State.values:
        sent = sent.filter(state=state)
    found = list(sent[: SHOWN + 1])
    context = {"webhook": webhook, "deliveries": found[:SHOWN], "has_more": len(found) > SHOWN, "shown": SHOWN}
    context |= {"state": state, "states": State.choices, "now": now, "names": names_of([webhook.created_by])}
    return render_page(request, "webhooks/detail.html", "webhooks/_deliveries.html", context)


@require_POST
@may("webhook.manage")
def webhook_switch(request: PersonRequest, uid: UUID) -> HttpResponse:
    webhook, enabled = _webhook(request.user, uid), request.POST.get("enabled") == "on"
    subscriptions.switch(webhook, enabled=enabled, actor=actor_of(request.user), now=timezone.now())
    notice(request, "It goes on where it stopped." if enabled else "It is paused. What happens from now on waits until it is resumed.")
    return redirect("pages:webhook-detail", uid)


@require_POST
@may("webhook.manage")
def webhook_delete(request: PersonRequest, uid: UUID) -> HttpResponse:
    webhook = _webhook(request.user, uid)
    if not is_sure(request):
        return _confirm(request, webhook)
    subscriptions.unsubscribe(webhook, actor=actor_of(request.user), now=timezone.now())
    notice(request, "The webhook is deleted.")
    return redirect("pages:webhook-list")


def _confirm(request: PersonRequest, webhook: Subscription) -> HttpResponse:
    confirm = {
        "action": request.path,
        "verb": "Delete the webhook",
        "consequence": f"{webhook.url} hears of nothing any more, and the list of what it was told goes. This cannot be undone.",
        "keeps": ["What happened stays in the audit log.", "To stop for a while, pause it instead."],
        "cancel": reverse("pages:webhook-detail", args=[webhook.uid]),
        "hidden": {"sure": "yes"},
        "danger": True,
    }
    return ask(request, confirm, heading="Delete a webhook")


def _reached(person: Person) -> Any:
    """Return the webhooks of containers that the person sees; those for all containers are for who sees all."""
    return subscriptions.within(None if person.all_containers else visible_containers(person))


def _webhook(person: Person, uid: UUID) -> Subscription:
    found: Subscription | None = _reached(person).filter(uid=uid).first()
    if found is None:
        raise Http404
    return found
