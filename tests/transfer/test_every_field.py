"""Each field of each row of the store, one by one: after an export and an import, and after the archive. Numbers: docs/cases.md."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from django.db import models, transaction

from memadmin.store import archive, removal
from memadmin.store.check import check
from memadmin.store.models import (
    Archived,
    Container,
    HistoryEntry,
    LongTermMemory,
    Pin,
    PolicyVersion,
    Provenance,
    Session,
    Subject,
    WorkingMemory,
)
from tests.factories import NOON
from tests.store.test_removal import NOTE, chosen
from tests.transfer.full_store import make_full_container
from tests.transfer.running import export_memories, import_memories

pytestmark = pytest.mark.django_db
ITEMS: list[type[models.Model]] = [Session, WorkingMemory, LongTermMemory, HistoryEntry]
EVICTED: list[type[models.Model]] = [Session, WorkingMemory, LongTermMemory]
TABLES: list[type[models.Model]] = [Container, Subject, *ITEMS, Provenance, Pin, Archived, PolicyVersion]
# What is not the same in another store, by table, and why; "" are the columns of all of them.
GIVEN_ANEW: dict[str, set[str]] = {
    "": {"id", "stored_at", "revision", "held", "restricted"},  # of this store alone; holds are not included
    "Container": {"deleted_at", "policy_state", "removes_unattributed"},  # a policy comes as a draft; consents are not included
    "Subject": {"uid", "epoch", "suppressed", "has_holds"},
    "LongTermMemory": {"embedding", "embedding_model"},
    "HistoryEntry": {"pinned"},  # never is
    "Pin": {"revision"},
}
POLICY = {"number", "document", "digest"}  # of a policy, which comes as a draft of whoever imports it


def stored(tables: Iterable[type[models.Model]] = TABLES) -> dict[str, list[dict[str, Any]]]:
    """Return all rows as the values of their columns, with rows that others point to by what is the same in every store."""
    return {model.__name__: sorted((_values(row) for row in model._default_manager.all()), key=_in_order) for model in tables}


def _in_order(row: dict[str, Any]) -> str:
    return repr([row.get(name) for name in ("uid", "target_uid", "derived_uid", "user_id")])


def _values(row: models.Model) -> dict[str, Any]:
    name = type(row).__name__
    columns = [column for column in row._meta.concrete_fields if column.name not in GIVEN_ANEW[""] | GIVEN_ANEW.get(name, set())]
    return {column.name: _value(row, column) for column in columns if name != "PolicyVersion" or column.name in POLICY}


def _value(row: models.Model, column: Any) -> Any:
    value = getattr(row, column.attname)
    if value is not None and column.is_relation:
        there = column.related_model._default_manager.filter(pk=value).first()
        return there and (there.user_id if isinstance(there, Subject) else str(there.uid))
    return _said_by(archive.unpack(value)) if column.name == "payload" else value


def _said_by(copy: dict[str, Any]) -> dict[str, Any]:
    """Return an archived copy without what another store gives anew."""
    anew = GIVEN_ANEW[""] | {"container_id", "subject_id"}
    rows = [{name: value for name, value in row.items() if name not in anew} for row in (copy["row"], *copy["working"])]
    return {"rows": rows, "pin": copy.get("pin")}


def usual(column: Any) -> Any:
    return None if column.is_relation else column.get_default()


def test_f84_there_is_something_to_lose_in_every_field():
    make_full_container()
    rows = stored()

    unused = {
        (model.__name__, column.name)
        for model in TABLES
        for column in model._meta.concrete_fields
        if column.name in rows[model.__name__][0] and all(row[column.name] == usual(column) for row in rows[model.__name__])
    }

    assert unused == set()


def test_f84_each_field_of_each_row_comes_back_from_an_export(tmp_path: Path):
    with transaction.atomic():
        make_full_container()
        before = stored()
        export_memories(tmp_path / "all.jsonl", "--container", "pharmacy")
        transaction.set_rollback(True)

    import_memories("jsonl", tmp_path / "all.jsonl", container=None)

    after = stored()
    assert {name: len(rows) for name, rows in after.items()} == {name: len(rows) for name, rows in before.items()}
    assert [each for name in before for each in differences(name, before[name], after[name])] == []


def test_f84_each_field_of_each_row_comes_back_from_the_archive():
    """What was evicted, with its messages, and what an import has brought as evicted already, pinned before."""
    make_full_container()
    for model in (Session, LongTermMemory):
        model.objects.update(pinned=False)
    Pin.objects.all().delete()
    Subject.objects.update(pinned_sessions=0, pinned_long_term=0)
    before, copies = stored(EVICTED), archive_of_all()

    archive.restore([copy.pk for copy in copies], now=NOON)

    after = stored(EVICTED)
    assert [each for name in before for each in differences(name, before[name], after[name])] == []
    assert list(check()) == []


def test_f84_each_field_of_a_pin_comes_back_with_a_copy_that_an_import_brought():
    make_full_container()
    pins = stored([Pin])["Pin"]
    copies = list(Archived.objects.filter(subject__user_id="ann"))

    archive.restore([copy.pk for copy in copies], now=NOON)

    of_copies = [pin for pin in stored([Pin])["Pin"] if pin["target_uid"] in {copy.uid for copy in copies}]
    named = {"target_type", "target_uid"}
    assert len(of_copies) == 2
    assert [{name: value for name, value in pin.items() if name not in named} for pin in of_copies] == [
        {name: value for name, value in pin.items() if name not in named} for pin in pins
    ]


def archive_of_all() -> list[Archived]:
    """Evict every session and long-term memory, and return their copies."""
    there = set(Archived.objects.values_list("pk", flat=True))
    removal.remove_sessions(chosen(*Session.objects.all()), archive=NOTE)
    removal.remove_long_term(chosen(*LongTermMemory.objects.all()), archive=NOTE)
    assert not Session.objects.exists()
    assert not LongTermMemory.objects.exists()
    return list(Archived.objects.exclude(pk__in=there))


def differences(table: str, before: list[dict[str, Any]], after: list[dict[str, Any]]) -> list[str]:
    """Return every field that is not what it was, by table, column and both values."""
    pairs = zip(before, after, strict=True)
    return [f"{table}.{name}: {one[name]!r} {other[name]!r}" for one, other in pairs for name in one if one[name] != other[name]]
