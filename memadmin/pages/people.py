"""People and what they may: for administrators. A new password is shown once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django import forms
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from memadmin.access import people
from memadmin.access.actors import actor_of
from memadmin.access.models import Person
from memadmin.access.roles import Role
from memadmin.access.visibility import visible_containers
from memadmin.pages.confirming import ask, is_sure
from memadmin.pages.container_names import names_told_apart
from memadmin.pages.decorators import may
from memadmin.pages.htmx import PersonRequest, notice, problem, render_page
from memadmin.pages.showing import show_once
from memadmin.store.models import Container

REFUSALS = (people.OwnAccount, people.LastAdministrator)


class PersonForm(forms.Form):
    """Roles and containers. Nobody gives away more containers than they see themselves."""

    name = forms.CharField(required=False, max_length=200, widget=forms.TextInput(attrs={"autocomplete": "off"}))
    roles = forms.MultipleChoiceField(choices=Role.choices, error_messages={"required": "Choose at least one role."})
    all_containers = forms.BooleanField(required=False)
    containers = forms.MultipleChoiceField(required=False)

    def __init__(self, *args: Any, giver: Person, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._giver = giver
        self.offered = list(visible_containers(giver).by_name())
        told_apart = names_told_apart(self.offered)
        self.fields["containers"].choices = [(str(each.uid), told_apart[each.pk]) for each in self.offered]  # type: ignore[attr-defined]

    def clean_all_containers(self) -> bool:
        wanted: bool = self.cleaned_data["all_containers"]
        if wanted and not self._giver.all_containers:
            raise forms.ValidationError("You see some containers only, so you cannot give all of them.")
        return wanted

    def chosen(self, kept: list[Container]) -> list[Container] | None:
        """Return the containers that were ticked, with those of the person that the giver does not see; None for all."""
        if self.cleaned_data["all_containers"]:
            return None
        ticked = set(self.cleaned_data["containers"])
        return [each for each in self.offered if str(each.uid) in ticked] + [each for each in kept if each not in self.offered]


class NewPersonForm(PersonForm):
    login = forms.CharField(max_length=people.LOGIN_LENGTH, widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none"}))


@require_safe
@may("person.manage")
def person_list(request: PersonRequest) -> HttpResponse:
    return _list(request, NewPersonForm(giver=request.user, initial={"all_containers": request.user.all_containers}))


@require_POST
@may("person.manage")
def person_create(request: PersonRequest) -> HttpResponse:
    form = NewPersonForm(request.POST, giver=request.user)
    if not form.is_valid():
        return _list(request, form, status=422)
    password, data = people.new_password(), form.cleaned_data
    try:
        person = people.create_person(
            data["login"],
            roles=[Role(name) for name in data["roles"]],
            name=data["name"],
            containers=form.chosen([]),
            password=password,
            actor=actor_of(request.user),
            now=timezone.now(),
        )
    except (people.BadLogin, people.LoginTaken) as error:
        form.add_error("login", str(error))
        return _list(request, form, status=422)
    return _show_password(request, person, password, heading="The account is made")


@require_safe
@may("person.manage")
def person_detail(request: PersonRequest, uid: UUID) -> HttpResponse:
    return _detail(request, get_object_or_404(Person, uid=uid))


@require_POST
@may("person.manage")
def person_change(request: PersonRequest, uid: UUID) -> HttpResponse:
    person, form = get_object_or_404(Person, uid=uid), PersonForm(request.POST, giver=request.user)
    if not form.is_valid():
        return _detail(request, person, form, status=422)
    data, chosen = form.cleaned_data, form.chosen(list(person.containers.all()))
    roles = [Role(name) for name in data["roles"]]
    try:
        people.change_person(person, name=data["name"], roles=roles, containers=chosen, actor=actor_of(request.user), now=timezone.now())
    except REFUSALS as error:
        form.add_error("roles", str(error))
        return _detail(request, person, form, status=409)
    notice(request, f"{person} is changed. It counts from their next click on.")
    return redirect("pages:person-list")


@require_POST
@may("person.manage")
def person_deactivate(request: PersonRequest, uid: UUID) -> HttpResponse:
    def act(person: Person) -> HttpResponse:
        people.set_active(person, False, actor=actor_of(request.user), now=timezone.now())
        notice(request, f"{person} is signed out everywhere and cannot sign in.", reverse("pages:person-activate", args=[uid]))
        return redirect("pages:person-list")

    return _sure(request, uid, act, verb="Deactivate", says="{} is signed out everywhere and cannot sign in until activated again.")


@require_POST
@may("person.manage")
def person_activate(request: PersonRequest, uid: UUID) -> HttpResponse:
    person = get_object_or_404(Person, uid=uid)
    people.set_active(person, True, actor=actor_of(request.user), now=timezone.now())
    notice(request, f"{person} can sign in again, with the password they had.")
    return redirect("pages:person-list")


@require_POST
@may("person.manage")
def person_reset_password(request: PersonRequest, uid: UUID) -> HttpResponse:
    def act(person: Person) -> HttpResponse:
        password = people.reset_password(person, actor=actor_of(request.user), now=timezone.now())
        return _show_password(request, person, password, heading="The password is reset")

    return _sure(request, uid, act, verb="Reset the password", says="{} gets a new password. The old one ends, and every session with it.")


def _sure(request: PersonRequest, uid: UUID, act: Callable[[Person], HttpResponse], *, verb: str, says: str) -> HttpResponse:
    """Ask first; then act, or say why not."""
    person = get_object_or_404(Person, uid=uid)
    page = reverse("pages:person-detail", args=[uid])
    if not is_sure(request):
        confirm = {"action": request.path, "verb": verb, "consequence": says.format(person), "cancel": page, "hidden": {"sure": "yes"}}
        return ask(request, confirm | {"danger": True}, heading=verb)
    try:
        return act(person)
    except REFUSALS as error:
        problem(request, str(error))
        return redirect(page)


def _show_password(request: PersonRequest, person: Person, password: str, *, heading: str) -> HttpResponse:
    context, back = {"person": person, "password": password}, ("People", reverse("pages:person-list"))
    return show_once(request, "people/_password.html", context, heading=heading, back=back)


def _list(request: PersonRequest, form: NewPersonForm, *, status: int = 200) -> HttpResponse:
    everybody = Person.objects.prefetch_related("containers").order_by("-is_active", "login")
    context = {"people": everybody, "form": form, "roles": Role}
    return render_page(request, "people/list.html", "people/_table.html", context, status=status)


def _detail(request: PersonRequest, person: Person, form: PersonForm | None = None, *, status: int = 200) -> HttpResponse:
    held = {
        "name": person.name,
        "roles": person.roles,
        "all_containers": person.all_containers,
        "containers": [str(uid) for uid in person.containers.values_list("uid", flat=True)],
    }
    shown = form or PersonForm(initial=held, giver=request.user)
    context = {"person": person, "form": shown, "own": person == request.user}
    return render(request, "people/detail.html", context, status=status)
