"""One recipient: of how many people of which container it was given data, and a form that notes one more. Ids are taken in, never shown."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from typing import Any
from uuid import UUID

from django import forms
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from memadmin.access.actors import actor_of
from memadmin.access.rights import Right
from memadmin.access.visibility import visible_containers
from memadmin.erasure import disclosures
from memadmin.erasure.disclosures import BadDisclosure, NoSuchUser
from memadmin.erasure.models import Recipient
from memadmin.pages.container_names import names_told_apart
from memadmin.pages.decorators import may
from memadmin.pages.erasure.recipients import seen_by
from memadmin.pages.htmx import PersonRequest, notice
from memadmin.store.identity import MAX_ID_LENGTH
from memadmin.store.models import Container, Subject

TYPED = {"autocomplete": "off", "spellcheck": "false"}


class DisclosureForm(forms.Form):
    container = forms.ChoiceField(label="Container")
    user_id = forms.CharField(max_length=MAX_ID_LENGTH, strip=False, label="User id", widget=forms.TextInput(attrs=TYPED))
    own_id = forms.CharField(
        max_length=MAX_ID_LENGTH,
        strip=False,
        required=False,
        label="Their own id of the person",
        help_text="By which the recipient knows them. Kept sealed; empty: not known.",
        widget=forms.TextInput(attrs=TYPED),
    )
    given_on = forms.DateField(required=False, label="Given on", help_text="Empty: today.", widget=forms.DateInput(attrs={"type": "date"}))

    def __init__(self, *given: Any, containers: QuerySet[Container], **details: Any) -> None:
        super().__init__(*given, **details)
        self.containers = {str(each.uid): each for each in containers}
        told_apart = names_told_apart(self.containers.values())
        self.fields["container"].choices = [(uid, told_apart[each.pk]) for uid, each in self.containers.items()]  # type: ignore[attr-defined]

    def at(self, *, now: datetime) -> datetime:
        """Return when it was: in the middle of an earlier day, which is all that is known."""
        day: date | None = self.cleaned_data["given_on"]
        return now if day is None or day == now.date() else datetime.combine(day, time(12), tzinfo=UTC)

    def subject(self) -> Subject:
        """Raises NoSuchUser."""
        found = Subject.objects.filter(
            container=self.containers[self.cleaned_data["container"]], user_id=self.cleaned_data["user_id"]
        ).first()
        if found is None:
            raise NoSuchUser
        return found


@require_safe
@may("erasure.view")
def recipient_detail(request: PersonRequest, uid: UUID) -> HttpResponse:
    recipient = get_object_or_404(seen_by(request.user), uid=uid)
    return _shown(request, recipient, DisclosureForm(containers=_containers(request, recipient)))


@require_POST
@may("erasure.intake")
def recipient_disclose(request: PersonRequest, uid: UUID) -> HttpResponse:
    recipient = get_object_or_404(seen_by(request.user), uid=uid)
    form, now = DisclosureForm(request.POST, containers=_containers(request, recipient)), timezone.now()
    if form.is_valid():
        try:
            own_id = form.cleaned_data["own_id"] or None
            disclosures.record(recipient, form.subject(), own_id=own_id, at=form.at(now=now), actor=actor_of(request.user), now=now)
        except NoSuchUser:
            form.add_error("user_id", "Nothing is stored of a user with this id.")
        except BadDisclosure as error:
            form.add_error({"at": "given_on", "own_id": "own_id"}.get(error.field, "container"), str(error))
        else:
            notice(request, "It is noted that they were given data of this person.")
            return redirect("pages:recipient-detail", uid)
    return _shown(request, recipient, form, status=422)


def _shown(request: PersonRequest, recipient: Recipient, form: DisclosureForm, *, status: int = 200) -> HttpResponse:
    containers = _containers(request, recipient)
    counted = disclosures.by_container(recipient, [each.pk for each in containers])
    rows = [(each, counted[each.pk]) for each in containers if each.pk in counted]
    context = {"recipient": recipient, "rows": rows, "form": form, "may_note": bool(containers) and request.user.may(Right.ERASURE_INTAKE)}
    return render(request, "recipients/detail.html", context, status=status)


def _containers(request: PersonRequest, recipient: Recipient) -> QuerySet[Container]:
    """Return those of the recipient's containers that the person sees."""
    seen = visible_containers(request.user).by_name()
    return seen if recipient.all_containers else seen.filter(pk__in=recipient.containers.values("pk"))
