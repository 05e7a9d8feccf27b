import html
import re

import pytest
from django.contrib.auth import authenticate
from django.test import Client
from django.urls import reverse

from memadmin.access.models import Person
from memadmin.access.roles import Role
from memadmin.audit.models import AuditEntry
from tests.factories import make_container
from tests.people import PASSWORD, a_browser_of, editor, make_person

pytestmark = pytest.mark.django_db
SURE = {"sure": "yes"}


def url(view, *args):
    return reverse(f"pages:{view}", args=args)


def text_of(response):
    return html.unescape(response.content.decode())


def administrator(**details):
    return a_browser_of(Role.ADMINISTRATOR, login="ali", **details)


def password_on(page):
    return re.search(r"<code>([a-z0-9-]{19})</code>", page)[1]


def test_an_account_is_made_with_roles_and_containers_and_its_password_is_shown_once():
    container, client = make_container("shop"), administrator()

    page = text_of(
        client.post(
            url("person-create"),
            {"login": "Ann", "name": "Ann B.", "roles": ["support", "auditor"], "containers": [container.uid]},
            follow=True,
        )
    )

    person = authenticate(login="ann", password=password_on(page))
    assert person.role_names == ["Support", "Auditor"]
    assert (person.all_containers, list(person.containers.all())) == (False, [container])
    assert password_on(page) not in text_of(client.get(url("person-list")))
    assert "Ann B." in text_of(client.get(url("person-list")))


@pytest.mark.parametrize(
    ("change", "said"),
    [({"login": "ali"}, "already an account"), ({"login": "\t"}, "required"), ({"roles": []}, "Choose at least one role.")],
)
def test_an_account_that_cannot_be_made_says_why_and_keeps_what_was_typed(change, said):
    response = administrator().post(url("person-create"), {"login": "ann", "name": "Ann B.", "roles": ["support"], **change})

    page = text_of(response)
    assert response.status_code == 422
    assert said in page
    assert 'value="Ann B."' in page
    assert Person.objects.count() == 1


def test_roles_and_containers_are_changed_and_count_at_once():
    container, person = make_container("shop"), make_person(Role.SUPPORT)
    theirs = Client()
    theirs.force_login(person)
    client = administrator()

    client.post(url("person-change", person.uid), {"name": "Sam", "roles": ["auditor"], "containers": [container.uid]})

    assert theirs.get(url("audit-list")).status_code == 200
    assert "shop" in text_of(theirs.get(url("container-list")))
    page = text_of(client.get(url("person-detail", person.uid)))
    assert re.search(r'value="auditor" checked', page)
    assert not re.search(r'name="all_containers" checked', page)
    assert AuditEntry.objects.filter(action="person.changed", target=f"person/{person.uid}").count() == 1


def test_nobody_takes_their_own_administration_away():
    client = administrator()
    own = Person.objects.get(login="ali")

    response = client.post(url("person-change", own.uid), {"roles": ["support"], "all_containers": "on"})
    client.post(url("person-deactivate", own.uid), SURE)

    assert response.status_code == 409
    assert "You cannot take the role of administrator from yourself" in text_of(response)
    own.refresh_from_db()
    assert own.is_active
    assert own.roles == ["administrator"]


def test_deactivating_asks_ends_the_session_and_can_be_undone():
    person, client, theirs = make_person(Role.SUPPORT), administrator(), Client()
    theirs.force_login(person)

    asked = text_of(client.post(url("person-deactivate", person.uid), follow=True))
    assert theirs.get(url("overview")).status_code == 200
    done = text_of(client.post(url("person-deactivate", person.uid), SURE, follow=True))

    assert "sam is signed out everywhere and cannot sign in until activated again." in asked
    assert theirs.get(url("overview")).status_code == 302
    assert f'action="{url("person-activate", person.uid)}"' in done
    client.post(url("person-activate", person.uid))
    assert authenticate(login="sam", password=PASSWORD) == person


def test_a_reset_password_is_shown_once_and_ends_the_sessions():
    person, client, theirs = make_person(Role.SUPPORT), administrator(), Client()
    theirs.force_login(person)

    asked = text_of(client.post(url("person-reset-password", person.uid), follow=True))
    page = text_of(client.post(url("person-reset-password", person.uid), SURE, follow=True))

    assert "The old one ends" in asked
    assert authenticate(login="sam", password=password_on(page)) == person
    assert theirs.get(url("overview")).status_code == 302


def test_who_sees_some_containers_gives_no_others_and_takes_none_away():
    seen, unseen = make_container("seen"), make_container("unseen")
    person = make_person(Role.SUPPORT, containers=[unseen])
    client = administrator(containers=[seen])

    refused = client.post(url("person-change", person.uid), {"roles": ["support"], "all_containers": "on"})
    stolen = client.post(url("person-change", person.uid), {"roles": ["support"], "containers": [unseen.uid]})
    client.post(url("person-change", person.uid), {"roles": ["support"], "containers": [seen.uid]})

    assert "you cannot give all of them" in text_of(refused)
    assert stolen.status_code == 422
    assert set(person.containers.all()) == {seen, unseen}
    assert "unseen" not in text_of(client.get(url("person-detail", person.uid)))


@pytest.mark.parametrize("view", ["person-list", "person-create"])
def test_people_are_for_administrators(view):
    answer = editor().get(url(view)) if view == "person-list" else editor().post(url(view), {"login": "x", "roles": ["administrator"]})

    assert answer.status_code == 403
    assert Person.objects.count() == 1


@pytest.mark.parametrize("view", ["person-change", "person-deactivate", "person-activate", "person-reset-password"])
def test_accounts_are_changed_by_post_alone_and_only_with_the_right(view):
    person = make_person(Role.SUPPORT)

    assert administrator().get(url(view, person.uid)).status_code == 405
    assert editor().post(url(view, person.uid), {**SURE, "roles": ["administrator"]}).status_code == 403
    person.refresh_from_db()
    assert (person.roles, person.is_active) == (["support"], True)


def test_containers_whose_names_look_alike_are_told_apart_where_somebody_is_made_or_listed():
    here, client = make_container("shop"), administrator()
    make_container("ＳＨＯＰ")
    make_person(Role.SUPPORT, login="sam", containers=[here])

    listed, form = text_of(client.get(url("person-list"))), text_of(client.get(url("person-detail", Person.objects.get(login="sam").uid)))

    assert f"<bdi>shop ({str(here.uid)[:8]}…)</bdi>" in listed
    assert f"<bdi>shop ({str(here.uid)[:8]}…)</bdi>" in form
