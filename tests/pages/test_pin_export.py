import csv
import io
import json

import pytest

from memadmin.access.roles import Role
from memadmin.audit.models import AuditEntry
from tests.factories import NOON, a_memory, a_pin, make_container, store
from tests.people import a_browser_of, support
from tests.runs import a_policy, governed

pytestmark = pytest.mark.django_db
EXPORT = "/pins/export/"
REASONS = ["=HYPERLINK(1)", "+1 call", "-1", "@x y", "'quoted", 'says "tea", and; more\nlines', "plain reason", "\ufeffwith a mark"]


@pytest.fixture(autouse=True)
def _at_noon(time_machine):
    time_machine.move_to(NOON, tick=False)


@pytest.fixture
def container(db):
    made = governed(a_policy(relevance={"ttl_days": 365}))
    store(made, *(a_memory(f"m{n}", days_old=400 if n == 0 else 1, pin=a_pin(reason)) for n, reason in enumerate(REASONS)))
    return made


def export(client, query="", **given):
    answer = client.post(f"{EXPORT}{query}", given)
    assert answer.status_code == 200
    return b"".join(answer.streaming_content).decode()


def officer(**details):
    return a_browser_of(Role.COMPLIANCE, login="cora", **details)


def test_f86_59_no_cell_acts_as_a_formula_and_each_parses_back_to_the_same_text(container):
    rows = list(csv.DictReader(io.StringIO(export(officer(), format="csv"), newline="")))

    cells = [row["reason"] for row in rows]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t"))]
    assert [cell[1:] if cell.startswith("'") else cell for cell in cells] == REASONS


def test_json_has_the_same_pins_with_their_limits_and_the_filter_counts(container):
    everything = json.loads(export(officer(), format="json"))
    past = json.loads(export(a_browser_of(Role.COMPLIANCE, login="cleo"), "?state=past-limit", format="json"))

    assert [row["reason"] for row in everything] == REASONS
    assert [(row["uid"], row["past_limits"]) for row in past] == [(everything[0]["uid"], ["ttl"])]
    assert [entry.counts["pins"] for entry in AuditEntry.objects.filter(action="export.finished").order_by("seq")] == [8, 1]


def test_pins_of_containers_that_the_person_does_not_see_are_not_in_the_file(container):
    store(make_container("other"), a_memory(user_id="eve", pin=a_pin("secret")))

    assert "secret" not in export(officer(containers=[container]), format="csv")


def test_only_who_may_export_does_and_an_unknown_format_is_refused(container):
    assert support().post(EXPORT, {"format": "csv"}).status_code == 403
    client = officer()
    assert client.get(EXPORT).status_code == 405
    assert client.post(EXPORT, {"format": "xlsx"}).status_code == 422
    assert json.loads(export(client, "?state=due", format="json")) == []


def test_a_filter_that_is_set_without_a_new_page_narrows_the_export_too(container):
    part = officer().get("/pins/?state=past_limit", headers={"HX-Request": "true"}).content.decode()

    assert f'action="{EXPORT}?state=past_limit"' in part
