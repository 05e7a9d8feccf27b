"""The frame of every page, and what is shown when a page cannot be."""

import re

import pytest
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.test import override_settings
from django.urls import include, path

from memadmin.access.roles import Role
from memadmin.pages import context, words
from memadmin.pages.decorators import signed_in as needs_login
from memadmin.pages.htmx import notice, problem
from memadmin.pages.templatetags.memadmin import icon
from tests.people import make_person, signed_in

pytestmark = pytest.mark.django_db
TEMPLATES = settings.BASE_DIR / "templates"


@needs_login
def failing(request: HttpRequest) -> HttpResponse:
    raise RuntimeError("the text of a memory")


@needs_login
def saying(request: HttpRequest) -> HttpResponse:
    notice(request, "Pinned <b>tea</b>.", undo_url="/undo/")
    problem(request, "One was not pinned.")
    return HttpResponse()


urlpatterns = [path("failing/", failing), path("saying/", saying), path("", include("memadmin.urls"))]
handler404, handler500 = "memadmin.pages.errors.not_found", "memadmin.pages.errors.broken"
own_addresses = override_settings(ROOT_URLCONF=__name__)


def entries(*roles: Role, here: str = "") -> list[str]:
    person = make_person(*roles)
    return [entry["label"] for entry in context.navigation(person, here)]


def test_the_navigation_offers_what_the_person_may_open_and_what_exists(monkeypatch):
    monkeypatch.setattr(context, "reverse", lambda name: f"/{name}/")

    assert entries(Role.SUPPORT) == ["Overview", "Containers", "Runs", "Pins", "Help"]


def test_an_auditor_finds_the_audit_log(monkeypatch):
    monkeypatch.setattr(context, "reverse", lambda name: f"/{name}/")

    assert "Audit" in entries(Role.AUDITOR)


@pytest.mark.parametrize(
    ("page", "label"),
    [
        ("overview", "Overview"),
        ("memory-pin", "Containers"),
        ("run-detail", "Runs"),
        ("pin-review", "Pins"),
        ("default-policy", "Containers"),
        ("certificate-detail", "Erasure"),
        ("audit-list", "Audit"),
        ("help", "Help"),
    ],
)
def test_the_entry_of_the_page_one_is_on_is_marked(page, label, monkeypatch):
    monkeypatch.setattr(context, "reverse", lambda name: f"/{name}/")
    person = make_person(*Role)

    assert [entry["label"] for entry in context.navigation(person, page) if entry["current"]] == [label]


def test_a_page_shows_who_is_signed_in_with_which_roles(client):
    signed_in(client, Role.SUPPORT, Role.AUDITOR, login="sam<b>")

    text = client.get("/help/").content.decode()

    assert "sam&lt;b&gt;" in text
    assert "Support" in text
    assert "Auditor" in text


def test_a_page_costs_one_query_for_the_session_and_one_for_the_person(client, django_assert_num_queries):
    signed_in(client, Role.SUPPORT, containers=[])

    with django_assert_num_queries(2):
        client.get("/help/")


def test_every_word_is_explained_once_and_can_be_linked_to(client):
    signed_in(client)
    text = client.get("/help/").content.decode()
    anchors = [word.anchor for group in words.WORDS.values() for word in group]

    assert len(set(anchors)) == len(anchors)
    assert [anchor for anchor in anchors if f'id="{anchor}"' not in text] == []


def test_every_icon_that_a_template_names_is_in_the_sprite():
    sprite = (settings.BASE_DIR / "static" / "icons.svg").read_text()
    named = {name for page in TEMPLATES.rglob("*.html") for name in re.findall(r'{% icon "([\w-]+)"', page.read_text())}
    named |= {entry.icon for entry in context.NAVIGATION}

    assert [name for name in named if f'<symbol id="{name}"' not in sprite] == []
    assert 'aria-hidden="true"' in icon("pin")


def test_no_template_marks_text_safe_or_turns_escaping_off():
    loose = [page.name for page in TEMPLATES.rglob("*.html") if re.search(r"\|\s*safe\b|autoescape off", page.read_text())]

    assert loose == []


def test_nothing_is_loaded_from_elsewhere(client):
    text = client.get("/login/").content.decode()
    policy = client.get("/login/")["Content-Security-Policy"]

    assert re.findall(r'(?:src|href|action)="(?:https?:)?//', text) == []
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy


def test_htmx_keeps_no_page_in_the_browser_and_runs_no_code_from_attributes(client):
    text = client.get("/login/").content.decode()

    assert '"historyCacheSize": 0' in text
    assert '"allowEval": false' in text
    assert '"includeIndicatorStyles": false' in text


def test_a_missing_page_says_so_inside_the_shell(client):
    signed_in(client, Role.SUPPORT)
    answer = client.get("/nothing/here/")

    assert answer.status_code == 404
    assert b"Sign out" in answer.content
    assert answer["X-Problem"].startswith("Not found")


def test_a_request_for_a_foreign_host_is_refused_with_a_reason(client):
    answer = client.get("/login/", headers={"Host": "evil.example"})

    assert answer.status_code == 400
    assert b"ALLOWED_HOSTS" in answer.content


@own_addresses
def test_a_broken_page_gives_an_error_id_that_stands_in_the_log_and_no_text(client, caplog):
    client.raise_request_exception = False
    signed_in(client)

    answer = client.get("/failing/")

    error_id = re.search(rb"<code>(\w{8})</code>", answer.content)[1].decode()
    assert answer.status_code == 500
    assert error_id in answer["X-Problem"]
    assert any(error_id in record.getMessage() for record in caplog.records)
    assert b"the text of a memory" not in answer.content


@own_addresses
def test_notices_are_shown_on_the_next_page_with_their_undo(client):
    signed_in(client)
    client.get("/saying/")

    text = client.get("/help/").content.decode()

    assert "Pinned &lt;b&gt;tea&lt;/b&gt;." in text
    assert '<form method="post" action="/undo/">' in text
    assert "toast-problem" in text
    assert "Pinned" not in client.get("/help/").content.decode()


@own_addresses
def test_notices_are_not_kept_in_a_cookie(client):
    signed_in(client)
    client.get("/saying/")

    assert "messages" not in client.cookies
