from datetime import timedelta

import pytest

from memadmin.audit.actions import Action
from memadmin.audit.models import AuditEntry
from memadmin.erasure import backups
from memadmin.erasure.backups import AlreadyDestroyed, BackupSpec, BadBackup, Basis
from memadmin.erasure.models import BackupKind, BackupRecord
from memadmin.store import configuration
from tests.factories import ACTOR, NOON, days

pytestmark = pytest.mark.django_db


def a_backup(*, began=NOON, lasts=30, label="s3://backups/nightly", kind=BackupKind.PG_DUMP, now=NOON):
    spec = BackupSpec(kind=kind, label=label, started_at=began, expires_at=began + days(lasts))
    return backups.record(spec, actor=ACTOR, now=now)


def test_without_inventory_and_setting_the_horizon_is_unknown():
    a_backup()

    horizon = backups.horizon_of(NOON)

    assert (horizon.basis, horizon.until) == (Basis.UNKNOWN, None)


def test_the_setting_counts_where_there_is_no_inventory():
    configuration.change("erasure_backup_days", 14, actor=ACTOR, now=NOON)

    assert backups.horizon_of(NOON).until == NOON + days(14)


def test_a_known_backup_that_lasts_longer_than_the_setting_says_counts():
    configuration.change("erasure_backup_days", 14, actor=ACTOR, now=NOON)
    a_backup(lasts=90)

    assert backups.horizon_of(NOON).until == NOON + days(90)


def test_the_horizon_is_the_last_day_of_the_backups_begun_before():
    a_backup(began=NOON - days(3), lasts=30)
    a_backup(began=NOON - days(1), lasts=60, kind=BackupKind.WAL)
    a_backup(began=NOON + timedelta(seconds=1), lasts=300, now=NOON + days(1))
    backups.check_inventory(actor=ACTOR, now=NOON)

    horizon = backups.horizon_of(NOON)

    assert (horizon.basis, horizon.until) == (Basis.INVENTORY, NOON + days(59))
    assert horizon.kinds == {"pg_dump": 1, "wal": 1}


def test_an_empty_inventory_that_somebody_has_checked_means_no_backups():
    backups.check_inventory(actor=ACTOR, now=NOON)

    horizon = backups.horizon_of(NOON)

    assert (horizon.until, horizon.standing, horizon.checked_since) == (NOON, [], True)


def test_a_backup_that_was_destroyed_early_ends_the_horizon_early():
    row = a_backup(lasts=300)
    backups.check_inventory(actor=ACTOR, now=NOON)

    backups.confirm_destroyed(row, "ticket 7", actor=ACTOR, now=NOON + days(2))

    horizon = backups.horizon_of(NOON)
    assert (horizon.until, horizon.standing) == (NOON + days(2), [])


def test_the_same_backup_twice_is_one():
    assert a_backup() == a_backup(lasts=90)
    assert BackupRecord.objects.get().expires_at == NOON + days(30)
    assert AuditEntry.objects.filter(action=Action.BACKUP_RECORDED).count() == 1


def test_a_backup_says_where_it_lies_and_ends_after_it_began():
    for label, lasts, began in (("  ", 30, NOON), ("x" * 201, 30, NOON), ("s3", -1, NOON), ("s3", 30, NOON + days(2))):
        with pytest.raises(BadBackup):
            a_backup(label=label, lasts=lasts, began=began)
    assert not BackupRecord.objects.exists()


def test_destroying_needs_proof_and_is_said_once():
    row = a_backup()
    with pytest.raises(BadBackup):
        backups.confirm_destroyed(row, " ", actor=ACTOR, now=NOON)
    backups.confirm_destroyed(row, "deleted by lifecycle rule 3", actor=ACTOR, now=NOON)

    with pytest.raises(AlreadyDestroyed):
        backups.confirm_destroyed(row, "again", actor=ACTOR, now=NOON)
    with pytest.raises(AlreadyDestroyed):
        backups.reschedule(row, NOON + days(300), actor=ACTOR, now=NOON)


def test_another_day_moves_the_horizon_and_is_in_the_log():
    row = a_backup()
    backups.check_inventory(actor=ACTOR, now=NOON)

    backups.reschedule(row, NOON + days(45), actor=ACTOR, now=NOON)

    assert backups.horizon_of(NOON).until == NOON + days(45)
    assert AuditEntry.objects.filter(action=Action.BACKUP_RESCHEDULED, target=f"backups/{row.uid}").exists()


def test_a_backup_knows_the_last_entry_of_the_log_that_it_can_have():
    backups.check_inventory(actor=ACTOR, now=NOON)

    assert a_backup(began=NOON - days(1)).audit_seq == 0
    assert a_backup(began=NOON + timedelta(hours=1)).audit_seq == 2
