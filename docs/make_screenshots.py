"""Take the pictures of docs/screenshots from a running demo.

.venv/bin/python docs/make_screenshots.py http://127.0.0.1:8000 SUPPORT_LOGIN:PASSWORD EDITOR_LOGIN:PASSWORD
"""

import sys
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

FOLDER = Path(__file__).parent / "screenshots"
SIZES = {"desktop": (1360, 900), "phone": (390, 844)}


def sign_in(browser: Browser, site: str, who: str, *, size: str, scheme: str) -> Page:
    width, height = SIZES[size]
    page = browser.new_page(base_url=site, viewport={"width": width, "height": height}, color_scheme=scheme)
    login, _, password = who.partition(":")
    page.goto("/login/")
    page.fill("[name=login]", login)
    page.fill("[name=password]", password)
    page.click("main button")
    return page


def picture(page: Page, name: str) -> None:
    page.wait_for_load_state("networkidle")
    page.screenshot(path=FOLDER / f"{name}.png")


def tour_of_support(page: Page, look: str) -> None:
    picture(page, f"overview-{look}")
    page.goto("/containers/")
    page.click("text=pharmacy-support")
    picture(page, f"users-{look}")
    page.click(".user-id >> nth=3")
    picture(page, f"user-{look}")
    page.click(".memory-link >> nth=1")
    page.wait_for_selector("#memory-panel")
    picture(page, f"memory-{look}")


def tour_of_the_editor(page: Page, look: str) -> None:
    page.goto("/containers/")
    page.click("text=pharmacy-support")
    page.click(".page-header a:has-text('Policy')")
    picture(page, f"policy-{look}")
    page.goto("/runs/")
    page.click("tbody a >> nth=0")
    picture(page, f"run-{look}")


def main(site: str, support: str, editor: str) -> None:
    FOLDER.mkdir(exist_ok=True)
    with sync_playwright() as playwright, playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"]) as browser:
        for size in SIZES:
            for scheme in ("light", "dark"):
                tour_of_support(sign_in(browser, site, support, size=size, scheme=scheme), f"{size}-{scheme}")
                tour_of_the_editor(sign_in(browser, site, editor, size=size, scheme=scheme), f"{size}-{scheme}")


if __name__ == "__main__":
    main(*sys.argv[1:])
