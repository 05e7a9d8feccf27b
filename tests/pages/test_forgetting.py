import re

import pytest
from django.urls import reverse

from memadmin.access.roles import Role
from memadmin.lifecycle.feedback import Report, match, record
from memadmin.lifecycle.forgetting import Rate
from memadmin.lifecycle.suspects import suspects_of
from memadmin.pages.charts import HEIGHT, WIDTH, stacked
from memadmin.pages.templatetags.memadmin import answered, missed
from memadmin.store.models import FeedbackKind, PolicyVersion
from retention.backtest import Loss
from tests.factories import ACTOR, NOON, a_memory, days, make_container, make_session, store, subject_of
from tests.people import HTMX, a_browser_of, support
from tests.runs import a_policy, carry_out, governed, preview

pytestmark = pytest.mark.django_db


@pytest.fixture
def container(db, time_machine):
    time_machine.move_to(NOON + days(1), tick=False)
    made = governed(a_policy(long_term={"retention_days": 30}))
    store(made, *(a_memory(f"canary {number}", days_old=40) for number in range(4)))
    carry_out(preview(made))
    return made


def shown(browser, **headers):
    return re.sub(r"\s+", " ", browser.get(reverse("pages:overview-forgetting"), headers=headers).content.decode())


def a_report(container):
    report = Report(kind=FeedbackKind.FORGOT, words="canary", noticed_at=NOON + days(1))
    return record(subject_of(container), report, actor=ACTOR, now=NOON + days(1))


def test_a61_without_feedback_the_rate_is_unknown_and_not_zero(container):
    page = shown(support())

    assert "no feedback yet" in page
    assert "0.0 %" not in page
    assert 'aria-label="Sessions and long-term memories evicted per day, the last 30 days. The highest bar is 4."' in page
    assert "That does not say that nothing was missed." in page


def test_a61_with_feedback_the_rate_has_its_numbers(container):
    made = a_report(container)
    before = shown(support())
    match(made, suspects_of(made).found[0].uid, actor=ACTOR, now=NOON + days(1))

    after = shown(a_browser_of(Role.AUDITOR, login="ada"))

    assert "0.0 % <span" in before
    assert "1 report to look into" in before
    assert '<td class="number" data-label="Evicted">4</td><td class="number" data-label="Missed">1</td>' in after
    assert "25.0 % <span" in after


def test_the_days_stand_in_a_table_too_and_htmx_gets_the_part(container):
    page = shown(support(), **HTMX)

    assert page.strip().startswith('<section id="forgetting"')
    assert '<tr><th scope="row">1 Mar 2026</th><td class="number">4</td><td class="number">0</td></tr>' in page
    assert page.count('<tr><th scope="row">') >= 30


def test_the_overview_fetches_it_and_has_a_link_to_it(container):
    page = support().get(reverse("pages:overview")).content.decode()

    assert f'hx-get="{reverse("pages:overview-forgetting")}"' in page
    assert f'href="{reverse("pages:overview-forgetting")}"' in page


def test_containers_of_others_are_not_counted(container):
    stranger = a_browser_of(Role.SUPPORT, containers=[make_container("other")], login="eve")

    page = shown(stranger)

    assert "Nothing was evicted in the last 30 days." in page
    assert "pharmacy" not in page


def test_a56_the_figures_of_a_container_have_a_page(container):
    make_session(container, "s-1", messages=3)
    store(container, a_memory("new", tokens=7, days_old=1))

    answer = support().get(reverse("pages:container-measures", args=[container.uid]))

    page = re.sub(r"\s+", " ", answer.content.decode())
    assert "Long-term memories per user" in page
    assert re.search(r"Events per session</th><td[^>]+>3</td>", page)
    assert "Long-term memories created per week, the last 12 weeks. The highest bar is 1." in page


def test_bars_stand_on_the_floor_inside_the_drawing_and_small_ones_are_seen():
    chart = stacked([("a", [("stays", 1_000_000), ("goes", 1)]), ("b", []), ("c", [("goes", 5)])])

    pieces = [piece for column in chart.columns for piece in column.pieces]
    assert all(piece.y >= 0 and piece.y + piece.height <= HEIGHT + 0.02 for piece in pieces if piece.tone == "stays")
    assert all(piece.height >= 1.5 and piece.x >= 0 and piece.x + piece.width <= WIDTH for piece in pieces)
    assert (stacked([]).is_empty, stacked([("a", [("goes", 0)])]).is_empty, chart.is_empty) == (True, True, False)


def test_shares_never_round_to_all_or_nothing():
    rates = [Rate(PolicyVersion(), evicted, 1, matched) for evicted, matched in ((1_000_000, 3), (4, 1), (4, 0))]

    assert [missed(rate) for rate in rates] == ["0.0003 %", "25.0 %", "0.0 %"]
    losses = [Loss(100_000, 1), Loss(100, 0), Loss(3, 1), Loss(3, 3)]
    assert [answered(loss) for loss in losses] == ["99.9 %", "100 %", "66.6 %", "0.0 %"]
