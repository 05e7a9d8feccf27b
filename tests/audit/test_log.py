import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from django.db import connection, transaction

from memadmin.audit import log, verification
from memadmin.audit.actions import Action
from memadmin.audit.chain import GENESIS, payload_digest, row_hash
from memadmin.audit.models import AuditEntry, AuditHead, AuditPayload
from memadmin.audit.querysets import AppendOnly

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
PERSON = "person/6c1a1c1e-0000-4000-8000-000000000001"
MEMORY = "long-term/6c1a1c1e-0000-4000-8000-000000000002"

pytestmark = pytest.mark.django_db


def pin(**changes):
    return log.append(Action.MEMORY_PINNED, **{"actor": PERSON, "target": MEMORY, "at": AT, **changes})


def test_the_first_entry_follows_genesis_and_the_second_follows_the_first():
    first, second = pin(), pin()

    assert (first.seq, first.prev_hash) == (1, GENESIS)
    assert (second.seq, second.prev_hash) == (2, first.row_hash)


def test_the_head_is_the_last_entry():
    pin()
    last = pin()

    head = AuditHead.objects.get()

    assert (head.stream, head.seq, head.row_hash) == ("governance", last.seq, last.row_hash)


def test_an_entry_reads_back_as_it_was_written():
    at = datetime(2026, 3, 1, 12, 30, 15, 123456, tzinfo=UTC)
    written = pin(
        at=at, counts={"long_term": 41, "sessions": 2**63 - 1, "less": -1}, reason_code="max_count", outcome="refused", request_id="r-1"
    )

    read = AuditEntry.objects.get(stream="governance", seq=written.seq)

    for field in AuditEntry._meta.concrete_fields:
        assert getattr(read, field.attname) == getattr(written, field.attname), field.attname
    assert read.at == at


def test_the_payload_is_committed_to_but_not_in_the_leaf():
    entry = pin(payload={"reason": "canary-5f2e wrote this"})

    payload = AuditPayload.objects.get()

    assert "canary-5f2e" not in entry.leaf
    assert entry.payload_digest == payload_digest(payload.salt, payload.body)
    assert payload.body == '{"reason":"canary-5f2e wrote this"}'


def test_the_same_payload_twice_has_two_digests():
    assert pin(payload={"reason": "same"}).payload_digest != pin(payload={"reason": "same"}).payload_digest


def test_without_a_payload_there_is_no_digest_and_no_row():
    assert pin().payload_digest == ""
    assert not AuditPayload.objects.exists()


@pytest.mark.parametrize("text", ["a\x00b", "\ud800", "\u202eright to left", "😀", "é" * 100_000, "\\u0000", "</script>{{ x }}"])
def test_any_text_fits_into_a_payload(text):
    entry = pin(payload={"reason": text})

    payload = AuditPayload.objects.get()

    assert entry.payload_digest == payload_digest(payload.salt, payload.body)


@pytest.mark.parametrize(
    "change",
    [
        {"actor": "alice"},
        {"actor": "person/"},
        {"actor": "person/alice@example.org"},
        {"actor": "person/Alice Smith"},
        {"actor": "admin/1"},
        {"actor": f"{PERSON}\n"},
        {"actor": None},
        {"target": "long-term/a b"},
        {"target": "no kind"},
        {"target": "users/alice@example.org"},
        {"target": "users/ålice"},
        {"target": ""},
        {"reason_code": "Because I said so"},
        {"reason_code": "Alice"},
        {"request_id": "a b"},
        {"outcome": "maybe"},
        {"counts": {"rows": 1.5}},
        {"counts": {"rows": True}},
        {"counts": {"rows": "41"}},
        {"counts": {"rows": 2**63}},
        {"counts": {"Alice Smith": 1}},
        {"counts": {1: 1}},
        {"counts": {f"n{number}": 1 for number in range(101)}},
        {"payload": {"at": AT}},
        {"payload": {"share": float("nan")}},
        {"at": datetime(2026, 3, 1)},  # noqa: DTZ001
        {"at": "2026-03-01"},
    ],
)
def test_what_could_be_personal_or_is_malformed_is_refused(change):
    with pytest.raises(log.InvalidEntry):
        pin(**change)

    assert not AuditEntry.objects.exists()


