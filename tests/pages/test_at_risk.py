import html
import re

import pytest
from django.urls import reverse

from memadmin.access.roles import Role
from memadmin.pages import at_risk
from memadmin.store.models import LongTermMemory
from tests.factories import NOON, a_memory, a_pin, days, make_container, store
from tests.pages.test_memories import put_in_force
from tests.people import HTMX, a_browser_of, auditor, editor, support

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _at_noon(time_machine):
    time_machine.move_to(NOON, tick=False)


def address_of(container) -> str:
    return reverse("pages:container-at-risk", args=[container.uid])


def text_of(response) -> str:
    return html.unescape(response.content.decode())


def texts(response) -> list[str]:
    return re.findall(r'<span class="excerpt" dir="auto">(.*?)</span>', response.content.decode())


def link(response, rel: str) -> str:
    found = re.search(rf'rel="{rel}" href="([^"]+)"', response.content.decode())
    return html.unescape(found[1]) if found else ""


def test_the_lowest_scores_of_all_users_come_first():
    container = make_container()
    store(
        container,
        a_memory("middling", user_id="ann", days_old=40, importance=0.5),
        a_memory("lowest", user_id="bob", days_old=300, importance=0.1),
        a_memory("highest", user_id="ann", days_old=1, importance=1.0),
        a_memory("pinned", user_id="eve", days_old=900, importance=0.0, pin=a_pin()),
    )

    page = support().get(address_of(container))

    assert texts(page) == ["lowest", "middling", "highest"]
    assert "bob" in text_of(page)
    assert "1–3 of 3 memories that are not pinned" in text_of(page)


def test_each_row_says_why_it_is_low_and_when_it_goes():
    container = make_container()
    put_in_force(container, ttl_days=365, max_records=2)
    store(
        container,
        a_memory("expired", user_id="bob", days_old=400, importance=0.9),
        *(a_memory(f"ann {n}", user_id="ann", days_old=n, importance=0.1) for n in (10, 20, 30)),
    )

    said = text_of(support().get(address_of(container)))

    rows = {name: row for row in said.split("<tr>") for name in ("expired", "ann 30", "ann 20", "ann 10") if f">{name}</span>" in row}
    assert "low importance" in rows["ann 30"]
    assert "Never recalled by an agent" in rows["ann 30"]
    assert [name for name, row in rows.items() if "goes at the next run" in row] == ["ann 30", "expired"]
    assert "It reaches its time to live on 09 Feb 2027" in rows["ann 20"]


def test_without_the_right_to_read_there_is_no_text_and_no_user():
    container = make_container()
    store(container, a_memory("secret", user_id="bob"))

    page = text_of(auditor().get(address_of(container)))

    assert "secret" not in page
    assert str(LongTermMemory.objects.get().uid)[:8] in page


def test_pages_follow_each_other_by_key_and_lead_back(monkeypatch):
    monkeypatch.setattr(at_risk, "PAGE_SIZE", 2)
    container, browser = make_container(), support()
    store(container, *(a_memory(f"fact {n}", days_old=n, user_id=f"user-{n % 3}") for n in range(1, 6)))

    first = browser.get(address_of(container))
    LongTermMemory.objects.filter(text="fact 5").delete()
    second = browser.get(link(first, "next"))
    third = browser.get(link(second, "next"))

    assert [texts(page) for page in (first, second, third)] == [["fact 5", "fact 4"], ["fact 3", "fact 2"], ["fact 1"]]
    assert link(third, "next") == ""
    assert texts(browser.get(link(third, "prev"))) == ["fact 3", "fact 2"]
    assert texts(browser.get(link(browser.get(link(third, "prev")), "prev"))) == ["fact 4", "fact 3"]


def test_pages_of_one_list_are_of_one_moment(monkeypatch, time_machine):
    monkeypatch.setattr(at_risk, "PAGE_SIZE", 1)
    container, browser = make_container(), support()
    store(container, *(a_memory(f"{n}", days_old=n) for n in range(1, 4)))
    following = link(browser.get(address_of(container)), "next")

    time_machine.move_to(NOON + days(0.02), tick=False)

    assert f"at={int(NOON.timestamp())}" in following
    assert f"at={int(NOON.timestamp())}" in link(browser.get(following), "next")


@pytest.mark.parametrize("token", ["nonsense", "WzEsMl0", "W251bGwsMSwyLDNd", "WzEsMiwzLDFlOTld", "%00", "é" * 40])
def test_a_made_up_place_shows_the_beginning(token):
    container = make_container()
    store(container, a_memory("only one"))

    page = support().get(address_of(container), {"after": token, "at": "-5", "trail": "..x"})

    assert page.status_code == 200
    assert texts(page) == ["only one"]


def test_htmx_gets_the_table_alone():
    container = make_container()
    store(container, a_memory())

    part = support().get(address_of(container), headers=HTMX)

    assert part.content.decode().lstrip().startswith('<div id="table"')


def test_an_empty_container_says_so():
    assert "Nothing can go" in text_of(support().get(address_of(make_container())))


def test_a_place_behind_the_last_memory_says_so():
    container, browser = make_container(), support()
    store(container, a_memory("x"))
    row = at_risk.Place(at_risk.Lowest(1_000_000, 2**61, 2**40), 2)

    assert "Nothing on this page any more" in text_of(browser.get(address_of(container), {"after": row.token()}))


def test_it_is_not_found_in_a_container_that_one_may_not_see():
    mine, other = make_container("mine"), make_container("other")

    assert a_browser_of(Role.SUPPORT, containers=[mine]).get(address_of(other)).status_code == 404


def test_the_list_of_containers_and_the_overview_lead_there():
    container, browser = make_container(), support()

    for page in (reverse("pages:container-list"), reverse("pages:overview"), reverse("pages:user-list", args=[container.uid])):
        assert address_of(container) in browser.get(page).content.decode()


def test_it_asks_for_the_right_to_see_memories_and_never_for_post():
    container = make_container()

    assert editor().post(address_of(container)).status_code == 405
    assert a_browser_of(login="nobody").get(address_of(container)).status_code == 403
