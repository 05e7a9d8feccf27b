import re

import pytest
from django.urls import reverse

from memadmin.access.roles import Role
from memadmin.lifecycle.models import Run
from memadmin.pages import whatif
from memadmin.recall.touching import touch
from memadmin.store.models import LongTermMemory, PolicyVersion
from tests.factories import NOON, a_memory, a_pin, days, make_container, store
from tests.people import HTMX, a_browser_of, auditor, editor
from tests.runs import a_policy, governed

pytestmark = pytest.mark.django_db
PARTS = ("whatif-scores", "whatif-users", "whatif-caps")
TYPED = {
    "base": "",
    "sessions_days_none": "on",
    "sessions_count_none": "on",
    "long_term_days_none": "on",
    "long_term_count_none": "on",
    "history_count_none": "on",
    "use_relevance": "on",
    "ttl_days": "365",
    "max_records": "2",
    "max_tokens_none": "on",
    "half_life_days": "30",
    "recency": "0.4",
    "frequency": "0.2",
    "importance": "0.4",
}


@pytest.fixture(autouse=True)
def _at_noon(time_machine):
    time_machine.move_to(NOON, tick=False)


@pytest.fixture
def container(db):
    made = make_container()
    memories = [a_memory(f"canary {number}", importance=number / 10, tokens=10) for number in range(4)]
    store(
        made, *memories, a_memory("canary pinned", pin=a_pin(), tokens=10), a_memory("canary aging", user_id="bob", days_old=300, tokens=10)
    )
    return made


def part(browser, container, view, *more, query=TYPED, **headers):
    answer = browser.get(reverse(f"pages:{view}", args=[container.uid, *more]), query, headers=headers)
    return answer.status_code, re.sub(r"\s+", " ", answer.content.decode())


def test_the_policy_as_typed_is_judged_on_the_store_and_nothing_is_stored(container):
    status, page = part(editor(), container, "whatif-later", 0)

    assert status == 200
    assert "<strong>3</strong> items of 1 user" in page
    assert "3 with the lowest scores, beyond a user&#x27;s cap of memories" in page
    assert (Run.objects.count(), PolicyVersion.objects.count(), LongTermMemory.objects.count()) == (0, 0, 6)


def test_what_goes_later_says_the_day_and_counts_what_grows_old_until_then(container):
    browser = editor()

    soon, later = (part(browser, container, "whatif-later", number)[1] for number in (30, 90))

    assert 'In 30 days <span class="text-secondary">(31 Mar 2026)</span>' in soon
    assert "<strong>3</strong> items of 1 user" in soon
    assert "<strong>4</strong> items of 2 users" in later
    assert "1 past its time to live" in later
    assert part(browser, container, "whatif-later", 3_651)[0] == 404


def test_the_page_says_what_is_assumed_and_has_a_link_to_each_figure(container):
    status, page = part(editor(), container, "whatif-detail")

    assert status == 200
    assert "no agent recalls anything, nobody writes, pins or deletes, and no run takes place before" in page
    links = re.findall(r'<a class="btn" href="([^"]+what-if/[^"]+)"', page)
    assert len(links) == 7
    assert all("max_records=2" in link for link in links)
    assert page.count('hx-trigger="load"') == 7


def test_scores_are_drawn_with_the_cut_line_and_stand_in_a_table_too(container):
    status, page = part(editor(), container, "whatif-scores")

    assert status == 200
    assert page.count('<rect class="bar bar-goes"') >= 1
    assert page.count('<rect class="bar bar-exempt"') == 1
    assert 'class="chart-cut"' in page
    assert "1 user is at a cap: half of them are cut at" in page
    assert page.count('<tr><th scope="row">') == 20
    assert "6 memories, counted in" in page
    assert " style=" not in page


