import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client, override_settings
from django.urls import include, path
from django.views.decorators.http import require_POST

from memadmin.access.rights import Right
from memadmin.access.roles import Role
from memadmin.pages import decorators
from tests.people import make_person, signed_in

pytestmark = pytest.mark.django_db


@decorators.may("memory.pin")
def pin(request: HttpRequest) -> HttpResponse:
    return HttpResponse("pinned")


@decorators.signed_in
def anybody(request: HttpRequest) -> HttpResponse:
    return HttpResponse("hello")


urlpatterns = [path("pin/", pin), path("anybody/", anybody), path("", include("memadmin.urls"))]
HTMX = {"HX-Request": "true", "HX-Current-URL": "http://testserver/help/?x=1"}


@pytest.fixture(autouse=True)
def own_addresses():
    with override_settings(ROOT_URLCONF=__name__):
        yield


def test_a_stranger_is_sent_to_the_login_and_back(client):
    assert client.get("/pin/?page=2").url == "/login/?next=%2Fpin%2F%3Fpage%3D2"


def test_a_stranger_who_posted_comes_back_to_the_page_of_the_form(client):
    assert client.post("/pin/", headers={"Referer": "http://testserver/help/"}).url == "/login/?next=http%3A%2F%2Ftestserver%2Fhelp%2F"
    assert client.post("/pin/", headers={"Referer": "http://evil.example/"}).url == "/login/"


def test_when_the_session_has_ended_htmx_loads_the_login_as_a_page(client):
    answer = client.get("/pin/", headers=HTMX)

    assert answer["HX-Redirect"] == "/login/?next=%2Fhelp%2F%3Fx%3D1"
    assert b"Sign in" not in answer.content


def test_somebody_with_the_right_gets_the_page(client):
    signed_in(client, Role.SUPPORT)

    assert client.get("/pin/").content == b"pinned"


def test_somebody_without_it_reads_what_is_missing_and_who_gives_it(client):
    make_person(Role.ADMINISTRATOR, login="ali")
    signed_in(client, Role.AUDITOR, login="ada")

    answer = client.get("/pin/")

    text = answer.content.decode()
    assert answer.status_code == 403
    assert "pin and unpin memories and sessions" in text
    assert "Support" in text
    assert "Policy editor" in text
    assert "ali" in text


def test_htmx_is_told_in_a_header_what_is_missing(client):
    signed_in(client, Role.AUDITOR)

    assert client.get("/pin/", headers=HTMX)["X-Problem"] == "Not allowed: you need the right to pin and unpin memories and sessions."


def test_deactivating_somebody_ends_their_session(client):
    person = signed_in(client, Role.SUPPORT)
    person.is_active = False
    person.save()

    assert client.get("/anybody/").status_code == 302


def test_pages_about_people_stay_out_of_every_cache(client):
    signed_in(client, Role.SUPPORT)

    assert client.get("/pin/")["Cache-Control"] == "private, no-store"
    assert client.get("/anybody/")["Cache-Control"] == "private, no-store"


def test_the_right_can_be_read_from_the_view():
    assert pin.required_right == Right.MEMORY_PIN
    assert require_POST(pin).required_right == Right.MEMORY_PIN
    assert anybody.required_right == decorators.SIGNED_IN


def test_a_right_that_does_not_exist_stops_the_import():
    with pytest.raises(ValueError, match=r"memory\.pinn"):
        decorators.may("memory.pinn")


def test_without_administrators_the_page_still_explains(client: Client):
    signed_in(client)

    assert b"An administrator can give it to you." in client.get("/pin/").content
