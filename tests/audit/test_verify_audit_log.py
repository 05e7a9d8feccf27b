import json
from datetime import UTC, datetime

import pytest
from django.core.management import call_command
from django.db import OperationalError, connection

from memadmin.audit import checkpoints, log, verification
from memadmin.audit.actions import Action
from memadmin.audit.chain import canonical, row_hash, timestamp
from memadmin.audit.models import AuditEntry
from tests.audit.test_verification import CHANGES
from tests.audit_protection import lifted

pytestmark = pytest.mark.django_db


def run(sql):
    with connection.cursor() as cursor:
        cursor.execute(sql)


def verify(capsys, *arguments):
    """Return exit code and what was printed."""
    try:
        call_command("verify_audit_log", *arguments)
        code = 0
    except SystemExit as end:
        code = end.code
    printed = capsys.readouterr()
    return code, printed.out + printed.err


@pytest.fixture(autouse=True)
def three() -> None:
    for number in range(3):
        log.append(
            Action.RUN_FINISHED,
            actor="job/retention",
            target=f"runs/{number}",
            at=datetime(2026, 3, 1, 12, tzinfo=UTC),
            counts={"evicted": number},
            payload={"note": "canary-5f2e"},
        )


def test_a_whole_log_exits_0_and_says_what_was_read(capsys):
    code, text = verify(capsys)

    assert code == 0
    assert f"governance: 3 rows, 1 to 3, last hash {log.latest('governance', 1)[0].row_hash}" in text
    assert "The log is whole." in text
    assert "Protection: in place." in text
    assert "Tail: not pinned." in text


def test_an_empty_log_is_whole_and_says_that_it_is_empty(capsys):
    with lifted():
        for table in ("audit_entry", "audit_payload", "audit_head"):
            run(f"DELETE FROM {table}")

    code, text = verify(capsys)

    assert code == 0
    assert "governance: 0 rows" in text


@pytest.mark.parametrize(
    ("code", "statements", "line"),
    [
        (
            20,
            ["UPDATE audit_entry SET actor = 'person/9' WHERE seq = 2"],
            "ALTERED governance/2 actor: the column is not what the leaf says",
        ),
        (
            21,
            ["DELETE FROM audit_payload WHERE seq > 1", "DELETE FROM audit_entry WHERE seq > 1"],
            "CUT OFF governance/2 seq: rows 2 to 3 are missing",
        ),
        (22, ["DELETE FROM audit_payload WHERE seq = 2"], "PAYLOAD MISSING governance/2 payload: it is gone"),
    ],
)
def test_78_82_each_kind_of_harm_has_its_code_and_says_where(code, statements, line, capsys):
    with lifted():
        for sql in statements:
            run(sql)

    exit_code, text = verify(capsys)

    assert exit_code == code
    assert line in text
    assert "NOT WHOLE" in text


@pytest.mark.parametrize("anchored", [False, True])
def test_82_a_payload_that_was_redacted_is_called_so_and_the_log_is_whole(capsys, anchored):
    log.redact_payload([("governance", 2)], actor="person/1", at=datetime(2026, 3, 2, tzinfo=UTC), reason_code="erasure")
    if anchored:
        checkpoints.write(actor="job/seal", now=datetime(2026, 3, 2, tzinfo=UTC))

    code, text = verify(capsys)

    assert code == 0
    assert "Redacted: 1 payload, accounted for by entries of the log." in text
    assert "PAYLOAD MISSING" not in text


def test_85_a_missing_trigger_exits_23_and_is_named(capsys):
    name = "audit_entry_delete" if connection.vendor == "sqlite" else "audit_entry_rows"
    run(f"DROP TRIGGER {name}" if connection.vendor == "sqlite" else f"DROP TRIGGER {name} ON audit_entry")

    code, text = verify(capsys)

    assert code == 23
    assert f"PROTECTION MISSING {name}: is missing" in text
    assert "Protection: some triggers are missing or changed." in text


def test_a_database_that_cannot_be_read_exits_10(capsys, monkeypatch):
    def broken(*_, **__):
        raise OperationalError("no answer")

    monkeypatch.setattr(verification, "verify", broken)

    assert verify(capsys) == (10, "Could not run. The database could not be read: OperationalError: no answer\n")
    code, text = verify(capsys, "--json")
    assert (code, json.loads(text)["exit_code"]) == (10, 10)


def test_a_database_without_a_log_exits_10_and_says_what_to_do(capsys):
    for table in ("audit_payload", "audit_entry", "audit_head"):
        run(f"DROP TABLE {table}")
    run("DELETE FROM django_migrations WHERE app = 'audit'")

    code, text = verify(capsys)

    assert code == 10
    assert "manage.py migrate" in text


