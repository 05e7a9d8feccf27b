"""What migrations make by hand, SQLite loses when a later one has it rebuild the table: all of it is there once everything has migrated."""

from importlib import import_module

import pytest
from django.apps import apps
from django.db import connection

from memadmin.audit import protection
from memadmin.store import fencing

pytestmark = pytest.mark.django_db
RETENTION = import_module("memadmin.store.migrations.0002_retention_indexes")
LOWEST = import_module("memadmin.store.migrations.0014_lowest_scores")
SEARCHES = import_module("memadmin.api.migrations.0001_search_indexes")


def is_there(name):
    """Whether the database has an index or a constraint of this name."""
    if connection.vendor == "postgresql":
        asked = (
            "SELECT EXISTS (SELECT 1 FROM pg_class WHERE relname = %(name)s UNION ALL SELECT 1 FROM pg_constraint WHERE conname = %(name)s)"
        )
    else:
        asked = "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = %(name)s OR INSTR(sql, 'CONSTRAINT \"' || %(name)s || '\"'))"
    with connection.cursor() as cursor:
        cursor.execute(asked, {"name": name})
        return bool(cursor.fetchone()[0])


def test_indexes_made_by_hand_are_there():
    on_sqlite = SEARCHES.ON_SQLITE if connection.vendor == "sqlite" else {}
    by_hand = [*RETENTION.NAMES, *LOWEST.INDEXES, *SEARCHES.EVERYWHERE, *on_sqlite]

    assert [name for name in by_hand if not is_there(name)] == []


def test_indexes_and_constraints_of_the_models_are_there():
    ours = [model._meta for model in apps.get_models() if model.__module__.startswith("memadmin.")]
    declared = [each.name for meta in ours for each in (*meta.indexes, *meta.constraints)]

    assert len(declared) > 50
    assert [name for name in declared if not is_there(name)] == []


def test_what_is_missing_is_noticed():
    with connection.cursor() as cursor:
        cursor.execute("DROP INDEX longterm_held")

    assert not is_there("longterm_held")
    assert not is_there("no_such_index")


def test_triggers_are_there():
    assert fencing.missing(connection) == []
    assert protection.faults(connection) == {}
