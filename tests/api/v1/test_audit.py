"""Reading the log by program."""

import csv
import io
import json

import pytest

from memadmin.access.scopes import Scope
from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.audit.models import AuditEntry
from memadmin.store import configuration
from tests.factories import NOON, days, make_container
from tests.tokens import ApiClient, api_of

pytestmark = pytest.mark.django_db
URL = "/api/v1/audit"
WORDS = "canary-3b1f"


def act(number: int = 1, *, action=Action.RUN_FINISHED, actor="job/nightly", at=NOON, **details):
    for _ in range(number):
        log.append(action, actor=actor, target="runs/1", at=at, payload={"words": WORDS}, **details)


@pytest.fixture
def api(db) -> ApiClient:
    return api_of(all_access=True, scopes=[Scope.AUDIT_READ])


def seqs(api: ApiClient, query: str = "") -> list[int]:
    answer = api.get(f"{URL}?{query}")
    assert answer.status_code == 200, answer.content
    return [item["seq"] for item in answer.json()["items"]]


def body_of(answer) -> str:
    return b"".join(answer.streaming_content).decode()


def test_pages_follow_one_another_to_the_first_entry_while_others_write(api):
    act(30)
    before, found, cursor = AuditEntry.objects.count(), [], ""
    while cursor is not None:
        page = api.get(f"{URL}?limit=7&cursor={cursor}").json()
        found += [item["seq"] for item in page["items"]]
        cursor = page["next"]
        act()

    assert found == list(range(before, 0, -1))


def test_an_entry_is_shown_as_it_was_hashed_and_without_the_words_beside_it(api):
    act(counts={"evicted": 3}, reason_code="x")

    answer = api.get(f"{URL}?limit=1")

    (item,), entry = answer.json()["items"], AuditEntry.objects.latest("seq")
    assert item.items() >= {"actor": "job/nightly", "counts": {"evicted": 3}, "reason_code": "x", "row_hash": entry.row_hash}.items()
    assert item["at"] == json.loads(entry.leaf)["at"].replace(".000000Z", "+00:00")
    assert WORDS not in answer.content.decode()


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("action=policy.published", [1]),
        ("action=policy.published&action=run.failed", [2, 1]),
        ("actor=person/1", [1]),
        ("outcome=failed", [2]),
        ("request_id=r-9", [3]),
        ("target=runs/1", [3, 2, 1]),
        ("target=runs/", []),
        ("since=2026-03-02T12:00:00Z", [3, 2]),
        ("since=2026-03-02T12:00:00Z&until=2026-03-03T12:00:00Z", [2]),
        ("stream=activity", []),
    ],
)
def test_filters_narrow_as_on_the_page(api, query, found):
    first = AuditEntry.objects.count()
    act(action=Action.POLICY_PUBLISHED, actor="person/1")
    act(action=Action.RUN_FAILED, outcome="failed", at=NOON + days(1))
    act(request_id="r-9", at=NOON + days(2))
    later = [seq - first for seq in seqs(api, query) if seq > first]

    assert later == found


@pytest.mark.parametrize("query", ["action=x", "stream=x", "outcome=x", "since=soon", "limit=0", "limit=101", "cursor=x"])
def test_a_filter_that_makes_no_sense_is_refused(api, query):
    assert api.get(f"{URL}?{query}").status_code == 400


@pytest.mark.parametrize("path", ["", "/export"])
def test_it_takes_the_scope_and_all_access(path):
    assert api_of("bo", scopes=[Scope.SETTING_READ], all_access=True).get(URL + path).status_code == 403
    assert api_of("al", scopes=[Scope.AUDIT_READ]).get(URL + path).status_code == 403
    assert ApiClient("nobody").get(URL + path).status_code == 401


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_nothing_of_it_can_be_written(api, method):
    assert api.call(method, URL, {}).status_code in {403, 405}


def test_an_export_has_every_entry_that_was_there_and_is_one_itself(api):
    act(5)
    before = AuditEntry.objects.count()

    lines = [json.loads(line) for line in body_of(api.get(f"{URL}/export")).splitlines()]

    assert [line["seq"] for line in lines] == list(range(1, before + 1))
    exported = AuditEntry.objects.latest("seq")
    assert (exported.action, exported.actor[:6], exported.counts) == ("audit.exported", "token/", {"last": before})


def test_an_export_is_audited_before_its_first_byte(api):
    api.get(f"{URL}/export")

    assert AuditEntry.objects.latest("seq").action == Action.AUDIT_EXPORTED


def test_an_export_as_csv_takes_the_filters_and_holds_no_formula(api, monkeypatch):
    act(3)
    act(action=Action.POLICY_PUBLISHED)
    monkeypatch.setattr("memadmin.audit.listing.record", lambda entry: {**_record(entry), "target": "=1+1"})

    rows = list(csv.DictReader(io.StringIO(body_of(api.get(f"{URL}/export?form=csv&action=policy.published")))))

    assert [(row["action"], row["target"]) for row in rows] == [("policy.published", "'=1+1")]


def _record(entry: AuditEntry) -> dict:
    return {name: getattr(entry, name) for name in ("stream", "seq", "at", "actor", "action", "outcome", "target")} | dict.fromkeys(
        ("request_id", "reason_code", "payload_digest", "row_hash"), ""
    )


@pytest.mark.parametrize("where", [URL, f"{URL}/export"])
def test_a_token_of_some_containers_or_of_a_tenant_does_not_see_what_others_did(where):
    act()
    listed = api_of(all_access=True, scopes=[Scope.AUDIT_READ], containers=[make_container("ours")])
    bound = api_of(all_access=True, scopes=[Scope.AUDIT_READ], tenant="acme")

    assert [each.get(where).status_code for each in (listed, bound)] == [403, 403]


def test_under_a_tenants_name_nobody_sees_the_log_of_all(api):
    configuration.change("multi_tenancy_enabled", True, actor="person/1", now=NOON)

    assert api.get(URL, **{"x-tenant-id": "acme"}).status_code == 403
    assert api.get(URL).status_code == 200


@pytest.mark.parametrize("wanted", ["text/csv", "application/x-ndjson", "*/*"])
def test_a_client_may_name_the_form_that_it_takes(api, wanted):
    act()

    answer = api.get(f"{URL}/export?form=csv", Accept=wanted)

    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "text/csv")
