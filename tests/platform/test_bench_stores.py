"""The stores that measurements load past the product, by COPY: a new column or guard must not leave them behind."""

from datetime import UTC, datetime

import psycopg
import pytest
from django.db import connection

from bench import store_1m, store_10m, store_person
from memadmin.store.check import check
from memadmin.store.models import LongTermMemory, Subject
from tests.databases import database_url, is_sqlite

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(is_sqlite(), reason="these stores are loaded by COPY, which only PostgreSQL has"),
]
NOW = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def server():
    with psycopg.connect(database_url(), autocommit=True) as opened, connection.cursor() as cursor:
        cursor.execute("ALTER SEQUENCE store_subject_id_seq RESTART")  # as in the new database that a measurement makes
        yield opened


def test_the_million_is_a_store_that_agrees_with_itself(server):
    store_1m.fill(server, [store_1m.User(30), store_1m.User(2)], now=NOW)

    assert list(Subject.objects.order_by("id").values_list("long_term", flat=True)) == [30, 2]
    assert list(check()) == []


def test_the_ten_millions_are_a_store_that_agrees_with_itself(server):
    store_10m.load(server, store_10m.crowds(2_000), now=NOW)

    assert LongTermMemory.objects.filter(container_id=store_10m.EVERYONE).count() == 2_000
    assert list(check()) == []


def test_the_one_with_a_large_person_is_a_store_that_agrees_with_itself(server):
    store_person.fill(server, [store_1m.User(30), store_1m.User(2)], now=NOW)

    assert list(Subject.objects.order_by("id").values_list("long_term", "history")) == [(30, 150), (2, 2)]
    assert list(check()) == []