def test_a52_caps_show_what_stays_and_which_recalls_would_still_have_been_answered(container):
    weak = LongTermMemory.objects.get(text="canary 0")
    touch([weak.pk], now=NOON - days(3))
    touch([LongTermMemory.objects.get(text="canary aging").pk], now=NOON - days(2))

    status, page = part(editor(), container, "whatif-caps")

    assert status == 200
    assert re.search(r'2 <span class="badge[^>]+>this policy</span></th> <td[^>]+>3</td><td[^>]+>30</td>', page)
    assert re.search(r">(?:<span.*?</span>)?no cap</th> <td[^>]+>6</td><td[^>]+>60</td><td[^>]+>0</td>", page)
    assert "Recalls: 2 of the last 30 days, of 2 users" in page


def test_a52_without_recorded_recalls_nobody_can_say_what_a_cap_costs(container):
    _, page = part(editor(), container, "whatif-caps")

    assert "No recall was recorded in the last 30 days" in page
    assert "100 %" not in page


def test_users_that_lose_most_are_linked_for_those_who_may_know_them(container):
    _, seen = part(editor(), container, "whatif-users")
    _, unseen = part(a_browser_of(Role.ADMINISTRATOR, login="adam"), governed_like(container), "whatif-users", query={})

    assert reverse("pages:user-memories", args=[LongTermMemory.objects.get(text="canary 0").subject.uid]) in seen
    assert "<bdi>ann</bdi>" in seen
    assert "not shown" in unseen
    assert "ann" not in unseen.replace("planned", "")


def governed_like(container):
    other = governed(a_policy(relevance={"max_records": 1}), "governed")
    store(other, a_memory("one"), a_memory("two"))
    return other


@pytest.mark.parametrize("view", ["whatif-detail", *PARTS])
def test_a_policy_that_is_none_is_refused_in_words(container, view):
    status, page = part(editor(), container, view, query={**TYPED, "max_records": "0", "half_life_days": "-3"})

    assert status == 422
    assert "There are no figures until this is put right" in page


def test_who_may_not_edit_sees_the_policy_in_force_whatever_the_address_says(container):
    _, page = part(auditor(), container, "whatif-later", 0)

    assert "Nothing would go." in page


@pytest.mark.parametrize("view", PARTS)
def test_htmx_gets_the_part_and_everybody_else_a_page_with_it(container, view):
    browser = editor()

    _, fragment = part(browser, container, view, **HTMX)
    _, page = part(browser, container, view)

    assert fragment.strip().startswith('<div class="what-if-figure">')
    assert "<html" in page
    assert "what-if-figure" in page


def test_the_token_of_the_form_does_not_stay_in_the_address(container):
    answer = editor().get(reverse("pages:whatif-detail", args=[container.uid]), {**TYPED, "csrfmiddlewaretoken": "x"})

    assert answer.status_code == 302
    assert "csrf" not in answer.url
    assert "max_records=2" in answer.url


def test_a_very_large_container_is_asked_about_one_figure_at_a_time(container, monkeypatch):
    monkeypatch.setattr(whatif, "BY_ITSELF", 5)

    _, page = part(editor(), container, "whatif-detail")

    assert "There are 6 memories here. A figure can take about 1 seconds" in page
    assert 'hx-trigger="load"' not in page


def test_nobody_sees_a_container_that_is_not_theirs_and_nobody_posts(container):
    stranger = a_browser_of(Role.POLICY_EDITOR, containers=[make_container("other")])

    for view, *more in (("whatif-detail",), ("whatif-later", 7), *((name,) for name in PARTS)):
        assert part(stranger, container, view, *more)[0] == 404
        assert stranger.post(reverse(f"pages:{view}", args=[container.uid, *more])).status_code == 405


def test_no_figure_shows_a_memorys_text(container):
    browser = editor()

    shown = [part(browser, container, view)[1] for view in (*PARTS, "whatif-detail")] + [part(browser, container, "whatif-later", 7)[1]]

    assert not any("canary" in page for page in shown)
