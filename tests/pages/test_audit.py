import html
import json
import re
from datetime import timedelta
from urllib.parse import parse_qsl

import pytest
from django.db import connection, transaction
from django.db.models import F
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from memadmin.access.models import Person
from memadmin.access.roles import Role
from memadmin.audit import checkpoints, exporting, log
from memadmin.audit.actions import Action
from memadmin.audit.models import AuditEntry, Stream, Verification
from memadmin.jobs import heartbeat
from memadmin.jobs.models import Job
from memadmin.jobs.runner import run_inline
from memadmin.lifecycle import verifying
from memadmin.pages import auditing
from memadmin.pages.templatetags.memadmin import short_target
from tests.audit_protection import lifted
from tests.erasure.workflow import opened
from tests.factories import ACTOR, NOON, a_memory, make_container, store
from tests.people import HTMX, a_browser_of, auditor, support

pytestmark = pytest.mark.django_db
URL = "pages:audit-list"


def text_of(response):
    return " ".join(html.unescape(response.content.decode()).split())


def act(action=Action.RUN_FINISHED, *, actor="job/nightly", target="runs/1", days=0, **details):
    return log.append(action, actor=actor, target=target, at=NOON + timedelta(days=days), **details)


def listed(browser, **filters):
    """Return the numbers of the entries that the page shows."""
    page = browser.get(reverse(URL), filters)
    assert page.status_code == 200
    return [row["entry"].seq for row in page.context["rows"]]


def test_entries_are_filtered_by_what_whom_on_which_how_and_when():
    browser = auditor()
    first = AuditEntry.objects.count()
    act(Action.POLICY_PUBLISHED, actor="person/1", target="containers/1")
    act(outcome="failed", days=3)
    log.note(Action.CONTAINER_COUNTED, actor="job/account", target="containers/1", at=NOON)
    log.seal(actor="job/seal", now=NOON - timedelta(days=9))

    found = {
        "action": listed(browser, action="policy.published"),
        "actor": listed(browser, actor="person/1"),
        "target": listed(browser, target="containers/1"),
        "outcome": listed(browser, outcome="failed"),
        "since": listed(browser, since="2026-03-04", until="2026-03-04"),
        "stream": listed(browser, stream="activity"),
        "all": listed(browser, actor="person/1", outcome="failed"),
    }

    one, two = first + 1, first + 2
    assert found == {"action": [one], "actor": [one], "target": [one], "outcome": [two], "since": [two], "stream": [1], "all": []}


def test_who_and_a_request_are_found_by_the_names_that_pages_show():
    store(make_container(), a_memory())
    request = opened()
    browser, cora = auditor(), Person.objects.get(login="cora")
    Person.objects.filter(pk=cora.pk).update(name="Cora Meyer")
    act(actor=f"person/{cora.uid}")

    by_login, by_name = listed(browser, actor="CORA"), listed(browser, actor="cora meyer")

    assert by_login == by_name == listed(browser, actor=f"person/{cora.uid}") != []
    assert listed(browser, target="request 1") == listed(browser, target=f"erasure/{request.uid}") != []
    assert listed(browser, target="Request 9") == []


@pytest.mark.parametrize(
    "bad", [{"since": "soon"}, {"stream": "x"}, {"outcome": "'"}, {"actor": "\x00"}, {"after": "x"}, {"action": "<b>"}]
)
def test_a_filter_that_makes_no_sense_breaks_nothing(bad):
    assert auditor().get(reverse(URL), bad).status_code == 200


def test_f80_the_newest_entries_cost_the_same_number_of_queries_however_many_there_are(monkeypatch):
    browser = auditor()
    act()
    with CaptureQueriesContext(
        connection,
    ) as few:
        browser.get(reverse(URL))
    for number in range(120):
        act(target=f"runs/{number}")
    with CaptureQueriesContext(connection) as many:
        page = browser.get(reverse(URL), {"actor": "job/nightly"})

    assert len(many) <= len(few) + 1
    assert not [
        query["sql"] for query in many if "COUNT(" in query["sql"] and "audit_entry" in query["sql"] and "LIMIT" not in query["sql"]
    ]
    assert len(page.context["rows"]) == 50


def test_f80_a_filter_that_finds_very_many_says_more_than(monkeypatch):
    monkeypatch.setattr(auditing, "COUNTED_TO", 52)
    browser = auditor()
    for _ in range(54):
        act()

    assert "of more than 52 entries" in text_of(browser.get(reverse(URL), {"actor": "job/nightly"}))


