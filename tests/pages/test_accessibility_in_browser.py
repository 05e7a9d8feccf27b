"""Every page of every role, by axe: in light and dark, on a desk and on a phone."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.db import connection
from django.test import Client
from django.utils import timezone
from playwright.sync_api import Page
from pytest_django.live_server_helper import LiveServer

from memadmin.access.models import Person
from memadmin.access.roles import Role
from memadmin.demo.loading import load
from memadmin.demo.recipe import MAIN, Recipe
from memadmin.lifecycle.models import Run
from memadmin.store.models import Container, Feedback, LongTermMemory, Session, Subject
from tests.people import make_person

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.browser]

SHARES = 4
DESK, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
# All rules once on a desk and once on a phone; colours and sizes, which are all that then can differ, in the two other looks.
LOOKS = (
    ("light", DESK, {}),
    ("dark", DESK, {"runOnly": ["color-contrast"]}),
    ("dark", PHONE, {}),
    ("light", PHONE, {"runOnly": ["color-contrast"]}),
)
# What a page is built of: two roles who get the same need not both be looked at.
ELEMENTS = """() => [...new Set([...document.querySelectorAll("main *")].map(
    (each) => [each.parentElement, each].map((node) => node.tagName + "." + node.getAttribute("class")).join(">")))].sort().join()"""


def addresses() -> list[str]:
    container = Container.objects.get(name=MAIN)
    subject = Subject.objects.of_container(container).attributed().order_by("-archived", "-long_term").first()
    memory = LongTermMemory.objects.filter(subject=subject).first()
    session = Session.objects.filter(subject=subject).first()
    person = Person.objects.order_by("pk").first()
    run, preview = Run.objects.filter(container=container).order_by("number")
    user, policy = f"/users/{subject.uid}/", f"/containers/{container.uid}/policy/"
    pages = ["/", "/containers/", "/runs/", "/audit/", "/settings/", "/help/", "/nothing/", "/import/", "/people/"]
    pages += ["/backups/", "/recipients/", "/erasure/stores/"]
    pages += [f"/people/{person.uid}/", f"/containers/{container.uid}/users/", f"/containers/{container.uid}/export/"]
    pages += [user, f"{user}sessions/", f"{user}history/", f"{user}archive/", f"/memories/{memory.uid}/", f"/sessions/{session.uid}/"]
    pages += [
        f"{user}feedback/",
        f"/feedback/{Feedback.objects.latest('id').uid}/",
        f"/memories/{memory.uid}/forecast/",
        "/overview/forgetting/",
    ]
    pages += [f"/containers/{container.uid}/figures/", *(f"{policy}what-if/{part}/" for part in ("later/30", "scores", "caps", "users"))]
    pages += [policy, f"{policy}versions/", f"{policy}versions/1/", f"{policy}?base=1&max_records=x&use_relevance=on"]
    return [*pages, f"/runs/{run.number}/", f"/runs/{preview.number}/", f"/runs/{preview.number}/spared/"]


def findings(page: Page, *, part: str, further: str = "") -> list[str]:
    """Return the faults inside a part of the page, after the first look in a `further` one if given, and whether it scrolls sideways."""
    page.evaluate(Axe().axe_script)
    found = []
    for number, (scheme, size, options) in enumerate(LOOKS):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size(size)
        look = f"{scheme} {size['width']}"
        within = further if number and further else part
        rules = page.evaluate("([part, options]) => axe.run(part, options)", [within, {"resultTypes": ["violations"], **options}])[
            "violations"
        ]
        found += [f"{look} {rule['id']}: {node['html'][:120]}" for rule in rules for node in rule["nodes"]]
        if page.evaluate("() => document.documentElement.scrollWidth > innerWidth"):
            found.append(f"{look}: scrolls sideways")
    return found


def become(page: Page, live_server: LiveServer, role: Role) -> None:
    client = Client()
    client.force_login(make_person(role, login=role.value))
    page.context.clear_cookies()
    page.context.add_cookies([{"name": "sessionid", "value": client.cookies["sessionid"].value, "url": live_server.url}])


def open_everything(page: Page) -> None:
    """Open what lies behind a click: the panel of a memory, explanations, menus."""
    link = page.locator(".memory-link").first
    if link.count() and page.locator("#panel.side-panel").count():
        link.click()
        page.locator("#memory-panel").wait_for()
    page.evaluate("() => document.querySelectorAll('main details:not(.pin-box)').forEach((box) => { box.open = true; })")


@pytest.mark.parametrize("share", range(SHARES))  # so that processes that test side by side share the walk
@pytest.mark.skipif(connection.vendor != "sqlite", reason="what a page looks like does not depend on the database: walked on SQLite")
def test_no_page_of_any_role_has_a_fault_in_any_look(page, live_server, share):
    page.emulate_media(reduced_motion="reduce")  # a colour that is still on its way to another is no finding
    load(Recipe(8, 80, 1, timezone.now()), now=timezone.now())
    faults: dict[str, list[str]] = {}
    seen = set()
    for role in Role:
        become(page, live_server, role)
        for number, address in enumerate(addresses()[share::SHARES]):
            page.emulate_media(color_scheme="light")
            page.set_viewport_size(DESK)
            page.goto(address)
            open_everything(page)
            look = address, page.evaluate(ELEMENTS)
            part = "main" if number else "html"  # what stands around the page is the same on all of a role
            if look not in seen and (found := findings(page, part=part)):
                faults[f"{role} {address}"] = found
            seen.add(look)

    assert not faults, "\n".join(f"{page}: {fault}" for page, found in faults.items() for fault in found)
    assert len(seen) > 40 / SHARES


@pytest.mark.parametrize(("theme", "system"), [("dark", "light"), ("light", "dark")])
def test_a_theme_that_somebody_chose_is_as_easy_to_read(page, live_server, theme, system):
    become(page, live_server, Role.SUPPORT)
    page.context.add_cookies([{"name": "theme", "value": theme, "url": live_server.url}])
    page.emulate_media(color_scheme=system)
    for address in ("/", "/help/"):
        page.goto(address)
        page.locator("summary.person").click()
        page.evaluate(Axe().axe_script)

        assert page.evaluate("() => axe.run({ runOnly: ['color-contrast'] })")["violations"] == []
