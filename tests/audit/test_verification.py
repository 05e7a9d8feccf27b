"""What a thief with the database's password could do, and what the verifier says of it. Numbers: docs/cases.md, “Erasure and audit”."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection

from memadmin.audit import findings, log, raw, verification
from memadmin.audit.actions import Action
from memadmin.audit.chain import GENESIS, canonical, row_hash
from memadmin.audit.models import AuditEntry
from memadmin.audit.verification import Kind
from tests.audit_protection import lifted

AT = datetime(2026, 3, 1, 12, 0, 0, 1, tzinfo=UTC)
OTHER = "f" * 64

pytestmark = pytest.mark.django_db


def run(sql, *params):
    with connection.cursor() as cursor:
        cursor.execute(sql, params)


def tamper(*statements):
    with lifted():
        for sql in statements:
            run(sql)


def verify():
    return verification.verify(connection)


def found():
    """Return the findings as (kind, seq, field)."""
    return {(each.kind, each.seq, each.field) for each in verify().findings}


@pytest.fixture(autouse=True)
def five() -> None:
    for number in range(5):
        log.append(
            Action.MEMORY_PINNED,
            actor=f"person/{number}",
            target=f"long-term/{number}",
            at=AT + timedelta(minutes=number),
            counts={"tokens": number, "also": 1},
            reason_code="asked",
            request_id="r-1",
            payload={"reason": "asked for, \x00 and é"} if number != 3 else None,
        )


def test_an_untouched_log_is_whole():
    report = verify()

    assert (report.exit_code, report.findings) == (0, [])
    (part,) = report.streams
    assert (part.stream, part.rows, part.first_seq, part.last_seq) == ("governance", 5, 1, 5)
    assert part.last_hash == AuditEntry.objects.get(seq=5).row_hash
    assert not report.tail_pinned


def test_pages_of_two_give_the_same_answer(monkeypatch):
    monkeypatch.setattr(raw, "PAGE", 2)
    seen = []

    report = verification.verify(connection, on_progress=seen.append)

    assert report.exit_code == 0
    assert seen == [2, 2, 1]


def test_a_full_last_page_gives_the_same_answer(monkeypatch):
    monkeypatch.setattr(raw, "PAGE", 5)

    assert verify().exit_code == 0


CHANGES = {
    "leaf": "leaf = replace(leaf, 'ok', 'OK')",
    "at": "at = '2026-03-01 12:01:00.000002+00:00'",
    "actor": "actor = 'person/9'",
    "action": "action = 'memory.unpinned'",
    "outcome": "outcome = 'failed'",
    "target": "target = ''",
    "request_id": "request_id = 'r-2'",
    "reason_code": "reason_code = 'other'",
    "counts": """counts = '{"tokens": 1, "also": 2}'""",
    "payload_digest": f"payload_digest = '{OTHER}'",
    "prev_hash": f"prev_hash = '{OTHER}'",
    "row_hash": f"row_hash = '{OTHER}'",
}


def test_the_changes_below_cover_every_column():
    assert CHANGES.keys() | {"stream", "seq"} == {field.column for field in AuditEntry._meta.concrete_fields}


@pytest.mark.parametrize("row", [1, 2, 5])
@pytest.mark.parametrize("column", CHANGES)
def test_78_a_changed_column_is_found_and_named(column, row):
    tamper(f"UPDATE audit_entry SET {CHANGES[column]} WHERE seq = {row}")

    assert verify().exit_code == 20
    assert found() == {(Kind.ALTERED, row, column)}


def test_81_a_changed_seq_is_found_and_named():
    tamper("UPDATE audit_entry SET seq = 400 WHERE seq = 2")

    assert {(Kind.ALTERED, 400, "seq"), (Kind.ALTERED, 2, "seq")} <= found()
    assert verify().exit_code == 20


def test_a_changed_stream_is_found_and_named():
    tamper("UPDATE audit_entry SET stream = 'activity' WHERE seq = 2")

    findings = {(each.stream, each.seq, each.field) for each in verify().findings}

    assert {("activity", 2, "stream"), ("governance", 2, "seq"), ("activity", None, "head")} <= findings
    assert verify().exit_code == 20


def test_78_a_leaf_that_is_no_leaf_is_found():
    for text in ("", "{", "[]", "7", '{"v":1}', "é\u202e", "[" * 100_000):
        tamper(f"UPDATE audit_entry SET leaf = '{text}' WHERE seq = 2")

        assert found() == {(Kind.ALTERED, 2, "leaf")}


def test_78_leaf_and_columns_changed_together_are_found():
    tamper("UPDATE audit_entry SET actor = 'person/9', leaf = replace(leaf, 'person/1', 'person/9') WHERE seq = 2")

    assert found() == {(Kind.ALTERED, 2, "row_hash")}


def rewrite(seq):
    """Change the actor of one row and compute its hash anew, as somebody who knows the format would."""
    entry = AuditEntry.objects.get(seq=seq)
    leaf = canonical({**json.loads(entry.leaf), "actor": "person/9"})
    with lifted():
        run("UPDATE audit_entry SET actor = 'person/9', leaf = %s, row_hash = %s WHERE seq = %s", leaf, row_hash(leaf), seq)


def test_78_a_row_rewritten_with_a_right_hash_breaks_the_link_to_the_next():
    rewrite(2)

    assert found() == {(Kind.ALTERED, 3, "prev_hash")}


def test_a_last_row_rewritten_with_a_right_hash_is_not_what_the_head_names():
    rewrite(5)

    assert found() == {(Kind.ALTERED, None, "head")}


def test_79_a_row_missing_in_the_middle_is_found():
    tamper("DELETE FROM audit_entry WHERE seq IN (2, 3)", "DELETE FROM audit_payload WHERE seq IN (2, 3)")

    assert found() == {(Kind.ALTERED, 2, "seq")}
    assert verify().findings[0].message == "rows 2 to 3 are missing"


def test_rows_missing_at_the_beginning_are_found():
    tamper("DELETE FROM audit_entry WHERE seq = 1", "DELETE FROM audit_payload WHERE seq = 1")

    assert found() == {(Kind.ALTERED, 1, "seq")}


def test_a_payload_left_without_its_entry_is_found():
    tamper("DELETE FROM audit_entry WHERE seq = 2")

    assert found() == {(Kind.ALTERED, 2, "seq"), (Kind.ALTERED, 2, "payload")}


@pytest.mark.parametrize("payloads_too", [True, False])
def test_a_cut_tail_is_told_from_an_altered_log(payloads_too):
    tamper("DELETE FROM audit_entry WHERE seq >= 4", *["DELETE FROM audit_payload WHERE seq >= 4"] * payloads_too)

    assert verify().exit_code == 21
    assert (Kind.CUT_OFF, 4, "seq") in found()


def test_everything_cut_off_is_told_from_an_empty_log():
    tamper("DELETE FROM audit_entry", "DELETE FROM audit_payload")

    assert verify().exit_code == 21


def test_a_tail_cut_off_with_its_head_does_not_show_and_the_report_says_that_it_would_not():
    third = AuditEntry.objects.get(seq=3)
    tamper(
        "DELETE FROM audit_entry WHERE seq > 3",
        "DELETE FROM audit_payload WHERE seq > 3",
        f"UPDATE audit_head SET seq = 3, row_hash = '{third.row_hash}'",
    )

    report = verify()

    assert (report.exit_code, report.tail_pinned) == (0, False)


def test_after_a_cut_the_log_goes_on_and_the_gap_stays():
    tamper("DELETE FROM audit_entry WHERE seq = 5", "DELETE FROM audit_payload WHERE seq = 5")

    log.append(Action.MEMORY_UNPINNED, actor="person/1", target="long-term/1", at=AT)

    assert found() == {(Kind.ALTERED, 5, "seq")}


def test_81_two_rows_in_each_others_place_are_found():
    tamper(*(f"UPDATE audit_entry SET seq = {new} WHERE seq = {old}" for old, new in ((2, 99), (3, 2), (99, 3))))

    assert {(Kind.ALTERED, 2, "seq"), (Kind.ALTERED, 3, "seq")} <= found()
    assert verify().exit_code == 20


def test_a_row_behind_the_head_is_found():
    tamper(f"UPDATE audit_head SET seq = 4, row_hash = '{AuditEntry.objects.get(seq=4).row_hash}'")

    assert found() == {(Kind.ALTERED, None, "head")}


@pytest.mark.parametrize("sql", ["UPDATE audit_head SET row_hash = 'x'", "DELETE FROM audit_head"])
def test_a_spoilt_head_is_found(sql):
    tamper(sql)

    assert found() == {(Kind.ALTERED, None, "head")}


@pytest.mark.parametrize("change", ["body = '{}'", "salt = 'no hex'", "salt = ''", f"salt = '{OTHER}'", "body = ''"])
def test_78_a_changed_payload_is_found(change):
    tamper(f"UPDATE audit_payload SET {change} WHERE seq = 2")

    assert found() == {(Kind.ALTERED, 2, "payload")}


def test_payloads_that_changed_places_are_found():
    tamper(*(f"UPDATE audit_payload SET seq = {new} WHERE seq = {old}" for old, new in ((1, 99), (2, 1), (99, 2))))

    assert found() == {(Kind.ALTERED, 1, "payload"), (Kind.ALTERED, 2, "payload")}


def test_82_a_missing_payload_is_a_finding_of_its_own():
    run("DELETE FROM audit_payload WHERE seq = 2")

    assert verify().exit_code == 22
    assert found() == {(Kind.PAYLOAD_MISSING, 2, "payload")}


def test_a_payload_that_was_never_committed_to_is_found():
    tamper("INSERT INTO audit_payload (stream, seq, salt, body) VALUES ('governance', 4, '00', '{}')")

    assert found() == {(Kind.ALTERED, 4, "payload")}


def test_hiding_that_a_payload_was_deleted_is_found():
    tamper("DELETE FROM audit_payload WHERE seq = 2", "UPDATE audit_entry SET payload_digest = '' WHERE seq = 2")

    assert found() == {(Kind.ALTERED, 2, "payload_digest"), (Kind.PAYLOAD_MISSING, 2, "payload")}


def test_missing_protection_is_found_and_the_rest_is_still_verified():
    with lifted():
        pass  # the reason to be here: what the helper puts back is whole
    assert verify().exit_code == 0
    run("DROP TRIGGER audit_head_delete" if connection.vendor == "sqlite" else "DROP TRIGGER audit_head_rows ON audit_head")

    report = verify()

    assert report.exit_code == 23
    assert [each.kind for each in report.findings] == [Kind.PROTECTION_MISSING]
    assert report.streams[0].rows == 5


def test_the_worst_finding_gives_the_exit_code():
    tamper(
        "DELETE FROM audit_payload WHERE seq = 1",
        "DELETE FROM audit_entry WHERE seq = 5",
        "UPDATE audit_entry SET actor = 'x' WHERE seq = 2",
    )

    report = verify()

    assert set(report.found) == {20, 21, 22}
    assert report.exit_code == 20


def test_findings_are_counted_beyond_those_that_are_kept(monkeypatch):
    monkeypatch.setattr(findings, "MOST_FINDINGS", 2)
    tamper("UPDATE audit_entry SET actor = 'x'")

    report = verify()

    assert (len(report.findings), report.found[Kind.ALTERED]) == (2, 5)


def test_no_finding_repeats_what_the_log_holds():
    tamper("UPDATE audit_entry SET actor = 'canary-5f2e'", """UPDATE audit_payload SET body = '{"x":"canary-5f2e"}'""")

    assert "canary" not in str(verify())


def test_a_table_that_is_gone_was_cut_off():
    run("DROP TABLE audit_payload")

    report = verify()

    assert report.exit_code == 21
    assert [each.field for each in report.findings] == ["audit_payload"]


def test_a_database_without_the_log_is_not_a_whole_one():
    for table in ("audit_payload", "audit_entry", "audit_head"):
        run(f"DROP TABLE {table}")
    run("DELETE FROM django_migrations WHERE app = 'audit'")

    with pytest.raises(verification.NotInstalled):
        verify()


@pytest.mark.skipif("connection.vendor != 'sqlite'", reason="PostgreSQL refuses values of another type")
@pytest.mark.parametrize(
    ("change", "field"),
    [
        ("seq = 'two'", "seq"),
        ("seq = 2.5", "seq"),
        ("leaf = X'FF00'", "leaf"),
        ("actor = X'FF'", "actor"),
        ("at = 'yesterday'", "at"),
        ("at = 7", "at"),
        ("at = '2026-13-01 00:00:00'", "at"),
        ("row_hash = 7", "row_hash"),
    ],
)
def test_values_that_the_column_cannot_mean_are_findings_not_faults(change, field):
    tamper(f"UPDATE audit_entry SET {change} WHERE seq = 2")

    assert field in {each.field for each in verify().findings}
    assert verify().exit_code == 20


@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="times that only PostgreSQL has")
@pytest.mark.parametrize("at", ["infinity", "-infinity", "4713-01-01 BC", "294276-01-01"])
def test_times_beyond_the_calendar_are_findings_not_faults(at):
    tamper(f"UPDATE audit_entry SET at = '{at}' WHERE seq = 2")

    assert found() == {(Kind.ALTERED, 2, "at")}


@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="a setting of PostgreSQL")
def test_the_date_style_of_the_server_does_not_matter():
    run("SET LOCAL datestyle = 'German'")
    run("SET LOCAL timezone = 'Asia/Kathmandu'")

    assert verify().exit_code == 0


def test_79_a_forged_row_at_the_end_is_found_when_the_head_was_forgotten():
    last = AuditEntry.objects.get(seq=5)
    leaf = canonical({**json.loads(last.leaf), "seq": 6, "prev_hash": last.row_hash, "payload_digest": ""})
    with lifted():
        columns = "stream, at, actor, action, outcome, target, request_id, reason_code, counts"
        run(
            f"INSERT INTO audit_entry ({columns}, seq, leaf, payload_digest, prev_hash, row_hash) "
            f"SELECT {columns}, 6, %s, '', row_hash, %s FROM audit_entry WHERE seq = 5",
            leaf,
            row_hash(leaf),
        )

    assert found() == {(Kind.ALTERED, None, "head")}


def test_the_first_row_must_follow_genesis():
    leaf = json.loads(AuditEntry.objects.get(seq=1).leaf)

    assert leaf["prev_hash"] == GENESIS
    changed = canonical({**leaf, "prev_hash": OTHER})
    with lifted():
        run("UPDATE audit_entry SET prev_hash = %s, leaf = %s, row_hash = %s WHERE seq = 1", OTHER, changed, row_hash(changed))

    assert found() == {(Kind.ALTERED, 1, "prev_hash"), (Kind.ALTERED, 2, "prev_hash")}