def test_the_page_says_that_the_end_of_the_log_holds_together_and_what_is_not_anchored_yet():
    browser = auditor()
    act()
    assert "There is no signed checkpoint yet" in text_of(browser.get(reverse(URL)))
    checkpoints.write(actor="job/seal", now=NOON)
    act()

    page = text_of(browser.get(reverse(URL)))

    assert "hold together, just looked at." in page
    assert "1 entry since then" in page


def test_f89_the_page_says_which_of_the_newest_entries_was_changed():
    browser = auditor()
    entry = act()
    with lifted(), connection.cursor() as cursor:
        cursor.execute("UPDATE audit_entry SET actor = 'person/9' WHERE seq = %s", [entry.seq])

    assert f"The log is not whole: ALTERED governance/{entry.seq} actor" in text_of(browser.get(reverse(URL)))


def test_an_export_proves_itself_and_leaves_an_entry():
    browser = auditor()
    for number in range(3):
        act(target=f"runs/{number}", payload={"word": "canary-4711"})
    checkpoints.write(actor="job/seal", now=NOON)

    answer = browser.post(reverse("pages:audit-export"), {})
    lines = b"".join(answer.streaming_content).decode().splitlines(keepends=True)

    faults, rows, pinned = exporting.check(lines)
    assert (faults, pinned) == ([], True)
    assert rows == json.loads(lines[0])["last"]
    assert "canary-4711" not in "".join(lines)
    assert AuditEntry.objects.get(action=Action.AUDIT_EXPORTED).actor.startswith("person/")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda lines: lines[:-1],
        lambda lines: [*lines[:2], *lines[3:]],
        lambda lines: [lines[0], lines[2], lines[1], *lines[3:]],
        lambda lines: [*lines[:2], lines[2].replace("nightly", "daytime"), *lines[3:]],
        lambda lines: [lines[0].replace("memadmin-audit", "other"), *lines[1:]],
        lambda lines: [lines[0].replace("governance", "governancE"), *lines[1:]],
        lambda lines: ["{}"],
        lambda lines: [],
    ],
    ids=["end cut off", "a row gone", "swapped", "changed", "another format", "a checkpoint changed", "empty", "nothing"],
)
def test_an_export_that_was_changed_does_not_prove_itself(spoil):
    for _ in range(4):
        act()
    checkpoints.write(actor="job/seal", now=NOON)
    lines = list(exporting.lines(Stream.GOVERNANCE, first=1, last=AuditEntry.objects.count(), folder=checkpoints.folder()))

    assert exporting.check(spoil(lines))[0] != []


def test_f88_the_log_and_its_export_are_for_those_with_the_right_and_export_is_a_post():
    assert support().get(reverse(URL)).status_code == 403
    assert a_browser_of(Role.POLICY_EDITOR, login="pia").post(reverse("pages:audit-export")).status_code == 403
    assert auditor().get(reverse("pages:audit-export")).status_code == 405


def test_the_part_is_a_part():
    act()

    assert auditor().get(reverse(URL), headers=HTMX).content.lstrip().startswith(b'<div id="table"')


def test_a_payload_that_was_redacted_is_shown_as_taken_out():
    entry = act(payload={"word": "x"})
    log.redact_payload([(entry.stream, entry.seq)], actor="person/1", at=NOON, reason_code="erasure")

    assert "words that were taken out" in text_of(auditor().get(reverse(URL)))


def test_a_request_is_a_filter_too():
    browser = auditor()
    act(request_id="r-7")
    act()

    assert len(listed(browser, request_id="r-7")) == 1


def test_what_a_filter_finds_comes_as_a_table_and_that_is_an_entry():
    browser = auditor()
    act()
    act(Action.POLICY_PUBLISHED, actor="person/1")

    answer = browser.post(reverse("pages:audit-export"), {"format": "csv", "action": "policy.published"})
    lines = b"".join(answer.streaming_content).decode().splitlines()

    assert [line.split(",")[4] for line in lines] == ["action", "policy.published"]
    assert AuditEntry.objects.get(action=Action.AUDIT_EXPORTED).reason_code == "filtered"


def test_verifying_now_is_a_job_with_progress_and_its_finding_is_on_the_page_and_the_overview(time_machine):
    time_machine.move_to(NOON, tick=False)
    browser = auditor()
    entry = act()
    assert "never been verified" not in text_of(browser.get(reverse(URL)))  # no worker was ever seen here

    browser.post(reverse("pages:audit-verify"))
    asked = text_of(browser.get(reverse(URL)))
    with lifted(), connection.cursor() as cursor:
        cursor.execute("UPDATE audit_entry SET actor = 'person/9' WHERE seq = %s", [entry.seq])
    run_inline(Job.objects.get(kind="verify-audit"), now=NOON)

    assert "Being verified: 0" in asked
    assert f"ALTERED governance/{entry.seq} actor" in text_of(browser.get(reverse(URL)))
    assert "The audit log is not whole" in text_of(browser.get(reverse("pages:overview")))
    assert "The audit log" not in text_of(support().get(reverse("pages:overview")))
    assert AuditEntry.objects.filter(action=Action.AUDIT_VERIFICATION_ASKED, actor__startswith="person/").count() == 1


