"""The register of recipients: who gets data from here, of which containers, what, and how they are told of an erasure."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django import forms
from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from memadmin.access.actors import actor_of, names_of
from memadmin.access.models import Person
from memadmin.access.visibility import visible_containers
from memadmin.erasure import recipients
from memadmin.erasure.models import Recipient, RecipientKind, RecipientNotice
from memadmin.erasure.models.recipients import OPEN_STATES
from memadmin.erasure.recipients import BadRecipient, RecipientSpec
from memadmin.outbound import addresses
from memadmin.pages.decorators import may
from memadmin.pages.forms import ReachForm
from memadmin.pages.htmx import PersonRequest, notice
from memadmin.pages.showing import show_once
from memadmin.store.models import Container

SHOWN = 200


class RecipientForm(ReachForm):
    name = forms.CharField(max_length=recipients.LONGEST_NAME, label="Who they are", widget=forms.TextInput(attrs={"autocomplete": "off"}))
    kind = forms.ChoiceField(choices=RecipientKind.choices, label="How they are told")
    contact = forms.CharField(
        max_length=addresses.LONGEST,
        label="Address",
        help_text="Of a program: where it takes signed messages. Else how a person reaches them.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    given = forms.CharField(
        max_length=recipients.LONGEST_GIVEN, label="What they get", help_text="In words for the person whose data it is: they may ask."
    )

    def spec(self) -> RecipientSpec:
        """Return what the valid form describes."""
        given = self.cleaned_data
        values = {name: given[name] for name in ("name", "contact", "given")}
        return RecipientSpec(**values, kind=RecipientKind(given["kind"]), containers=self.chosen())


@require_safe
@may("erasure.view")
def recipient_list(request: PersonRequest) -> HttpResponse:
    rows = list(_counted(seen_by(request.user)).prefetch_related("containers")[:SHOWN])
    mine = set(_own(request.user).filter(pk__in=[row.pk for row in rows]).values_list("pk", flat=True))
    visible = set(visible_containers(request.user).values_list("pk", flat=True))
    shown = [
        {
            "recipient": row,
            "may_end": row.pk in mine and row.ended_at is None,
            "containers": [container for container in row.containers.all() if container.pk in visible],
        }
        for row in rows
    ]
    return render(request, "recipients/list.html", {"rows": shown, "names": names_of(row.created_by for row in rows)})


@require_safe
@may("recipient.manage")
def recipient_new(request: PersonRequest) -> HttpResponse:
    return render(request, "recipients/new.html", {"form": RecipientForm(person=request.user)})


@require_POST
@may("recipient.manage")
def recipient_create(request: PersonRequest) -> HttpResponse:
    form = RecipientForm(request.POST, person=request.user)
    if form.is_valid():
        try:
            made, secret = recipients.register(form.spec(), actor=actor_of(request.user), now=timezone.now())
        except BadRecipient as error:
            form.add_error(None, str(error))
        else:
            if secret:
                context, back = {"recipient": made, "secret": secret}, ("Recipients", reverse("pages:recipient-list"))
                return show_once(request, "recipients/_made.html", context, heading="Recipient registered", back=back)
            notice(request, "The recipient is registered. A person tells them of each erasure.")
            return redirect("pages:recipient-list")
    return render(request, "recipients/new.html", {"form": form}, status=422)


@require_POST
@may("recipient.manage")
def recipient_end(request: PersonRequest, uid: UUID) -> HttpResponse:
    recipients.end(get_object_or_404(_own(request.user), uid=uid), actor=actor_of(request.user), now=timezone.now())
    notice(request, "They get nothing any more. They are still told of erasures, since they have what they got.")
    return redirect("pages:recipient-list")


def _counted(rows: QuerySet[Recipient]) -> QuerySet[Recipient]:
    waiting = RecipientNotice.objects.filter(recipient=OuterRef("pk"), state__in=OPEN_STATES).order_by()
    counted = waiting.values("recipient").annotate(n=Count("pk")).values("n")
    return rows.annotate(waiting=Coalesce(Subquery(counted), 0))


def seen_by(person: Person) -> QuerySet[Recipient]:
    """Return those of containers that the person sees."""
    return Recipient.objects.order_by("name", "pk") if person.all_containers else recipients.of_containers(_keys(person))


def _own(person: Person) -> Any:
    """Those of containers that the person sees and no others; those for all are for who sees all."""
    if person.all_containers:
        return Recipient.objects.all()
    others = Container.objects.exclude(pk__in=_keys(person))
    return Recipient.objects.filter(all_containers=False, containers__in=_keys(person)).exclude(containers__in=others).distinct()


def _keys(person: Person) -> list[int]:
    return list(visible_containers(person).values_list("pk", flat=True))
