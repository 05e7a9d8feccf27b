import os
import stat
import threading

import pytest
from django.db import connection, transaction

from memadmin.audit.models import AuditEntry
from memadmin.store import ingest
from memadmin.store.models import (
    Container,
    LongTermMemory,
    Session,
    Subject,
)
from memadmin.transfer.exporting import export_containers
from tests.factories import ACTOR, NOON, a_memory, make_container, store
from tests.transfer.running import export_memories, import_memories, run

pytestmark = pytest.mark.django_db


def test_one_user_is_exported_from_all_containers_and_nobody_else(tmp_path):
    for name in ("one", "two", "three"):
        store(make_container(name), *([a_memory(user_id="ann")] if name != "three" else []), a_memory("secret", user_id="bob"))

    lines = export_memories(tmp_path / "x.jsonl", "--user", "ann")

    assert [line["name"] for line in lines if line.get("type") == "container"] == ["one", "two"]
    assert {line["user_id"] for line in lines if "user_id" in line} == {"ann"}
    assert "secret" not in (tmp_path / "x.jsonl").read_text()
    assert "configuration" not in (tmp_path / "x.jsonl").read_text()


@pytest.mark.parametrize("user_id", ["", " Jason ", "../admin", "100%", "-x", "--json"])
def test_any_user_id_can_be_exported(tmp_path, user_id):
    store(make_container(), a_memory(user_id=user_id), a_memory(user_id="ann"))

    done = run("export_memories", "--to", tmp_path / "x.jsonl", f"--user={user_id}")

    assert done.answer["counts"] == {"container": 1, "user": 1, "long-term": 1}


def test_several_containers_come_back_as_several(tmp_path):
    with transaction.atomic():
        for name in ("one", "two"):
            store(make_container(name), a_memory(user_id="ann"))
        export_memories(tmp_path / "x.jsonl", "--user", "ann")
        transaction.set_rollback(True)

    merged = import_memories("jsonl", tmp_path / "x.jsonl", container="one")
    done = import_memories("jsonl", tmp_path / "x.jsonl", container=None)

    assert merged.code == 2
    assert done.code == 0
    assert set(LongTermMemory.objects.values_list("container__name", flat=True)) == {"one", "two"}


def test_only_the_containers_that_are_given_are_exported(tmp_path):
    store(make_container("one"), a_memory("mine"))
    store(make_container("two"), a_memory("theirs"))

    export_containers(tmp_path / "x.jsonl", Container.objects.filter(name="one"), actor=ACTOR, now=NOON)

    assert "theirs" not in (tmp_path / "x.jsonl").read_text()


def test_an_export_is_audited_without_any_name(tmp_path):
    store(make_container(), a_memory(user_id="ann"))

    export_memories(tmp_path / "x.jsonl", "--container", "pharmacy")
    export_memories(tmp_path / "y.jsonl", "--user", "ann")

    targets = [f"containers/{Container.objects.get().uid}", f"subjects/{Subject.objects.get().uid}"]
    assert list(AuditEntry.objects.filter(action="export.finished").order_by("seq").values_list("target", flat=True)) == targets


def test_an_export_is_readable_by_its_owner_alone_and_leaves_nothing_else(tmp_path):
    make_container()

    export_memories(tmp_path / "x.jsonl", "--container", "pharmacy")

    assert stat.S_IMODE((tmp_path / "x.jsonl").stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["x.jsonl"]


def test_an_export_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    store(make_container(), a_memory())
    (tmp_path / "x.jsonl").write_text("old")
    monkeypatch.setattr("memadmin.transfer.exporting._archived_records", lambda page: 1 / 0)
    monkeypatch.setattr("memadmin.transfer.exporting._audit", lambda *_, **__: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        export_memories(tmp_path / "x.jsonl", "--container", "pharmacy")

    assert os.listdir(tmp_path) == ["x.jsonl"]
    assert (tmp_path / "x.jsonl").read_text() == "old"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "Say what to export"),
        (["--container", "absent"], "no container named"),
        (["--user", "absent"], "No container has this user"),
    ],
)
def test_an_export_of_nothing_is_refused(tmp_path, arguments, words):
    done = run("export_memories", "--to", tmp_path / "x.jsonl", *arguments)

    assert done.code == 2
    assert words in done.words
    assert os.listdir(tmp_path) == []


def test_an_export_into_an_absent_folder_is_refused(tmp_path):
    make_container()

    assert run("export_memories", "--to", tmp_path / "no" / "x.jsonl", "--container", "pharmacy").code == 2


@pytest.mark.django_db(transaction=True)
def test_writers_are_not_kept_out_by_an_export_and_it_sees_one_moment(tmp_path, monkeypatch):
    container = make_container()
    store(container, a_memory("before"))
    monkeypatch.setattr("memadmin.transfer.exporting.MODELS", {"session": Session, "long-term": LongTermMemory})
    original = export_containers.__globals__["_pages"]

    def pages_with_a_writer(model, *arguments):
        if model is LongTermMemory:
            write_elsewhere(container.pk)
        return original(model, *arguments)

    monkeypatch.setattr("memadmin.transfer.exporting._pages", pages_with_a_writer)

    lines = export_memories(tmp_path / "x.jsonl", "--container", "pharmacy")

    assert [line["text"] for line in lines if line.get("type") == "long-term"] == ["before"]
    assert LongTermMemory.objects.count() == 2


def write_elsewhere(container_id):
    def write():
        try:
            ingest.write(Container.objects.get(pk=container_id), [a_memory("meanwhile")], actor=ACTOR, now=NOON)
        finally:
            connection.close()

    thread = threading.Thread(target=write)
    thread.start()
    thread.join()