def test_a_refusal_does_not_repeat_the_value():
    with pytest.raises(log.InvalidEntry) as refusal:
        pin(actor="canary-5f2e @")

    assert "canary" not in str(refusal.value)


def test_an_unknown_action_is_refused():
    with pytest.raises(log.InvalidEntry):
        log.append("memory.eaten", actor=PERSON, target=MEMORY, at=AT)


def test_every_action_reads_noun_verb_and_says_what_it_means():
    for action in Action:
        noun, verb = action.value.split(".")
        assert noun.isidentifier()
        assert verb.isidentifier()
        assert action.name == f"{noun}_{verb}".upper()
        assert action.label
        assert action.label[0].isupper()


@pytest.mark.django_db(transaction=True)
def test_an_append_outside_a_transaction_is_refused():
    with pytest.raises(log.OutsideTransaction):
        pin()


@pytest.mark.django_db(transaction=True)
def test_81_a_rollback_leaves_no_gap():
    with transaction.atomic():
        pin()
    with transaction.atomic():
        pin()
        transaction.set_rollback(True)

    with transaction.atomic():
        after = pin()

    assert after.seq == 2


@pytest.mark.parametrize("row", [AuditEntry, AuditPayload])
def test_the_models_refuse_every_change(row):
    pin(payload={"reason": "kept"})
    one = row.objects.get()

    for change in (
        one.save,
        one.delete,
        row.objects.all().delete,
        lambda: row.objects.update(seq=7),
        lambda: row.objects.bulk_update([one], ["seq"]),
    ):
        with pytest.raises(AppendOnly):
            change()


def test_latest_gives_the_newest_first():
    for _ in range(5):
        pin()

    assert [entry.seq for entry in log.latest("governance", 3)] == [5, 4, 3]


def test_a_page_can_be_narrowed_by_actor_action_target_and_time():
    job = "job/retention"
    pin(), pin(actor=job), pin(target="sessions/1"), pin(at=AT.replace(hour=13))
    entries = AuditEntry.objects.in_stream("governance").newest_first()

    def seqs(found):
        return [entry.seq for entry in found]

    assert seqs(entries.by_actor(job)) == [2]
    assert seqs(entries.on_target("sessions/1")) == [3]
    assert seqs(entries.not_before(AT.replace(hour=13))) == [4]
    assert seqs(entries.earlier_than(AT.replace(hour=13)).below(3)) == [2, 1]
    assert seqs(entries.of_actions([Action.MEMORY_PINNED])) == [4, 3, 2, 1]


def test_the_newest_ten_come_from_the_key_without_sorting():
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_sort = off")  # of a handful of rows sorting would be cheaper, whatever the indexes

    plan = AuditEntry.objects.in_stream("governance").newest_first()[:10].explain()

    assert "Sort" not in plan
    assert "TEMP B-TREE" not in plan
    assert connection.vendor != "sqlite" or "USING INDEX" in plan


AWKWARD = {
    "microseconds": datetime(2026, 3, 1, 12, 0, 0, 1, tzinfo=UTC),
    "another zone": datetime(2026, 3, 1, 12, 0, 0, 999999, tzinfo=timezone(timedelta(hours=5, minutes=45))),
    "the first day": datetime(1, 1, 2, tzinfo=UTC),
    "the last day": datetime(9999, 12, 30, 23, 59, 59, 999999, tzinfo=UTC),
}


@pytest.mark.parametrize("at", AWKWARD.values(), ids=AWKWARD)
def test_87_what_was_hashed_is_what_is_read_back_on_either_database(at):
    nested = {"ünï": ["\u202e", {"deep": [1, -0.5, 10**30, True, None, {"": "😀 \x00 \ud800"}]}], "a": {"z": 1, "b": 2}}
    entry = pin(at=at, counts={"z": 2**63 - 1, "a": -(2**63) + 1}, payload=nested)

    read, payload = AuditEntry.objects.get(stream="governance", seq=entry.seq), AuditPayload.objects.get(seq=entry.seq)

    assert (read.at, read.counts) == (at, {"a": -(2**63) + 1, "z": 2**63 - 1})
    assert datetime.fromisoformat(json.loads(read.leaf)["at"]) == at
    assert row_hash(read.leaf) == read.row_hash == entry.row_hash
    assert payload_digest(payload.salt, payload.body) == read.payload_digest
    assert json.loads(payload.body) == nested
    assert verification.verify(connection).findings == []
