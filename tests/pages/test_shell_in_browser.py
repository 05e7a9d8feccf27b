"""What only a browser can tell: nothing inline is refused, failures are seen, the keyboard suffices, the contrast is enough."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template import engines
from django.test import override_settings
from django.urls import include, path
from playwright.sync_api import Page, expect

from memadmin.access.roles import Role
from memadmin.pages.decorators import signed_in as needs_login
from memadmin.pages.htmx import toast
from tests.people import PASSWORD, make_person

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.browser]

GALLERY = """
{% extends "base.html" %}{% block title %}Parts{% endblock %}{% block heading %}Parts{% endblock %}
{% block content %}
  <label>Search <input type="search" class="form-control"></label>
  <button class="btn" hx-get="/pinned/" hx-target="#row">Pin</button>
  <button class="btn btn-primary" hx-get="/failing/" hx-target="#row">Fail</button>
  <button class="btn btn-danger">Evict</button> <button class="btn btn-outline-danger">Cancel run</button>
  <p id="row">row</p>
  <button class="btn" hx-get="/pinned/" hx-target="#other">Other</button><p id="other">other</p>
  <button class="btn" hx-get="/follows/?step=0" hx-target="#other" hx-swap="outerHTML">Follow</button>
  <div class="card"><div class="card-header"><h2 class="card-title">Memories</h2></div>
    <table class="table table-cards card-table"><thead><tr><th>Memory</th><th>Score</th><th>State</th><th>Id</th></tr></thead>
    <tbody><tr><td class="wide"><a href="/help/" class="excerpt" dir="auto">{{ "likes tea"|excerpt }}</a></td>
      <td data-label="Score">{% score 0.1 %}</td><td data-label="State">{% for tone in tones %}{% badge tone tone "pin" %} {% endfor %}</td>
      <td data-label="Id">{% uid "6f1c2d3e-0000" "memory id" %}</td></tr></tbody></table>
    {% include "components/_paging.html" %}
  </div>
  <p class="text-secondary">Quiet, {% word "half-life" %}, {% ago None %}, <a href="/help/">a link</a>, {{ "ann"|isolate }}</p>
  <div class="alert alert-warn">{% icon "info" "alert-icon" %}<div>Retention is off.</div></div>
  {% empty "nomatch" "Nothing matches" "No memory has these filters." "/parts/" "Reset filters" %}
{% endblock %}
"""


@needs_login
def parts(request: HttpRequest) -> HttpResponse:
    tones = ["secondary", "blue", "green", "yellow", "orange", "red", "purple"]
    paging = {"first": 1, "last": 50, "total": 1312, "noun": "memories", "next": "?after=1", "previous": ""}
    return HttpResponse(engines["django"].from_string(GALLERY).render({"tones": tones, "paging": paging}, request))


@needs_login
def pinned(request: HttpRequest) -> HttpResponse:
    return toast(HttpResponse("pinned"), "Pinned “чай”.", "/undone/", undo_target="#row")


@needs_login
def undone(request: HttpRequest) -> HttpResponse:
    return HttpResponse('<p id="row" data-announce="Unpinned">unpinned</p>' if request.method == "POST" else "")


@needs_login
def follows(request: HttpRequest) -> HttpResponse:
    """Say every third time something else, nine times."""
    step = int(request.GET["step"])
    again = f'hx-get="/follows/?step={step + 1}" hx-trigger="every 100ms" hx-swap="outerHTML"' if step < 8 else ""
    return HttpResponse(f'<p data-announce="Step {1 + step // 3}." {again}>{step}</p>')


@needs_login
def failing(request: HttpRequest) -> HttpResponse:
    raise RuntimeError


@needs_login
def forbidden(request: HttpRequest) -> HttpResponse:
    return render(request, "errors/403.html", {}, status=403)


urlpatterns = [
    path("parts/", parts),
    path("pinned/", pinned),
    path("undone/", undone),
    path("failing/", failing),
    path("follows/", follows),
    path("forbidden/", forbidden),
    path("", include("memadmin.urls")),
]
handler404, handler500 = "memadmin.pages.errors.not_found", "memadmin.pages.errors.broken"


@pytest.fixture(autouse=True)
def own_addresses():
    with override_settings(ROOT_URLCONF=__name__):
        yield


def sign_in(page: Page, address: str = "/parts/", *roles: Role) -> None:
    make_person(*(roles or (Role.SUPPORT,)))
    page.goto(f"/login/?next={address}")
    page.get_by_label("Login").fill("sam")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"**{address}")


def violations(page: Page) -> list[str]:
    found = Axe().run(page).response["violations"]
    return [f"{rule['id']}: {node['html'][:120]}" for rule in found for node in rule["nodes"]]


@pytest.mark.parametrize(("scheme", "width"), [("light", 1360), ("dark", 390)])
def test_pages_have_no_accessibility_violation(page, scheme, width):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 800})
    page.goto("/login/")
    found = {"login": violations(page)}
    page.get_by_role("button", name="Sign in").evaluate("button => button.form.noValidate = true")
    page.get_by_role("button", name="Sign in").click()
    found["login refused"] = violations(page)
    sign_in(page)
    for address in ("/parts/", "/help/", "/forbidden/", "/nothing/"):
        page.goto(address)
        found[address] = violations(page)
    page.goto("/parts/")
    page.get_by_role("button", name="Pin").click()
    page.get_by_role("button", name="Fail").click()
    expect(page.locator(".toast-problem")).to_be_visible()
    page.locator("summary", has=page.locator("use[href$='#user']")).click()
    found["open menu and toasts"] = violations(page)

    assert {name: faults for name, faults in found.items() if faults} == {}


def test_a_toast_offers_an_undo_that_replaces_the_row(page):
    sign_in(page)
    page.get_by_role("button", name="Pin").click()
    expect(page.locator("#toasts")).to_contain_text("Pinned “чай”.")

    page.get_by_role("button", name="Undo").click()

    expect(page.locator("#row")).to_have_text("unpinned")
    expect(page.locator("#live")).to_have_text("Unpinned")
    expect(page.locator("[data-toast]")).to_have_count(0)


def test_a_failed_request_is_seen_and_can_be_tried_again(page):
    sign_in(page)
    page.get_by_role("button", name="Fail").click()
    problem = page.locator(".toast-problem")
    expect(problem).to_contain_text("something broke on our side (error id")
    expect(page.locator("#row")).to_have_attribute("data-failed", "")

    with page.expect_response("**/failing/"):
        problem.get_by_role("button", name="Try again").click()


def test_a_server_that_does_not_answer_is_seen(page):
    sign_in(page)
    page.route("**/pinned/", lambda route: route.abort())

    page.get_by_role("button", name="Pin").click()

    expect(page.locator(".toast-problem")).to_contain_text("no answer from the server")


def test_what_could_not_be_loaded_is_said_until_just_that_has_been_loaded(page):
    sign_in(page)
    problem = page.locator(".toast-problem")
    page.route("**/pinned/", lambda route: route.abort())
    for _ in range(2):
        page.get_by_role("button", name="Pin").click()
        expect(problem).to_have_count(1)
    page.unroute("**/pinned/")

    page.get_by_role("button", name="Other").click()
    expect(page.locator("#other")).to_have_text("pinned")
    expect(problem).to_have_count(1)
    page.get_by_role("button", name="Pin").click()

    expect(page.locator("#row")).to_have_text("pinned")
    expect(problem).to_have_count(0)


def test_a_part_that_comes_again_and_again_is_read_out_when_it_says_something_new(page):
    sign_in(page)
    said = page.locator("#live")
    said.evaluate(
        "live => { window.heard = []; new MutationObserver(() => heard.push(live.textContent)).observe(live, {childList: true}); }"
    )

    page.get_by_role("button", name="Follow").click()
    expect(page.locator("p", has_text=re.compile("^8$"))).to_be_visible()

    assert page.evaluate("heard") == ["Step 1.", "Step 2.", "Step 3.", "Step 3."]  # the last one follows nothing: it is the end


def test_when_the_session_has_ended_the_login_page_comes_and_leads_back(page):
    sign_in(page)
    page.context.clear_cookies()

    page.get_by_role("button", name="Pin").click()

    page.wait_for_url("**/login/?next=%2Fparts%2F")


def test_the_system_decides_between_light_and_dark_until_somebody_chooses(page):
    page.emulate_media(color_scheme="dark")
    page.goto("/login/")
    dark = page.locator("body").evaluate("body => getComputedStyle(body).backgroundColor")

    page.locator("summary[aria-label=Colours]").click()
    page.get_by_role("button", name="Light").click()

    expect(page.locator("html")).to_have_attribute("data-bs-theme", "light")
    assert page.locator("body").evaluate("body => getComputedStyle(body).backgroundColor") != dark


def test_the_keyboard_reaches_content_search_and_menus(page):
    sign_in(page)
    page.keyboard.press("Tab")
    expect(page.get_by_text("Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#content")).to_be_focused()

    page.keyboard.press("/")
    expect(page.locator("input[type=search]")).to_be_focused()

    menu = page.locator("summary[aria-label=Colours]")
    menu.press("Enter")
    expect(page.get_by_role("button", name="Dark")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Dark")).to_be_hidden()
    expect(menu).to_be_focused()


def test_an_id_is_copied_whole(page):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    sign_in(page)

    page.get_by_role("button", name="Copy memory id 6f1c2d3e-0000").click()

    expect(page.locator("#live")).to_have_text("Copied")
    assert page.evaluate("() => navigator.clipboard.readText()") == "6f1c2d3e-0000"


def test_nothing_scrolls_sideways_on_a_phone(page):
    page.set_viewport_size({"width": 390, "height": 800})
    sign_in(page)

    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390


def test_the_phone_has_the_same_navigation_behind_one_button(page):
    page.set_viewport_size({"width": 390, "height": 800})
    sign_in(page)
    expect(page.get_by_role("link", name="Help")).to_be_hidden()

    page.locator("summary[aria-label=Menu]").click()
    page.get_by_role("link", name="Help").click()

    page.wait_for_url("**/help/")


def test_signing_in_reading_and_signing_out_work_without_javascript(browser, live_server):
    make_person(Role.SUPPORT)
    with browser.new_context(base_url=live_server.url, java_script_enabled=False) as context:
        page = context.new_page()
        page.goto("/help/")
        page.get_by_label("Login").fill("sam")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("heading", name="What the words mean")).to_be_visible()
        page.locator("summary.person").click()
        page.get_by_role("button", name="Sign out").click()

        expect(page.get_by_text("You are signed out.")).to_be_visible()


def test_the_vendored_files_say_where_they_come_from():
    vendor = settings.BASE_DIR / "static" / "vendor"

    assert {file.name for file in vendor.iterdir()} >= {"README.md", "htmx-LICENSE.txt", "tabler-LICENSE.txt", "lucide-LICENSE.txt"}