def test_json_is_one_object_with_everything(capsys):
    with lifted():
        run("UPDATE audit_entry SET actor = 'person/9' WHERE seq = 2")

    code, text = verify(capsys, "--json")

    said = json.loads(text)
    assert code == said["exit_code"] == 20
    assert (said["result"], said["tail_pinned"], said["found"]) == ("altered", False, {"altered": 1})
    assert said["streams"][0] | {"last_hash": ""} == {"stream": "governance", "rows": 3, "first_seq": 1, "last_seq": 3, "last_hash": ""}
    assert said["findings"] == [
        {"kind": "altered", "stream": "governance", "seq": 2, "field": "actor", "message": "the column is not what the leaf says"}
    ]


def test_63_a_clock_that_was_set_back_is_told_and_is_no_fault(capsys):
    log.append(Action.MEMORY_PINNED, actor="person/1", target="long-term/1", at=datetime(2026, 3, 1, 11, tzinfo=UTC))

    code, text = verify(capsys)
    _, said = verify(capsys, "--json")

    assert code == 0
    assert "Clock: the clock went back by 1:00:00 before governance/4." in text
    assert json.loads(said)["clock_went_back"] == [{"stream": "governance", "seq": 4, "seconds": 3600}]


def test_payloads_are_never_printed(capsys):
    with lifted():
        run("""UPDATE audit_payload SET body = '{"note":"canary-5f2e!"}'""")

    for arguments in ([], ["--json"]):
        assert "canary" not in verify(capsys, *arguments)[1]


@pytest.mark.parametrize(
    ("statements", "named"),
    [
        (["UPDATE audit_entry SET counts = '{}' WHERE seq = 3"], "ALTERED governance/3 counts"),
        (
            ["DELETE FROM audit_payload WHERE seq = 2", "DELETE FROM audit_entry WHERE seq = 2"],
            "ALTERED governance/2 seq: row 2 is missing",
        ),
        ([f"UPDATE audit_entry SET seq = {new} WHERE seq = {old}" for old, new in ((1, 9), (2, 1), (9, 2))], "ALTERED governance/1 seq"),
    ],
    ids=["changed", "deleted", "in each other's place"],
)
def test_f89_the_command_names_the_row_that_somebody_changed_deleted_or_moved_in_the_database(capsys, statements, named):
    with lifted():
        for statement in statements:
            run(statement)

    code, text = verify(capsys)

    assert code == 20
    assert named in text


@pytest.mark.parametrize("column", CHANGES)
def test_f89_the_command_names_each_column_that_can_be_changed(capsys, column):
    with lifted():
        run(f"UPDATE audit_entry SET {CHANGES[column]} WHERE seq = 3")

    code, text = verify(capsys)

    assert (code, f"ALTERED governance/3 {column}" in text) == (20, True)


def test_f89_two_rows_that_have_all_of_each_other_but_their_numbers_are_named(capsys):
    with lifted(), connection.cursor() as cursor:
        swap(cursor, 1, 2, [column.column for column in AuditEntry._meta.concrete_fields if column.column not in ("stream", "seq")])

    code, text = verify(capsys)

    assert code == 20
    assert "ALTERED governance/1 seq" in text
    assert "ALTERED governance/2 seq" in text


def test_f89_two_acts_in_each_others_place_with_hashes_computed_anew_do_not_hold_together(capsys):
    """Whoever knows the format can make each row right by itself; the row behind them says what stood there."""
    with lifted(), connection.cursor() as cursor:
        swap(cursor, 1, 2, ["actor", "target", "counts", "at", "payload_digest"])
        for seq in (1, 2):
            entry = AuditEntry.objects.get(seq=seq)
            said = {name: getattr(entry, name) for name in ("actor", "target", "counts", "payload_digest")}
            leaf = canonical({**json.loads(entry.leaf), **said, "at": timestamp(entry.at)})
            cursor.execute("UPDATE audit_entry SET leaf = %s, row_hash = %s WHERE seq = %s", [leaf, row_hash(leaf), seq])

    code, text = verify(capsys)

    assert code == 20
    assert "ALTERED governance/2 prev_hash" in text
    assert "ALTERED governance/3 prev_hash" in text


def swap(cursor, first, second, columns):
    """Let each of two rows have what the other one has, in these columns."""
    names = ", ".join(columns)
    cursor.execute(f"CREATE TEMPORARY TABLE kept AS SELECT seq AS place, {names} FROM audit_entry WHERE seq IN ({first}, {second})")
    for seq, other in ((first, second), (second, first)):
        given = ", ".join(f"{name} = (SELECT {name} FROM kept WHERE place = {other})" for name in columns)
        cursor.execute(f"UPDATE audit_entry SET {given} WHERE seq = {seq}")
    cursor.execute("DROP TABLE kept")
