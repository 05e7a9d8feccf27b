import pytest
from django.test import Client

from memadmin.access.roles import Role
from tests.people import PASSWORD, make_person, signed_in

pytestmark = pytest.mark.django_db


def sign_in(client: Client, login: str = "sam", password: str = PASSWORD, **more: str):
    return client.post("/login/", {"login": login, "password": password, **more})


def test_signing_in_leads_to_the_first_page_that_the_person_may_open(client):
    make_person(Role.SUPPORT)

    answer = sign_in(client, "Sam")

    assert answer.status_code == 302
    assert client.get(answer.url).status_code == 200
    assert "_auth_user_id" in client.session


def test_the_refusal_does_not_tell_which_of_the_two_was_wrong(client):
    make_person(login="sam")
    gone = make_person(login="gone")
    gone.is_active = False
    gone.save()

    answers = [sign_in(client, login, password) for login, password in [("sam", "x"), ("nobody", "x"), ("gone", PASSWORD), ("gone", "x")]]

    assert {answer.status_code for answer in answers} == {422}
    assert len({str(answer.context["form"].non_field_errors()) for answer in answers}) == 1


@pytest.mark.parametrize("login", ["a\x00b", "x" * 200, "' OR 1=1 --", "", "\ud83d\ude00"])
def test_strange_logins_are_refused_like_any_other(client, login):
    answer = client.post("/login/", {"login": login.encode("utf8", "replace").decode(), "password": "x"})

    assert answer.status_code == 422


def test_the_page_asked_for_comes_after_signing_in(client):
    make_person(Role.SUPPORT)

    assert sign_in(client, next="/help/?x=1#pin").url == "/help/?x=1#pin"


@pytest.mark.parametrize(
    "elsewhere", ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)", "///evil", "\thttp://evil"]
)
def test_nobody_is_sent_to_another_site(client, elsewhere):
    make_person(Role.SUPPORT)

    assert "evil" not in sign_in(client, next=elsewhere).url
    assert "evil" not in client.get("/login/", {"next": elsewhere}).url


def test_a_signed_in_person_is_not_asked_again(client):
    signed_in(client, Role.SUPPORT)

    assert client.get("/login/", {"next": "/help/"}).url == "/help/"


def test_signing_out_ends_the_session_and_says_so(client):
    signed_in(client, Role.SUPPORT)

    answer = client.post("/logout/", follow=True)

    assert "_auth_user_id" not in client.session
    assert b"You are signed out" in answer.content


def test_a_link_cannot_sign_anybody_out(client):
    signed_in(client, Role.SUPPORT)

    assert client.get("/logout/").status_code == 405
    assert "_auth_user_id" in client.session


def test_a_form_without_its_token_changes_nothing_and_says_why():
    strict = Client(enforce_csrf_checks=True)
    make_person(Role.SUPPORT)

    answer = sign_in(strict)

    assert answer.status_code == 403
    assert b"open for too long" in answer.content


def test_the_theme_is_kept_in_a_cookie_and_rendered_by_the_server(client):
    answer = client.post("/theme/", {"theme": "dark", "next": "/login/?next=/help/"})

    assert answer.url == "/login/?next=/help/"
    assert b'data-bs-theme="dark"' in client.get("/login/").content


def test_the_system_decides_the_theme_again(client):
    client.post("/theme/", {"theme": "dark"})
    client.post("/theme/", {"theme": "system"})

    assert b"data-bs-theme" not in client.get("/login/").content


def test_a_theme_nobody_offers_is_not_rendered(client):
    client.cookies["theme"] = '"><script>'

    assert b"<script>" not in client.get("/login/").content


def test_the_theme_form_leads_to_no_other_site(client):
    assert client.post("/theme/", {"theme": "dark", "next": "//evil.example"}).url == "/login/"
