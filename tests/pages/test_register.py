import csv
import html
import io
import json

import pytest
from django.db import connection

from memadmin.access.roles import Role
from memadmin.store import locations
from tests.erasure.test_notices import a_recipient
from tests.factories import make_container
from tests.people import a_browser_of, auditor, support

pytestmark = pytest.mark.django_db
PAGE, FILE = "/erasure/stores/", "/erasure/stores/register/"


def text_of(response):
    return " ".join(html.unescape(response.content.decode()).split())


def test_every_place_is_on_the_page_and_in_the_register():
    browser = auditor()

    shown = text_of(browser.get(PAGE))
    found = json.loads(browser.get(FILE).content)

    assert [place.title for place in locations.in_order() if place.title not in shown] == []
    assert [row["name"] for row in found["stores"]] == [place.name for place in locations.in_order()]
    assert found["uncovered"] == []
    assert "Every table and column is covered" in shown


def test_a_table_that_no_erasure_reaches_is_red():
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE by_hand (words text)")

    shown = text_of(auditor().get(PAGE))

    assert "1 place no erasure would reach: <code>by_hand</code>" in shown
    assert "notice-problem" in shown


def test_recipients_limits_and_purpose_are_in_the_register():
    a_recipient(make_container("support"), name="Partner")

    found = json.loads(auditor().get(FILE).content)

    assert found["recipients"][0]["name"] == "Partner"
    assert found["recipients"][0]["containers"] == ["support"]
    assert found["time_limits"]["days"]["erasure_block_days"] == 30
    assert "stays erased" in found["kept_so_that_it_stays_erased"]["purpose"]


def test_59_no_cell_of_the_table_is_a_formula():
    a_recipient(make_container(), name="=HYPERLINK(1)", given="@SUM(1)")

    answer = auditor().get(f"{FILE}?format=csv")

    rows = list(csv.reader(io.StringIO(answer.content.decode())))
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert ["recipient", "'=HYPERLINK(1)"] in [row[:2] for row in rows]
    assert not any(cell.startswith(("=", "@", "+", "-")) for row in rows for cell in row)


def test_55_names_of_other_containers_stay_out_of_it():
    mine, hidden = make_container("mine"), make_container("hidden")
    a_recipient(mine, hidden, name="Both")
    a_recipient(hidden, name="Faraway")

    said = a_browser_of(Role.AUDITOR, login="una", containers=[mine]).get(FILE).content.decode()

    assert "Both" in said
    assert "Faraway" not in said
    assert "hidden" not in said


def test_others_do_not_see_it():
    assert {support().get(PAGE).status_code, a_browser_of(Role.POLICY_EDITOR, login="pia").get(FILE).status_code} == {403}
