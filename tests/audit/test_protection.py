import os
import subprocess
import sys
from datetime import UTC, datetime

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction

from memadmin.audit import log, protection, triggers_postgresql
from memadmin.audit.actions import Action
from memadmin.audit.chain import GENESIS
from memadmin.audit.models import AuditEntry, AuditHead, AuditPayload
from memadmin.jobs import tasks
from tests.audit_protection import lifted
from tests.databases import database_url

pytestmark = pytest.mark.django_db
WATCH_THE_START = """
import django; django.setup()
from memadmin.audit import protection
protection.announce = lambda connection: print("looked")
import memadmin.serving
"""
on_sqlite = pytest.mark.skipif("connection.vendor != 'sqlite'", reason="SQLite's own ways to write")
on_postgresql = pytest.mark.skipif("connection.vendor != 'postgresql'", reason="PostgreSQL's own ways to write")


def run(sql, *params):
    with connection.cursor() as cursor:
        cursor.execute(sql, params)


def refused(sql, *params):
    with pytest.raises(IntegrityError, match="audit log:"), transaction.atomic():
        run(sql, *params)
    return True


def in_a_process(*words):
    environment = {**os.environ, "DATABASE_URL": database_url(), "DJANGO_SETTINGS_MODULE": "memadmin.settings"}
    command = [sys.executable, *words]
    return subprocess.run(command, cwd=settings.BASE_DIR, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def three() -> None:
    for number in range(3):
        log.append(
            Action.MEMORY_PINNED,
            actor="person/1",
            target=f"long-term/{number}",
            at=datetime(2026, 3, 1, 12, tzinfo=UTC),
            payload={"reason": "asked for"},
        )


@pytest.fixture
def everything(three):
    def rows():
        return [list(model.objects.order_by("stream").values_list().order_by("pk")) for model in (AuditEntry, AuditPayload, AuditHead)]

    before = rows()
    yield
    assert rows() == before


def copied(verb="INSERT INTO", table="audit_entry", **columns):
    """Return an INSERT of row 3 again, as a good row 4 but for the columns given as SQL."""
    values = {field.column: field.column for field in AuditEntry._meta.concrete_fields} | {"seq": "4", "prev_hash": "row_hash"} | columns
    return f"{verb} {table} ({', '.join(values)}) SELECT {', '.join(values.values())} FROM audit_entry WHERE seq = 3"


@pytest.mark.parametrize("column", [field.column for field in AuditEntry._meta.concrete_fields])
def test_no_column_of_an_entry_can_be_updated(column, everything):
    assert refused(f"UPDATE audit_entry SET {column} = {column} WHERE seq = 2")


def test_an_entry_cannot_be_deleted(everything):
    assert refused("DELETE FROM audit_entry WHERE seq = 3")
    assert refused("DELETE FROM audit_entry")


@pytest.mark.parametrize("seq", ["0 - 7", "0", "2", "3", "5", "400"])
def test_an_entry_anywhere_but_at_the_end_is_refused(seq, everything):
    assert refused(copied(seq=seq))


def test_the_same_entry_at_the_end_is_taken(three):
    run(copied())

    assert AuditEntry.objects.count() == 4


def test_an_entry_that_does_not_name_the_last_hash_is_refused(everything):
    assert refused(copied(prev_hash="prev_hash"))


def test_an_entry_in_a_stream_that_has_not_begun_is_refused(everything):
    assert refused(copied(stream="'activity'", seq="1", prev_hash=f"'{GENESIS}'"))


def test_a_payload_can_be_deleted_but_not_changed(three):
    assert refused("UPDATE audit_payload SET body = '{}' WHERE seq = 2")

    run("DELETE FROM audit_payload WHERE seq = 2")

    assert AuditPayload.objects.count() == 2


def test_a_payload_cannot_be_put_in_later(three):
    run("DELETE FROM audit_payload WHERE seq = 2")

    assert refused("INSERT INTO audit_payload (stream, seq, salt, body) VALUES ('governance', 2, '00', '{}')")


def test_the_head_moves_only_to_the_next_entry(everything):
    assert refused("UPDATE audit_head SET seq = 2")
    assert refused("UPDATE audit_head SET seq = 4")
    assert refused("UPDATE audit_head SET row_hash = 'x'")
    assert refused("UPDATE audit_head SET stream = 'activity'")
    assert refused("DELETE FROM audit_head")


def test_a_stream_begins_at_zero_and_once(everything):
    assert refused("INSERT INTO audit_head (stream, seq, row_hash) VALUES ('activity', 7, %s)", "0" * 64)
    assert refused("INSERT INTO audit_head (stream, seq, row_hash) VALUES ('activity', 0, 'x')")


def test_a_lost_head_cannot_be_begun_anew_over_its_entries(three):
    with lifted():
        run("DELETE FROM audit_head")

    assert refused("INSERT INTO audit_head (stream, seq, row_hash) VALUES ('governance', 0, %s)", "0" * 64)


@on_sqlite
@pytest.mark.parametrize("verb", ["INSERT OR REPLACE INTO", "REPLACE INTO", "INSERT OR IGNORE INTO"])
def test_replace_overwrites_no_entry_by_its_key_nor_by_its_rowid(verb, everything):
    assert refused(copied(verb=verb, seq="2"))
    assert refused(copied(verb=verb, rowid="(SELECT rowid FROM audit_entry WHERE seq = 2)"))


@on_sqlite
def test_replace_overwrites_neither_payload_nor_head(everything):
    assert refused("INSERT OR REPLACE INTO audit_payload (stream, seq, salt, body) VALUES ('governance', 3, '00', '{}')")
    assert refused("INSERT OR REPLACE INTO audit_head (stream, seq, row_hash) VALUES ('governance', 0, %s)", "0" * 64)
    assert refused("INSERT OR REPLACE INTO audit_head (stream, seq, row_hash, rowid) VALUES ('activity', 0, %s, 1)", "0" * 64)


@on_sqlite
def test_an_upsert_changes_no_entry(everything):
    assert refused(copied(seq="2") + " AND true ON CONFLICT (stream, seq) DO UPDATE SET leaf = 'x'")


@on_postgresql
def test_an_upsert_on_postgresql_changes_no_entry(everything):
    assert refused(copied(seq="2") + " ON CONFLICT (stream, seq) DO UPDATE SET leaf = 'x'")


@on_postgresql
@pytest.mark.parametrize(
    "tables", ["audit_entry", "audit_payload", "audit_head", "audit_entry, audit_payload, audit_head", "access_person, audit_entry CASCADE"]
)
def test_nothing_can_be_truncated(tables, everything):
    assert refused(f"TRUNCATE {tables}")


@on_postgresql
def test_replica_mode_puts_no_trigger_to_sleep(everything):
    run("SET LOCAL session_replication_role = replica")

    assert refused("DELETE FROM audit_entry")
    assert refused("UPDATE audit_entry SET leaf = 'x'")
    assert refused("TRUNCATE audit_entry")
    run("SET LOCAL session_replication_role = origin")


@on_postgresql
def test_a_temporary_table_of_the_same_name_is_not_asked(everything):
    run("CREATE TEMPORARY TABLE audit_head AS SELECT stream, 1 AS seq, prev_hash AS row_hash FROM audit_entry WHERE seq = 2")

    assert refused(copied(table="public.audit_entry", seq="2", prev_hash="prev_hash"))
    run("DROP TABLE pg_temp.audit_head")


def test_after_migrating_the_protection_is_whole():
    assert protection.faults(connection) == {}


def test_installing_twice_changes_nothing():
    protection.install(connection)

    assert protection.faults(connection) == {}


def test_without_triggers_each_is_named():
    protection.remove(connection)

    faults = protection.faults(connection)

    assert set(faults.values()) == {"is missing"}
    assert len(faults) == (8 if connection.vendor == "sqlite" else 6)


@on_sqlite
def test_a_weakened_trigger_on_sqlite_is_noticed():
    run("DROP TRIGGER audit_entry_update")
    run("CREATE TRIGGER audit_entry_update BEFORE UPDATE ON audit_entry BEGIN SELECT 1; END")
    run("CREATE TRIGGER audit_quiet AFTER INSERT ON audit_payload BEGIN SELECT 1; END")

    assert protection.faults(connection) == {"audit_entry_update": "was changed", "audit_quiet": "does not belong here"}


@on_postgresql
@pytest.mark.parametrize(
    ("sql", "fault"),
    [
        ("ALTER TABLE audit_entry DISABLE TRIGGER audit_entry_rows", {"audit_entry_rows": "is not ENABLE ALWAYS"}),
        ("ALTER TABLE audit_entry ENABLE TRIGGER audit_entry_rows", {"audit_entry_rows": "is not ENABLE ALWAYS"}),
        ("DROP TRIGGER audit_entry_truncate ON audit_entry", {"audit_entry_truncate": "is missing"}),
        ("CREATE RULE quiet AS ON UPDATE TO audit_entry DO INSTEAD NOTHING", {"quiet": "does not belong here"}),
        (
            "CREATE OR REPLACE FUNCTION audit_entry_guard() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
            {"audit_entry_rows": "was changed", "audit_entry_truncate": "was changed"},
        ),
        (
            "CREATE OR REPLACE TRIGGER audit_head_rows BEFORE INSERT OR UPDATE OR DELETE ON audit_head "
            "FOR EACH ROW WHEN (false) EXECUTE FUNCTION audit_head_guard(); ALTER TABLE audit_head ENABLE ALWAYS TRIGGER audit_head_rows",
            None,
        ),
        (
            "CREATE TRIGGER quiet BEFORE INSERT ON audit_head FOR EACH ROW EXECUTE FUNCTION audit_head_guard()",
            {"quiet": "does not belong here"},
        ),
    ],
)
def test_a_weakened_trigger_on_postgresql_is_noticed(sql, fault):
    if fault is None:  # DELETE triggers cannot mention NEW, so a condition is the quietest way to switch one off
        fault = {"audit_head_rows": "was changed"}
    run(sql)

    assert protection.faults(connection) == fault


@on_postgresql
def test_every_statement_names_the_schema():
    for statement in triggers_postgresql.to_install('"other"'):
        assert '"other".audit_' in statement


def test_a_transactional_test_begins_with_an_empty_log_and_whole_protection(transactional_db):
    assert protection.faults(connection) == {}
    assert not AuditHead.objects.exists()
    with transaction.atomic():
        log.append(Action.DEMO_LOADED, actor="command/make_demo", target="demo/1", at=datetime(2026, 3, 1, 12, tzinfo=UTC))


test_the_same_again_after_its_flush = test_a_transactional_test_begins_with_an_empty_log_and_whole_protection


def test_85_a_dropped_trigger_is_told_at_start_up_and_by_the_verifier(caplog):
    run("DROP TRIGGER audit_entry_update" if connection.vendor == "sqlite" else "DROP TRIGGER audit_entry_rows ON audit_entry")

    protection.announce(connection)
    with pytest.raises(SystemExit) as ended:
        call_command("verify_audit_log")

    assert "is missing; run verify_audit_log" in caplog.text
    assert ended.value.code == 23


def test_85_whole_protection_is_not_talked_about(caplog):
    protection.announce(connection)

    assert caplog.text == ""


def test_85_the_web_process_looks_at_the_triggers_before_it_answers():
    environment = {**os.environ, "DATABASE_URL": database_url(), "DJANGO_SETTINGS_MODULE": "memadmin.settings"}
    done = subprocess.run(
        [sys.executable, "-c", WATCH_THE_START], cwd=settings.BASE_DIR, env=environment, capture_output=True, text=True, check=False
    )

    assert done.stdout.strip() == "looked", done.stderr


def test_85_the_worker_looks_at_the_triggers_when_it_starts(monkeypatch):
    looked = []
    monkeypatch.setattr(protection, "announce", looked.append)

    tasks.on_worker_start()

    assert looked == [connection]


@pytest.mark.django_db(transaction=True)
def test_90_flush_is_refused_with_the_settings_of_production():
    with transaction.atomic():
        log.append(Action.DEMO_LOADED, actor="command/make_demo", target="demo/1", at=datetime(2026, 3, 1, 12, tzinfo=UTC))
    done = in_a_process("manage.py", "flush", "--no-input")

    assert done.returncode != 0
    assert "couldn't be flushed" in done.stderr
    assert AuditEntry.objects.count() == 1
