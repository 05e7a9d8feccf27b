import pytest
from django.db import OperationalError, connection

from memadmin.management.refusing import NO_STORE, refusal_of

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "words", [("store_counts",), ("run_retention", "--commit"), ("restore_archived", "--run", "1"), ("erasure", "show")]
)
def test_on_a_database_without_a_store_a_command_says_what_to_do(monkeypatch, words):
    monkeypatch.setattr(connection.introspection, "table_names", list)

    assert refusal_of(words) == NO_STORE


@pytest.mark.parametrize("words", [("up", "--demo"), ("test",), ("verify_audit_log",), ("migrate",), ("store_counts", "--help"), ()])
def test_what_makes_the_store_or_needs_none_runs_without_one(monkeypatch, words):
    monkeypatch.setattr(connection.introspection, "table_names", list)

    assert NO_STORE not in refusal_of(words)


def test_the_file_of_a_certificate_is_checked_without_asking_any_database(monkeypatch):
    def asked():
        pytest.fail("the database was asked")

    monkeypatch.setattr(connection.introspection, "table_names", asked)

    assert refusal_of(("erasure", "verify", "certificate.json")) == ""


def test_with_a_store_nothing_is_refused_for_it():
    assert refusal_of(("store_counts",)) == ""


def test_a_database_that_does_not_answer_is_told_by_the_command_itself(monkeypatch):
    def silent():
        raise OperationalError

    monkeypatch.setattr(connection.introspection, "table_names", silent)

    assert refusal_of(("store_counts",)) == ""
