from datetime import UTC, datetime

import pytest
from django.db import connection, transaction

from memadmin.audit import log, verification
from memadmin.audit.actions import Action
from memadmin.audit.models import AuditEntry, AuditPayload, AuditPending, Stream

pytestmark = pytest.mark.django_db
AT = datetime(2026, 3, 1, 12, 0, 0, 7, tzinfo=UTC)


def note(number=1, **details):
    for place in range(number):
        log.note(Action.CONTAINER_COUNTED, actor="job/account", target=f"containers/{place}", at=AT, **details)


def test_acts_wait_until_they_are_sealed_in_their_order():
    note(5, counts={"working": 3})
    assert not AuditEntry.objects.in_stream(Stream.ACTIVITY).exists()

    sealed = log.seal(actor="job/seal", now=AT)

    entries = AuditEntry.objects.in_stream(Stream.ACTIVITY).order_by("seq")
    assert (sealed, AuditPending.objects.count()) == (5, 0)
    first = entries[0]
    assert (first.seq, first.target, first.at, first.counts) == (1, "containers/0", AT, {"working": 3})
    assert [entry.target for entry in entries] == [f"containers/{place}" for place in range(5)]
    assert verification.verify(connection).exit_code == 0


def test_the_governance_stream_names_the_end_of_what_was_sealed():
    note(2)
    log.seal(actor="job/seal", now=AT)

    named = AuditEntry.objects.get(action=Action.AUDIT_SEALED)
    last = AuditEntry.objects.get(stream=Stream.ACTIVITY, seq=2)
    assert (named.target, named.counts) == (f"audit/activity/{last.row_hash}", {"seq": 2})


def test_sealing_goes_on_where_it_stopped_and_with_nothing_waiting_writes_nothing():
    note(5, payload={"word": "x"})

    assert [log.seal(actor="job/seal", now=AT, at_most=3) for _ in range(3)] == [3, 2, 0]
    assert AuditPayload.objects.filter(stream=Stream.ACTIVITY).count() == 5
    assert AuditEntry.objects.filter(action=Action.AUDIT_SEALED).count() == 2


def test_an_act_that_is_rolled_back_leaves_nothing_waiting():
    with transaction.atomic():
        note()
        transaction.set_rollback(True)

    assert not AuditPending.objects.exists()


def test_what_does_not_fit_the_log_does_not_wait_for_it_either():
    with pytest.raises(log.InvalidEntry):
        log.note(Action.CONTAINER_COUNTED, actor="ann@example.org", target="containers/1", at=AT)


@pytest.mark.django_db(transaction=True)
def test_an_act_belongs_into_a_transaction():
    with pytest.raises(log.OutsideTransaction):
        note()
