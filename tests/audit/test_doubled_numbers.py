"""One number twice in the log: the reader goes through it page by page, and must not pass over the second row where a page ends."""

import json
from datetime import UTC, datetime

import pytest
from django.db import connection

from memadmin.audit import log, raw, verification
from memadmin.audit.actions import Action
from memadmin.audit.chain import canonical, row_hash
from memadmin.audit.findings import Kind
from memadmin.audit.models import AuditEntry
from tests.audit_protection import lifted

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def five() -> None:
    for number in range(5):
        at = datetime(2026, 3, 1, 12, number, tzinfo=UTC)
        log.append(Action.MEMORY_PINNED, actor="person/1", target=f"long-term/{number}", at=at, payload={"reason": "asked"})


@pytest.mark.parametrize("page", [1, 2, 3, 500])
@pytest.mark.parametrize("actor", ["person/1", "person/9"], ids=["the same row", "a forged one with a right hash"])
def test_81_a_number_that_stands_twice_is_found_wherever_a_page_ends(monkeypatch, page, actor):
    monkeypatch.setattr(raw, "PAGE", page)
    twice(2, actor)

    report = verification.verify(connection)

    assert report.exit_code == 20
    assert (Kind.ALTERED, 2, "seq") in {(each.kind, each.seq, each.field) for each in report.findings}


def twice(seq, actor):
    """Put a second row of this number into the table, as somebody who owns it could who takes the key off."""
    with lifted(), connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("CREATE TABLE keyless AS SELECT * FROM audit_entry")
            cursor.execute("DROP TABLE audit_entry")
            cursor.execute("ALTER TABLE keyless RENAME TO audit_entry")
        else:
            cursor.execute("ALTER TABLE audit_entry DROP CONSTRAINT audit_entry_pkey")
        leaf = canonical({**json.loads(AuditEntry.objects.get(seq=seq).leaf), "actor": actor})
        same = "stream, seq, at, action, outcome, target, request_id, reason_code, counts, payload_digest, prev_hash"
        added = f"SELECT {same}, %s, %s, %s FROM audit_entry WHERE seq = %s"
        cursor.execute(f"INSERT INTO audit_entry ({same}, actor, leaf, row_hash) {added}", [actor, leaf, row_hash(leaf), seq])
