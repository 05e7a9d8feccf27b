"""Take the pictures of docs/screenshots from a running demo whose worker has started.

.venv/bin/python docs/make_screenshots.py http://127.0.0.1:8000 SUPPORT_LOGIN:PASSWORD EDITOR_LOGIN:PASSWORD ADMINISTRATOR_LOGIN:PASSWORD
"""

import sys
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

FOLDER = Path(__file__).parent / "screenshots"
SIZES = {"desktop": (1360, 900), "phone": (390, 844)}
CONTAINER, USER = "pharmacy-support", "rosa.delgado"


def sign_in(browser: Browser, site: str, who: str, *, size: str, scheme: str) -> Page:
    width, height = SIZES[size]
    page = browser.new_page(base_url=site, viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce")
    login, _, password = who.partition(":")
    page.goto("/login/")
    page.fill("[name=login]", login)
    page.fill("[name=password]", password)
    page.click("main button")
    page.wait_for_url(f"{site}/")
    return page


def picture(page: Page, name: str) -> None:
    page.wait_for_load_state("networkidle")
    page.screenshot(path=FOLDER / f"{name}.png")


def tour_of_support(page: Page, look: str) -> None:
    picture(page, f"overview-{look}")
    page.goto("/containers/")
    page.click(f"text={CONTAINER}")
    picture(page, f"users-{look}")
    page.fill("#id_q", USER)
    page.click("button:has-text('Find')")
    page.click(f".user-id:has-text('{USER}')")
    page.wait_for_selector("#user-header")
    picture(page, f"user-{look}")
    page.click(".memory-link >> nth=1")
    page.wait_for_selector("#memory-panel")
    picture(page, f"memory-{look}")


def tour_of_the_editor(page: Page, look: str) -> None:
    page.goto("/containers/")
    page.click(f"text={CONTAINER}")
    page.click(".page-header a:has-text('Policy')")
    picture(page, f"policy-{look}")
    page.goto("/runs/")
    page.click("tbody a >> nth=0")
    picture(page, f"run-{look}")


def tour_of_the_administrator(page: Page, look: str) -> None:
    page.goto("/people/")
    picture(page, f"people-{look}")


def main(site: str, support: str, editor: str, administrator: str) -> None:
    FOLDER.mkdir(exist_ok=True)
    tours = ((support, tour_of_support), (editor, tour_of_the_editor), (administrator, tour_of_the_administrator))
    with sync_playwright() as playwright, playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"]) as browser:
        for size in SIZES:
            for scheme in ("light", "dark"):
                for who, tour in tours:
                    tour(sign_in(browser, site, who, size=size, scheme=scheme), f"{size}-{scheme}")


if __name__ == "__main__":
    main(*sys.argv[1:])
