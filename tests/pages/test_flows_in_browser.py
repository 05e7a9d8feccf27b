"""The main flows as people do them: in a real browser, from signing in to the last click."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from memadmin.access.roles import Role
from memadmin.audit.actions import Action
from memadmin.audit.models import AuditEntry
from memadmin.erasure import discovery
from memadmin.jobs.models import Job
from memadmin.jobs.runner import run_inline
from memadmin.lifecycle.models import Run
from memadmin.store.models import Container, LongTermMemory, Pin, Session
from tests.factories import a_memory, a_session, make_container, store
from tests.people import PASSWORD, make_person
from tests.runs import a_policy, publish, switch_on

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.browser]

LONG = " ".join(f"word{number:04}" for number in range(555))  # 5,000 characters


@pytest.fixture
def container(db) -> Container:
    now = timezone.now()
    switch_on(now)
    container = make_container()
    facts = [a_memory(f"fact {n}", created_at=now - timedelta(days=n + 1), importance=n / 10) for n in range(6)]
    sessions = [a_session("s-old", created_at=now - timedelta(days=100), last_updated_at=now - timedelta(days=100))]
    others = [a_memory("of somebody else", user_id=f"ben{n}", created_at=now) for n in range(3)]
    store(container, *facts, a_memory(LONG, created_at=now, importance=0.9), *sessions, *others, now=now)
    return container


def sign_in(page: Page, *roles: Role, address: str = "/containers/") -> None:
    make_person(*roles)
    page.goto(f"/login/?next={address}")
    page.get_by_label("Login").fill("sam")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"**{address}")


def open_user(page: Page, user_id: str = "ann") -> None:
    page.get_by_role("link", name="pharmacy", exact=True).click()
    page.get_by_role("link", name=user_id, exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(user_id)


def work_off(kind: str) -> None:
    run_inline(Job.objects.filter(kind=kind).latest("id"), now=timezone.now())


def press_until_focused(page: Page, locator, key: str = "Tab", *, most: int = 80) -> None:
    for _ in range(most):
        if locator.evaluate("element => element === document.activeElement"):
            return
        page.keyboard.press(key)
    raise AssertionError("the keyboard does not get there")


def test_support_finds_a_user_filters_pins_with_a_reason_and_undoes_it(page, container):
    sign_in(page, Role.SUPPORT)
    page.get_by_role("link", name="pharmacy", exact=True).click()
    page.get_by_label("Find a user by id").fill("ANN")
    expect(page.locator("#table tbody tr")).to_have_count(1)
    page.get_by_role("link", name="ann", exact=True).click()
    page.get_by_label("Text").fill("fact 3")
    expect(page.locator("#table tbody tr")).to_have_count(1)
    page.get_by_role("link", name="fact 3").click()
    panel = page.locator("#memory-panel")
    expect(panel).to_contain_text("Does it stay?")

    panel.locator("summary", has_text="Pin").click()
    panel.get_by_label("Why is this to be kept?").fill("she is allergic")
    panel.get_by_role("button", name="Pin", exact=True).click()

    expect(panel).to_contain_text("she is allergic")
    expect(page.locator("#table tbody tr")).to_contain_text("pinned")
    assert Pin.objects.get().reason == "she is allergic"

    page.locator("#toasts").get_by_role("button", name="Undo").click()

    expect(panel).not_to_contain_text("she is allergic")
    expect(page.locator("#table tbody tr")).not_to_contain_text("pinned")
    assert not Pin.objects.exists()


def test_an_editor_edits_previews_pins_a_victim_runs_by_number_and_restores(page, container):
    sign_in(page, Role.POLICY_EDITOR)
    page.get_by_role("link", name="Policy of pharmacy").click()
    effect = page.locator("#effect")
    expect(effect).to_contain_text("Nothing would go.")
    page.get_by_label("A user keeps at most").first.fill("4")
    expect(effect).to_contain_text(re.compile(r"Would evict 3 items of 1 user"))

    page.get_by_role("button", name="Publish…").click()
    expect(page.locator("#confirm")).to_contain_text("This would evict 3 of 10 long-term memories (30 %).")
    page.go_back()
    expect(page.get_by_label("A user keeps at most").first).to_have_value("4")
    page.get_by_role("button", name="Publish…").click()
    page.get_by_role("button", name="Publish", exact=True).click()
    expect(page.locator("#toasts")).to_contain_text("Published as version 1")
    page.get_by_role("button", name="Preview the victims").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(f"Preview {Run.objects.get().number}")
    row = page.locator("#table tbody tr").first
    row.locator("summary").click()
    row.get_by_label("Why is this to be kept?").fill("still needed")
    row.get_by_role("button", name="Pin", exact=True).click()
    expect(row).to_contain_text("pinned")

    page.get_by_role("button", name="Evict 3 items…").click()
    expect(page.locator("#confirm")).to_contain_text("1 was pinned since the preview and stays.")
    page.get_by_role("button", name="Evict 2 items").click()
    progress = page.locator("#progress")
    expect(progress).to_contain_text("waiting")
    work_off("run")
    expect(progress).to_contain_text("Evicted 2 of 3, kept 1")
    expect(page.locator("#table")).to_contain_text("kept: pinned")
    assert LongTermMemory.objects.of_container(container).count() == 8

    page.get_by_role("button", name="Restore 2").click()
    page.get_by_role("button", name="Restore 2 items", exact=True).click()
    work_off("restore-run")
    page.reload()
    expect(progress).to_contain_text("restored 2")
    assert LongTermMemory.objects.of_container(container).count() == 10


def test_back_and_forward_bring_whole_pages_with_their_filters(page, container):
    sign_in(page, Role.SUPPORT)
    open_user(page)
    page.get_by_label("Text").fill("fact 2")
    expect(page.locator("#table tbody tr")).to_have_count(1)
    page.get_by_label("Show").select_option("pinned")
    expect(page.locator("#table")).to_contain_text("No memory matches")

    page.go_back()
    expect(page.locator("#table tbody tr")).to_have_count(1)
    page.go_back()
    expect(page.locator("#table tbody tr")).to_have_count(7)
    for part in ("header.top-bar", "h1", "#user-header", "form.filters", "#toast-template"):
        expect(page.locator(part)).to_have_count(1)
    page.go_forward()
    expect(page.locator("#table tbody tr")).to_have_count(1)
    expect(page.get_by_label("Text")).to_have_value("fact 2")

    page.get_by_role("link", name="fact 2").click()  # what came back by Back works like what was loaded
    expect(page.locator("#memory-panel")).to_contain_text("Does it stay?")


def test_the_keyboard_alone_opens_reads_pins_and_closes_a_memory(page, container):
    sign_in(page, Role.SUPPORT)
    open_user(page)
    link = page.locator(".memory-link", has_text="word0000")
    press_until_focused(page, link)
    page.keyboard.press("Enter")
    panel = page.locator("#memory-panel")
    expect(panel).to_be_focused()

    text = panel.locator(".full-text")
    press_until_focused(page, text)
    page.keyboard.press("End")
    page.wait_for_function(
        "() => { const t = document.querySelector('.full-text'); return t.scrollTop + t.clientHeight >= t.scrollHeight - 2 }"
    )
    expect(text).to_contain_text("word0554")

    press_until_focused(page, panel.locator("summary", has_text="Pin"), "Shift+Tab")
    page.keyboard.press("Enter")
    expect(panel.get_by_label("Why is this to be kept?")).to_be_focused()
    page.keyboard.type("by keyboard")
    page.keyboard.press("Enter")
    expect(panel).to_contain_text("by keyboard")
    page.keyboard.press("Escape")
    expect(panel).to_have_count(0)
    expect(link).to_be_focused()


def test_a_double_click_is_one_act(page, container):
    sign_in(page, Role.SUPPORT, Role.POLICY_EDITOR)
    open_user(page)
    page.get_by_role("link", name="fact 1", exact=True).click()
    panel = page.locator("#memory-panel")
    panel.locator("summary", has_text="Pin").click()
    panel.get_by_label("Why is this to be kept?").fill("twice")
    panel.get_by_role("button", name="Pin", exact=True).dblclick()
    expect(panel).to_contain_text("twice")
    expect(page.locator("[data-toast]")).to_have_count(1)
    assert AuditEntry.objects.filter(action=Action.MEMORY_PINNED).count() == 1

    publish(container, a_policy(relevance={"max_records": 5}), now=timezone.now())
    page.goto(f"/containers/{container.uid}/policy/")
    page.get_by_role("button", name="Preview the victims").dblclick()
    page.wait_for_url("**/runs/*/")
    page.get_by_role("button", name="Evict 2 items…").click()
    page.get_by_role("button", name="Evict 2 items").dblclick()
    expect(page.locator("#progress")).to_contain_text("waiting")
    assert Run.objects.count() == 1
    assert Job.objects.filter(kind="run").count() == 1


def test_a_session_is_read_and_pinned_on_a_phone(page, container):
    page.set_viewport_size({"width": 390, "height": 844})
    sign_in(page, Role.SUPPORT)
    open_user(page)
    page.get_by_role("link", name="Sessions 1").click()
    page.get_by_role("link", name="s-old").click()

    page.locator("summary", has_text="Pin this session").click()
    page.get_by_label("Reason").fill("a complaint")
    page.get_by_role("button", name="Pin", exact=True).click()

    expect(page.locator("main")).to_contain_text("a complaint")
    assert Session.objects.get().pinned
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390


def test_a_policy_is_edited_estimated_and_published_without_javascript(browser, live_server, container):
    with browser.new_context(base_url=live_server.url, java_script_enabled=False) as context:
        page = context.new_page()
        sign_in(page, Role.POLICY_EDITOR, address=f"/containers/{container.uid}/policy/")
        page.get_by_label("Keep for").first.fill("30")  # and the tick "no limit" stays
        page.get_by_role("button", name="Publish…").click()
        expect(page.locator("#policy-form")).to_contain_text("Take the tick away, or empty the number.")
        expect(page.get_by_label("Keep for").first).to_have_value("30")

        page.locator("[name=sessions_days_none]").uncheck()
        page.get_by_role("button", name="Estimate").click()
        expect(page.locator("#effect")).to_contain_text("Would evict 1 item of 1 user")
        page.get_by_role("button", name="Publish…").click()
        expect(page.locator("#confirm")).to_contain_text("Would evict 1 item of 1 user")
        page.get_by_role("button", name="Publish", exact=True).click()
        expect(page.locator("#toasts")).to_contain_text("Published as version 1")

        page.get_by_role("button", name="Opt out of retention…").click()
        expect(page.locator("#confirm")).to_contain_text("What it would evict now stays: 1 item.")
        page.get_by_role("button", name="Opt out of retention").click()
        expect(page.locator("main")).to_contain_text("This container is opted out")


def test_a_page_that_follows_a_search_does_not_take_away_what_somebody_writes(page: Page, container: Container):
    sign_in(page, Role.COMPLIANCE)
    open_user(page)
    page.get_by_role("link", name="Erase on request…").click()
    page.get_by_role("button", name="Take in the request").click()
    page.get_by_role("button", name="Look for everything").click()
    note = page.get_by_label("Add a note")
    note.fill("half a sentence")

    work_off(discovery.DISCOVER)
    expect(page.get_by_text("There is something new.")).to_be_visible()
    expect(note).to_have_value("half a sentence")
    note.fill("")
    expect(page.get_by_role("heading", name="What was found")).to_be_visible()

    page.get_by_role("link", name="One by one").click()
    page.get_by_label("Choose all on this page").check()
    boxes = page.locator("tbody [name=item]")
    assert boxes.count() > 1
    assert all(box.is_checked() for box in boxes.all())


def test_a_page_that_follows_a_search_says_once_that_it_gets_no_answer(page: Page, container: Container):
    sign_in(page, Role.COMPLIANCE)
    open_user(page)
    page.get_by_role("link", name="Erase on request…").click()
    page.get_by_role("button", name="Take in the request").click()
    page.get_by_role("button", name="Look for everything").click()
    page.route("**/progress/**", lambda route: route.fulfill(status=403))
    expect(page.get_by_text("This page follows")).to_be_visible()

    for _ in range(2):
        with page.expect_response("**/progress/**") as answer:
            pass
        assert answer.value.status == 403

    expect(page.locator("#toasts .toast-problem")).to_have_count(1)

    page.unroute("**/progress/**")  # it answers again

    expect(page.locator("#toasts .toast-problem")).to_have_count(0)
