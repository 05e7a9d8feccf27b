import re

import pytest
from django.urls import reverse

from memadmin.access.roles import Role
from memadmin.store import configuration
from memadmin.store.models import LongTermMemory
from tests.factories import ACTOR, NOON, a_memory, a_pin, days, make_container, make_memory, store
from tests.people import HTMX, a_browser_of, auditor, support
from tests.runs import a_policy, governed

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _at_noon(time_machine):
    time_machine.move_to(NOON, tick=False)


def shown(browser, memory, **headers):
    answer = browser.get(reverse("pages:memory-forecast", args=[memory.uid]), headers=headers)
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", answer.content.decode())


def test_a_time_to_live_names_its_night_and_what_would_keep_the_memory():
    container = governed(a_policy(relevance={"ttl_days": 30}))
    page = shown(support(), make_memory(container, days_old=20.5))

    assert "If nobody recalls it, the run of 11 Mar 2026 would take it, and none before: past its time to live." in page
    assert "A pin: no run takes it while it holds." in page
    assert "A recall by an agent does not move the date." in page
    assert "In the policy: a time to live above 30 days." in page


def test_a_memory_over_a_cap_says_how_much_is_too_much():
    container = governed(a_policy(relevance={"max_records": 2}))
    weak = make_memory(container, "weak", importance=0.1)
    store(container, *(a_memory(f"strong {number}", importance=0.9) for number in range(3)))

    page = shown(support(), weak)

    assert "A run would take it: lowest score, beyond the user&#x27;s cap of memories." in page
    assert "2 fewer of the user&#x27;s memories that go later than this one" in page
    assert "An importance of 0." in page
    assert "In the policy: a cap of at least 4 memories." in page


def test_a_largest_number_of_the_container_is_a_limit_too():
    container = governed(a_policy(long_term={"max_count": 1}))
    old, young = make_memory(container, "old", days_old=9), make_memory(container, "young")

    assert "more than 1 memories in the container" in shown(support(), old)
    assert "no run of the next two years takes it" in shown(auditor(), young)


def test_what_is_pinned_held_or_under_no_policy_has_no_such_night():
    container = governed(a_policy(relevance={"ttl_days": 30}))
    pinned, free = make_memory(container, "pinned", days_old=90, pin=a_pin()), make_memory(make_container("free"))
    held = make_memory(container, "held", days_old=90)
    LongTermMemory.objects.filter(pk=held.pk).update(held=True)
    browser = support()

    assert "No run takes it while it is pinned." in shown(browser, pinned)
    assert "Nothing takes it while it is held." in shown(browser, held)
    assert "No policy judges it: this container has no retention policy yet." in shown(browser, free)


def test_while_retention_is_off_it_says_so_first():
    container = governed(a_policy(relevance={"ttl_days": 30}))
    configuration.change("retention_enabled", False, actor=ACTOR, now=NOON)

    page = shown(support(), make_memory(container, days_old=90))

    assert "Nothing runs: retention is off. This is what would happen if it did." in page
    assert "A run would take it: past its time to live." in page


def test_the_panel_of_a_memory_fetches_it_and_has_a_link_without_scripts():
    memory = make_memory(governed(a_policy(relevance={"ttl_days": 30})))
    browser = support()

    panel = browser.get(reverse("pages:memory-detail", args=[memory.uid])).content.decode()
    address = reverse("pages:memory-forecast", args=[memory.uid])
    part = shown(browser, memory, **HTMX)

    assert f'hx-get="{address}"' in panel
    assert f'href="{address}"' in panel
    assert part.strip().startswith('<div class="forecast">')


def test_reading_the_forecast_is_no_recall_and_shows_no_text_of_other_containers():
    container = governed(a_policy(relevance={"ttl_days": 30}))
    memory = make_memory(container, "canary", days_old=40 - 0.5)
    stranger = a_browser_of(Role.SUPPORT, containers=[make_container("other")], login="eve")

    assert "canary" not in shown(support(), memory)
    assert stranger.get(reverse("pages:memory-forecast", args=[memory.uid])).status_code == 404
    memory.refresh_from_db()
    assert (memory.hits, memory.last_accessed_at) == (0, None)
    assert memory.created_at == NOON - days(39.5)
