"""The test tools themselves: emptying a database whose tables refuse to be emptied."""

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction

from memadmin.store.models import Container
from tests.databases import is_sqlite

REFUSING_SQLITE = ["CREATE TRIGGER keep_containers BEFORE DELETE ON store_container BEGIN SELECT RAISE(ABORT, 'append only'); END"]
REFUSING_POSTGRES = [
    "CREATE FUNCTION refuse_to_empty() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'append only'; END $$",
    "CREATE TRIGGER keep_containers BEFORE DELETE OR TRUNCATE ON store_container EXECUTE FUNCTION refuse_to_empty()",
]
UNDO_POSTGRES = ["DROP TRIGGER keep_containers ON store_container", "DROP FUNCTION refuse_to_empty()"]


def run(statements: list[str]) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


@pytest.fixture
def refusing_table(transactional_db: None) -> Iterator[None]:
    run(REFUSING_SQLITE if is_sqlite() else REFUSING_POSTGRES)
    yield
    run(["DROP TRIGGER keep_containers"] if is_sqlite() else UNDO_POSTGRES)


@pytest.mark.usefixtures("refusing_table")
def test_an_append_only_table_is_emptied_between_tests_and_refuses_again_afterwards():
    Container.objects.create(name="before")

    call_command("flush", interactive=False, verbosity=0)

    assert not Container.objects.exists()
    Container.objects.create(name="after")
    with pytest.raises(DatabaseError, match="append only"), transaction.atomic():
        Container.objects.all().delete()


def permissions() -> list[tuple[str, str, str]]:
    found = Permission.objects.order_by("content_type__app_label", "codename")
    return list(found.values_list("content_type__app_label", "codename", "name"))


@pytest.mark.django_db(transaction=True)
def test_rows_made_by_migrate_are_there_again_after_a_flush_whatever_became_of_them():
    types, before = ContentType.objects.count(), permissions()
    Permission.objects.filter(codename__startswith="view_").delete()
    Permission.objects.filter(codename__startswith="add_").update(name="changed")
    ContentType.objects.create(app_label="gone", model="tomorrow")

    call_command("flush", interactive=False, verbosity=0)

    assert ContentType.objects.count() == types > 0
    assert permissions() == before
    assert before