def test_a_good_verification_is_told_with_its_number_of_entries(time_machine):
    time_machine.move_to(NOON, tick=False)
    browser = auditor()
    act()
    job = verifying.ask(actor="person/1", now=NOON)
    entries = AuditEntry.objects.count()
    run_inline(job, now=NOON)

    assert f"all {entries} entries are as they were written" in text_of(browser.get(reverse(URL)))


def test_what_has_waited_too_long_is_told(time_machine):
    time_machine.move_to(NOON, tick=False)
    heartbeat.beat(NOON)
    act(days=-1)
    browser = auditor()
    log.note(Action.CONTAINER_COUNTED, actor="job/account", target="containers/1", at=NOON - timedelta(hours=2))

    page = text_of(browser.get(reverse(URL)))

    assert "has never been verified" in page
    assert "waited for a signed checkpoint for more than an hour" in page
    assert "waited to be sealed for more than 15 minutes" in page


def test_f88_an_auditor_can_have_it_verified_and_nobody_else_and_only_by_post():
    assert support().post(reverse("pages:audit-verify")).status_code == 403
    assert auditor().get(reverse("pages:audit-verify")).status_code == 405
    assert not Job.objects.exists()


@pytest.mark.parametrize(
    "query", ["", "actor=job/nightly", "target=runs/1", "action=run.finished", "outcome=refused", "request_id=r", "since=2026-03-01"]
)
def test_f80_every_filter_reads_the_newest_of_very_many_along_an_index(query):
    given = dict(parse_qsl(query))
    form = auditing.AuditFilter(given)
    assert form.is_valid()
    rows = form.wanted.entries().annotate(key=F("seq"), id=F("seq")).order_by("-key").values_list("key", "id")[:51]

    with transaction.atomic(), connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET LOCAL enable_seqscan = off")  # the table is tiny here
        plan = rows.explain()

    assert "audit_entry" in plan
    assert "Seq Scan" not in plan
    assert re.search(r"SCAN audit_entry(?! USING)", plan) is None


@pytest.mark.parametrize("action", sorted(auditing.ABOUT_A_PERSON))
def test_89_reasons_about_a_person_are_closed_to_who_may_not_read_memories(action):
    act(Action(action), target="long-term/several", payload={"reason": "Rosa moved to Kiel"})

    assert "Kiel" not in text_of(a_browser_of(Role.ADMINISTRATOR, login="adam").get(reverse(URL)))
    assert "Kiel" not in text_of(auditor().get(reverse(URL)))


def test_55_what_names_no_uid_is_closed_to_who_sees_some_containers_only_and_breaks_nothing():
    act(Action.ITEM_DELETED, target="sessions/several", payload={"reason": "Rosa moved to Kiel"})
    browser = a_browser_of(Role.COMPLIANCE, containers=[make_container()])

    page = text_of(browser.get(reverse(URL)))

    assert "a reason was given, which is closed to you" in page
    assert "Kiel" not in page


@pytest.mark.parametrize(
    ("target", "shown"),
    [
        ("runs/1", "runs/1"),
        ("erasure/9240259b-9568-423d-b6b4-50248a8c22a5", "erasure/9240259b…"),
        (f"audit/activity/{'e97b8429' * 8}", "audit/activity/e97b8429…"),
        ("ledger/" + "0" * 64, "ledger/00000000…"),
        ("settings/erasure_fresh_login_minutes", "settings/erasure_fresh_login_minutes"),
    ],
)
def test_what_an_entry_is_about_fits_into_its_column(target, shown):
    assert short_target(target) == shown


def test_of_many_findings_the_page_shows_the_worst_and_says_how_many_there_are_and_what_they_mean():
    told = [f"ALTERED governance/{number} actor: the column is not what the leaf says" for number in range(1, 8)]
    Verification.objects.create(
        whole=True, actor=ACTOR, started_at=NOON, ended_at=NOON, exit_code=20, found={"20": 7, "23": 8}, first_findings=told
    )

    page = text_of(auditor().get(reverse(URL)))

    assert "governance/5 actor" in page
    assert "governance/6 actor" not in page
    assert "The worst 5 of 15." in page
    assert "is not what was written" in page
