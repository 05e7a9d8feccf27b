import pytest
from playwright.sync_api import Page, expect

from tests import browser


def test_the_browser_reaches_the_running_site(page: Page):
    answer = page.goto("/nowhere")

    assert answer is not None
    assert answer.status == 404
    expect(page.locator("h1")).to_be_visible()


def test_a_wrong_browser_path_is_an_error_not_a_skip(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MEMADMIN_CHROME", "/nowhere/chrome")

    with pytest.raises(browser.NoSuchBrowser, match="/nowhere/chrome"):
        browser.find_browser()
