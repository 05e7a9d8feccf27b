import pytest
from django.db import connection, transaction

from memadmin.store.durability import lose_at_worst


def waits_for_the_disk():
    with connection.cursor() as cursor:
        cursor.execute("SHOW synchronous_commit" if connection.vendor == "postgresql" else "PRAGMA synchronous")
        return cursor.fetchone()[0]


@pytest.mark.django_db(transaction=True)
def test_one_transaction_ends_without_waiting_for_the_disk_and_the_next_one_waits_again():
    before = waits_for_the_disk()

    with transaction.atomic():
        lose_at_worst()
        inside = waits_for_the_disk()

    assert inside == ("off" if connection.vendor == "postgresql" else before)
    assert waits_for_the_disk() == before
