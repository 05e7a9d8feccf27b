"""Signed checkpoints outside the database. Numbers: docs/cases.md, “Erasure and audit”."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.db import connection

from memadmin.audit import anchors, checkpoints, log, signing, verification
from memadmin.audit.actions import Action
from memadmin.audit.chain import GENESIS, canonical, row_hash
from memadmin.audit.models import AuditEntry, AuditHead, AuditPayload
from memadmin.audit.verification import Kind
from tests.audit_protection import lifted

pytestmark = pytest.mark.django_db
AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
ACTOR = "job/seal"


def act(number=1):
    for _ in range(number):
        log.append(Action.MEMORY_PINNED, actor="person/1", target="long-term/1", at=AT, payload={"reason": "asked"})


def anchor(minutes=0):
    return checkpoints.write(actor=ACTOR, now=AT + timedelta(minutes=minutes))


def verify():
    return verification.verify(connection, anchors=checkpoints.folder())


def kinds():
    return {each.kind for each in verify().findings}


def lines():
    return (checkpoints.folder() / anchors.FILE).read_text().splitlines()


def put(given):
    (checkpoints.folder() / anchors.FILE).write_text("".join(line + "\n" for line in given))


def cut_after(seq):
    """Take the end of the log away together with its head, as somebody who owns the tables could."""
    last = AuditEntry.objects.get(seq=seq)
    with lifted(), connection.cursor() as cursor:
        cursor.execute("DELETE FROM audit_entry WHERE seq > %s", [seq])
        cursor.execute("DELETE FROM audit_payload WHERE seq > %s", [seq])
        cursor.execute("UPDATE audit_head SET seq = %s, row_hash = %s", [seq, last.row_hash])


def test_a_log_that_is_anchored_to_its_last_row_is_whole_and_pinned():
    act(3)
    anchor()

    report = verify()

    assert (report.exit_code, report.tail_pinned, report.anchors.lines) == (0, True, 1)
    act()
    assert (verify().tail_pinned, verify().unanchored) == (False, 1)


def test_79_a_tail_cut_off_with_its_head_is_found():
    act(5)
    anchor()
    cut_after(2)

    report = verify()

    assert report.exit_code == Kind.CUT_OFF
    assert (report.findings[0].seq, report.findings[0].field) == (3, "seq")


def test_79_rows_that_were_cut_off_and_written_anew_are_found():
    act(5)
    anchor()
    cut_after(2)
    act(6)

    assert verify().exit_code == Kind.ALTERED


def without_the_third(leaves):
    return leaves[:2] + leaves[3:]


def with_one_more(leaves):
    return [*leaves[:2], {**leaves[2], "actor": "person/9"}, *leaves[2:]]


def with_another_instead(leaves):
    return [*leaves[:2], {**leaves[2], "actor": "person/9"}, *leaves[3:]]


@pytest.mark.parametrize(
    ("forge", "found"),
    [
        (without_the_third, {(Kind.CUT_OFF, "seq")}),
        (with_one_more, {(Kind.ALTERED, "row_hash")}),
        (with_another_instead, {(Kind.ALTERED, "row_hash")}),
    ],
)
def test_79_a_chain_computed_anew_to_the_end_is_found_by_the_checkpoint_alone(forge, found):
    act(4)
    anchor()
    write_anew(forge([json.loads(entry.leaf) for entry in AuditEntry.objects.order_by("seq")]))

    assert verification.verify(connection).exit_code == 0
    assert {(each.kind, each.field) for each in verify().findings} == found


def write_anew(leaves):
    """Let the log be these entries, without payloads, each with its number and a right hash after the one before it."""
    prev = GENESIS
    with lifted(), connection.cursor() as cursor:
        for table in ("audit_entry", "audit_payload"):
            cursor.execute(f"DELETE FROM {table}")
        for seq, each in enumerate(leaves, 1):
            leaf = {**each, "seq": seq, "prev_hash": prev, "payload_digest": ""}
            text = canonical(leaf)
            columns = {name: value for name, value in leaf.items() if name != "v"} | {"at": datetime.fromisoformat(leaf["at"])}
            prev = row_hash(text)
            AuditEntry.objects.bulk_create([AuditEntry(**columns, leaf=text, row_hash=prev)])
        cursor.execute("UPDATE audit_head SET seq = %s, row_hash = %s", [len(leaves), prev])


def test_the_whole_log_taken_away_is_found():
    act(3)
    anchor()
    with lifted(), connection.cursor() as cursor:
        for table in ("audit_entry", "audit_payload", "audit_head"):
            cursor.execute(f"DELETE FROM {table}")

    assert verify().exit_code == Kind.CUT_OFF


def test_checkpoints_that_went_missing_are_found():
    act()
    anchor()
    (checkpoints.folder() / anchors.FILE).unlink()

    assert [(each.kind, each.field) for each in verify().findings] == [(Kind.CUT_OFF, "anchors")]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda given: [given[0].replace('"seq', '"Seq'), *given[1:]],
        lambda given: given[1:],
        lambda given: [given[1], given[0], given[2]],
        lambda given: [given[0], given[2]],
        lambda given: [*given, "no checkpoint"],
        lambda given: [given[0], "{}", given[2]],
        lambda given: [given[0], '{"body": "[]", "key_id": 1, "signature": null}', given[2]],
    ],
    ids=["changed", "beginning gone", "swapped", "middle gone", "put to the end", "emptied", "of another kind"],
)
def test_70_checkpoints_that_were_changed_are_found(spoil):
    for number in range(3):
        act()
        anchor(number)
    put(spoil(lines()))

    assert Kind.ALTERED in kinds()


def test_a_line_that_was_cut_short_is_found_and_nothing_is_written_after_it():
    act()
    anchor()
    path = checkpoints.folder() / anchors.FILE
    path.write_bytes(path.read_bytes()[:-10])

    assert Kind.ALTERED in kinds()
    with pytest.raises(anchors.AnchorsUnusable, match="Line 1"):
        anchor(1)


def test_91_a_new_key_is_announced_by_the_old_one_and_old_checkpoints_stay_good():
    act()
    anchor()
    old = signing.current().key_id
    checkpoints.rotate_key(actor="person/1", now=AT)
    act()
    anchor(1)

    report = verify()

    assert (report.exit_code, report.anchors.root_key) == (0, old)
    assert report.anchors.keys == {signing.current().key_id} != {old}


def test_91_a_key_that_nobody_announced_is_found(settings, tmp_path):
    act()
    anchor()
    settings.AUDIT_KEYS = str(tmp_path / "thief")
    act()
    anchor(1)

    assert "nobody announced" in str(verify().findings)


def test_a_rotation_that_stopped_half_way_leaves_the_old_key_good(monkeypatch):
    act()
    anchor()
    monkeypatch.setattr(signing, "put_in_force", lambda signer: None)
    checkpoints.rotate_key(actor="person/1", now=AT)

    anchor(1)

    assert verify().exit_code == 0


def test_66_an_older_database_is_behind_its_anchors_until_somebody_accepts_that():
    act(5)
    anchor()
    cut_after(2)

    assert checkpoints.lost_rows() == {"governance": AuditHead.objects.get().seq + 4 - 2}
    lost = checkpoints.accept_restore(actor="person/1", now=AT)
    act()
    anchor(5)

    report = verify()
    assert (report.exit_code, report.tail_pinned, lost) == (0, True, {"governance": 4})
    assert [(each["kept"], each["lost_to"]) for each in report.anchors.restored] == [(2, 6)]
    with pytest.raises(checkpoints.NothingLost):
        checkpoints.accept_restore(actor="person/1", now=AT)


def test_63_a_clock_that_goes_back_does_not_take_the_checkpoints_along():
    act()
    anchor(60)
    act()
    anchor(0)

    assert verify().exit_code == 0
    assert anchors.read(checkpoints.folder()).at == "2026-03-01T13:00:00.000000Z"


def test_a_checkpoint_is_due_after_ten_minutes_or_a_thousand_rows(monkeypatch):
    act()
    assert checkpoints.is_due(now=AT)
    anchor()

    act()
    due = [checkpoints.is_due(now=AT + timedelta(minutes=minutes)) for minutes in (9, 10)]
    monkeypatch.setattr(checkpoints, "ANCHORED_AFTER_ROWS", 1)

    assert (due, checkpoints.is_due(now=AT)) == ([False, True], True)
    anchor(10)
    assert not checkpoints.is_due(now=AT + timedelta(days=1))


def test_a_folder_that_cannot_be_written_is_said_and_changes_nothing(settings, tmp_path):
    (tmp_path / "file").write_text("")
    settings.AUDIT_ANCHORS = str(tmp_path / "file" / "anchors")
    act()

    with pytest.raises(anchors.AnchorsUnusable, match="cannot be"):
        anchor()


def test_the_private_key_is_for_its_owner_alone():
    act()
    anchor()
    folder = Path(signing._folder())

    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


def test_82_a_payload_that_was_redacted_is_accounted_for_and_the_chain_stays_valid():
    act(3)

    gone = log.redact_payload([("governance", 2), ("governance", 9)], actor="person/1", at=AT, reason_code="erasure", request_id="r-1")

    report = verify()
    assert (gone, report.exit_code, report.redacted) == (1, 0, 1)
    entry = AuditEntry.objects.get(action=Action.AUDIT_REDACTED)
    assert (entry.target, entry.counts, entry.request_id) == ("audit/governance", {"seq.0": 2}, "r-1")


def test_82_a_payload_that_somebody_took_is_not_accounted_for_by_the_redaction_of_another():
    act(3)
    log.redact_payload([("governance", 2)], actor="person/1", at=AT, reason_code="erasure")
    AuditPayload.objects.filter(seq=3)._raw_delete("default")

    assert [(each.kind, each.seq) for each in verify().findings] == [(Kind.PAYLOAD_MISSING, 3)]


def test_82_a_redaction_that_was_written_into_the_table_by_hand_accounts_for_nothing():
    act(3)
    AuditPayload.objects.filter(seq=2)._raw_delete("default")
    with lifted(), connection.cursor() as cursor:
        cursor.execute("UPDATE audit_entry SET action = 'audit.redacted', target = 'audit/governance' WHERE seq = 3")
        cursor.execute("UPDATE audit_entry SET counts = '{\"seq.0\": 2}' WHERE seq = 3")

    assert {Kind.PAYLOAD_MISSING, Kind.ALTERED} <= kinds()


def test_83_after_a_redaction_nothing_is_left_to_try_a_guess_against():
    act()
    before = AuditPayload.objects.get(seq=1)

    log.redact_payload([("governance", 1)], actor="person/1", at=AT, reason_code="erasure")

    assert not AuditPayload.objects.filter(salt=before.salt).exists()
    assert "asked" not in AuditEntry.objects.get(seq=1).leaf


def test_many_payloads_are_redacted_in_parts():
    act(200)

    assert log.redact_payload([("governance", seq) for seq in range(1, 201)], actor="person/1", at=AT, reason_code="erasure") == 200
    assert (verify().exit_code, verify().redacted) == (0, 200)
