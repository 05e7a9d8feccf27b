import gzip
import json
import os
import subprocess
import sys
import uuid
from dataclasses import fields

import pytest
from django.apps import apps
from django.conf import settings
from django.db import transaction

from memadmin.store import archive, check, configuration, policies
from memadmin.store.counts import store_counts
from memadmin.store.identity import item_uid
from memadmin.store.models import (
    Archived,
    Container,
    HistoryEntry,
    ItemType,
    LongTermMemory,
    Pin,
    PolicyStatus,
    PolicyVersion,
    Provenance,
    Session,
    WorkingMemory,
)
from memadmin.transfer.exporting import MODELS, NOT_INCLUDED
from memadmin.transfer.own import APART, KINDS
from retention.policy import parse_policy
from tests.factories import ACTOR, NOON, make_container
from tests.transfer.full_store import make_full_container
from tests.transfer.running import export_memories, import_memories, write_lines

pytestmark = pytest.mark.django_db

EXPORTED = {"Container", "PolicyVersion", "Subject", "Provenance", "Pin", "Archived", *(model.__name__ for model in MODELS.values())}
LEFT_OUT = {  # by app or table: how the file names it
    "audit": "audit log",
    "jobs": "jobs and schedules",
    "access": "people",
    "access.ApiToken": "API tokens",
    "access.TokenUse": "API tokens",
    "lifecycle": "runs",
    "erasure": "requests of people and their papers",
    "webhooks": "webhooks",
    "api": "idempotency keys",
    "store.Setting": "settings",
    "store.Feedback": "feedback",
    "store.Hold": "holds",
    "store.RecallEvent": "recalls",
    "store.Suppression": "suppressions",
    "store.Returned": "what was set aside",
}
A_SESSION = {"type": "session", "external_id": "s"}


def comparable(path):
    """The lines of an export, but for its time, and for who has drafted a policy: an imported one is a new draft."""
    *lines, rest = path.read_bytes().split(b"\n")
    assert rest == b""
    return [{**json.loads(lines[0]), "exported_at": ""}, *(line for line in lines[1:] if b'"type":"policy"' not in line)]


def test_f84_an_export_into_an_empty_store_gives_the_same_export(tmp_path):
    with transaction.atomic():
        make_full_container()
        counts = store_counts()
        export_memories(tmp_path / "first.jsonl", "--container", "pharmacy")
        transaction.set_rollback(True)

    done = import_memories("jsonl", tmp_path / "first.jsonl", container=None)

    export_memories(tmp_path / "second.jsonl", "--container", "pharmacy")
    assert done.code == 0
    assert store_counts() == counts
    assert comparable(tmp_path / "first.jsonl") == comparable(tmp_path / "second.jsonl")
    assert list(check.check()) == []


def test_f84_an_export_names_every_field_that_a_row_has():
    """A new column of the store is exported, or it is said here why not."""
    of_this_store = {"id", "container", "subject", "stored_at", "revision", "held", "restricted", "pinned", "session", "message_count"}
    of_this_store |= {"embedding", "embedding_model"}  # derived from the text, by a model that the next store may not have
    for kind, model in MODELS.items():
        columns = {column.name for column in model._meta.concrete_fields}
        assert columns - of_this_store == {field.name for field in fields(KINDS[kind])} - APART - {"session_gone"}, kind


def test_f84_what_an_export_leaves_out_stands_in_its_first_line(tmp_path):
    """A new table is exported, or it is said in the file that it is not."""
    make_full_container()
    first, *_ = export_memories(tmp_path / "x.jsonl", "--container", "pharmacy")

    words = {model._meta.label: LEFT_OUT.get(model._meta.label, LEFT_OUT.get(model._meta.app_label)) for model in ours()}

    assert {label for label, word in words.items() if word is None} == {f"store.{name}" for name in EXPORTED}
    assert {word for word in words.values() if word} <= set(first["not_included"])
    assert set(NOT_INCLUDED) == set(first["not_included"])


def ours():
    return [model for model in apps.get_models() if model.__module__.startswith("memadmin.")]


def test_the_journey_is_tried_with_something_in_every_field(tmp_path):
    make_full_container()

    lines = export_memories(tmp_path / "x.jsonl", "--container", "pharmacy")

    for kind, fields_of_kind in KINDS.items():
        written = {name for line in lines if line.get("type") == kind for name in line}
        assert {field.name for field in fields(fields_of_kind)} <= written, kind


def other_store(tmp_path, *arguments):
    """Run a command on another, SQLite, store."""
    environment = {**os.environ, "DATABASE_URL": f"sqlite:///{tmp_path}/other.sqlite3", "DJANGO_SETTINGS_MODULE": "memadmin.settings"}
    command = [sys.executable, settings.BASE_DIR / "manage.py", *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_store_goes_to_another_database_and_back(tmp_path):
    make_full_container()
    export_memories(tmp_path / "here.jsonl.gz", "--container", "pharmacy")
    counts = store_counts()

    other_store(tmp_path, "migrate", "--verbosity", "0")
    other_store(tmp_path, "import_memories", "jsonl", tmp_path / "here.jsonl.gz")
    other_store(tmp_path, "export_memories", "--container", "pharmacy", "--to", tmp_path / "there.jsonl")

    assert json.loads(other_store(tmp_path, "store_counts", "--json")) == counts
    (tmp_path / "here.jsonl").write_bytes(gzip.decompress((tmp_path / "here.jsonl.gz").read_bytes()))
    assert comparable(tmp_path / "here.jsonl") == comparable(tmp_path / "there.jsonl")
    again = import_memories("jsonl", tmp_path / "there.jsonl", container=None)
    assert (again.code, again.answer["new"], again.answer["changed"]) == (0, again.answer["changed"], dict.fromkeys(again.answer["new"], 0))


def test_an_export_from_its_own_store_changes_nothing(tmp_path):
    make_full_container()
    export_memories(tmp_path / "first.jsonl", "--container", "pharmacy")

    done = import_memories("jsonl", tmp_path / "first.jsonl")

    export_memories(tmp_path / "second.jsonl", "--container", "pharmacy")
    assert done.code == 0
    assert {**done.answer["new"], **done.answer["changed"]} == dict.fromkeys(done.answer["new"], 0)
    assert comparable(tmp_path / "first.jsonl") == comparable(tmp_path / "second.jsonl")


def test_a_copy_beside_the_original_has_uids_of_its_own_and_all_its_links(tmp_path):
    original = make_full_container()
    export_memories(tmp_path / "x.jsonl", "--container", "pharmacy")

    first = import_memories("jsonl", tmp_path / "x.jsonl", container="copy")
    second = import_memories("jsonl", tmp_path / "x.jsonl", container="copy")

    copy = Container.objects.get(name="copy")
    assert (first.code, second.code) == (0, 0)
    assert second.answer["new"] == second.answer["changed"] == dict.fromkeys(second.answer["new"], 0)
    assert {**store_counts(copy), "containers": 1} == {**store_counts(original), "containers": 1}
    for model in (Session, WorkingMemory, LongTermMemory, HistoryEntry):
        uids = [set(model.objects.filter(container=container).values_list("uid", flat=True)) for container in (original, copy)]
        assert len(uids[0]) == len(uids[1])
        assert not uids[0] & uids[1]
    memory = LongTermMemory.objects.get(container=copy, fact_key="drink")
    session = Session.objects.get(container=copy, external_id="s-1")
    assert session.uid == item_uid(copy.uid, ItemType.SESSION, "ann", "s-1")
    assert Provenance.objects.get(derived_uid=memory.uid).source_uid == session.uid
    assert LongTermMemory.objects.get(container=copy, text="superseding").uid == memory.superseded_by
    assert HistoryEntry.objects.get(container=copy, action="UPDATE").memory_uid == memory.uid
    assert set(Pin.objects.filter(container=copy).values_list("target_uid", flat=True)) == {memory.uid, session.uid}
    assert copy.external_id is None
    assert list(check.check()) == []


def test_archived_copies_can_be_restored_after_the_journey(tmp_path):
    with transaction.atomic():
        make_full_container()
        export_memories(tmp_path / "x.jsonl", "--container", "pharmacy")
        transaction.set_rollback(True)
    import_memories("jsonl", tmp_path / "x.jsonl", container="elsewhere")

    restored = archive.restore(list(Archived.objects.values_list("id", flat=True)), now=NOON)

    assert restored.items == 3
    session = Session.objects.get(external_id="s-old")
    assert [memory.messages[0]["content"] for memory in WorkingMemory.objects.of_session(session)] == ["old words"]
    assert LongTermMemory.objects.get(text="gone").hits == 2
    assert list(check.check()) == []


def test_a_policy_arrives_as_a_draft_whatever_it_was(tmp_path):
    with transaction.atomic():
        configuration.change("retention_enabled", True, actor=ACTOR, now=NOON)
        container = make_container()
        for days_kept, base in ((30, None), (60, 1)):
            policy = parse_policy({"retention": {"sessions": {"retention_days": days_kept}}})
            policies.publish(container, policy, actor=ACTOR, now=NOON, base=base)
        export_memories(tmp_path / "x.jsonl", "--container", "pharmacy")
        transaction.set_rollback(True)

    done = import_memories("jsonl", tmp_path / "x.jsonl", container=None)
    import_memories("jsonl", tmp_path / "x.jsonl", container=None)

    version = PolicyVersion.objects.get()
    assert (version.status, json.loads(version.document)["retention"]) == (PolicyStatus.DRAFT, {"sessions": {"retention_days": 60}})
    assert done.answer["noted"] == {"superseded_policy": 1}
    assert Container.objects.get().policy_state == "never_set"


def test_an_export_that_was_cut_off_is_told_of(tmp_path):
    make_full_container()
    lines = export_lines(tmp_path)
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(b"\n".join(lines[:6]) + b"\n")

    done = import_memories("jsonl", cut, container="copy")

    assert (done.code, done.refused) == (3, {"cut_off": 1})


def export_lines(tmp_path):
    export_memories(tmp_path / "x.jsonl", "--container", "pharmacy")
    return (tmp_path / "x.jsonl").read_bytes().split(b"\n")


def test_an_export_of_a_later_version_is_unusable(tmp_path):
    done = import_memories("jsonl", write_lines(tmp_path / "x.jsonl", {"memadmin": 2}))

    assert done.code == 2
    assert "version" in done.words


def test_a_field_that_is_not_known_is_named(tmp_path):
    record = {"type": "long-term", "user_id": "ann", "text": "tea", "external_id": "f", "colour": "red"}

    done = import_memories("jsonl", write_lines(tmp_path / "x.jsonl", record))

    assert (done.code, done.answer["noted"]) == (0, {"field_dropped": 1})


def test_a_uid_that_belongs_to_somebody_else_is_refused_and_costs_no_other(tmp_path):
    fact = {"type": "long-term", "uid": str(uuid.UUID(int=1)), "user_id": "ann", "text": "tea"}
    lines = [fact, {**fact, "uid": str(uuid.UUID(int=2))}, {**fact, "user_id": "bob"}]

    done = import_memories("jsonl", write_lines(tmp_path / "x.jsonl", *lines))

    assert (done.code, done.refused) == (3, {"uid_taken": 1})
    assert set(LongTermMemory.objects.values_list("subject__user_id", flat=True)) == {"ann"}


@pytest.mark.parametrize(
    ("details", "code", "field"),
    [
        ({"uid": "7"}, "not_a_uid", "uid"),
        ({"uid": 7}, "not_a_uid", "uid"),
        ({"superseded_by": "x"}, "not_a_uid", "superseded_by"),
        ({"sources": "x"}, "not_a_source", "sources[0]"),
        ({"sources": [{"type": "odd", "uid": str(uuid.UUID(int=1))}]}, "not_a_source", "sources[0]"),
        ({"pin": 5}, "not_an_object", "pin"),
        ({"pin": {"reason": "x", "actor": "y"}}, "missing", "pin.created_at"),
        ({"pin": {"reason": "", "actor": "y", "created_at": 0}}, "missing", "pin.reason"),
        ({"pin": {"reason": "x", "actor": "y", "created_at": 0, "review_on": "soon"}}, "not_a_date", "pin.review_on"),
        ({"time_note": "guess"}, "not_a_choice", "time_note"),
        ({"fact_version": 2**63}, "out_of_range", "fact_version"),
        ({"created_at": 5}, "time_ambiguous", "created_at"),
        ({"text": None}, "missing", "text"),
        ({"type": "working", "messages": [5]}, "not_messages", "messages"),
        ({"type": "working", "infer": "yes"}, "not_a_flag", "infer"),
        ({"type": "working", "session_gone": "yes"}, "not_a_flag", "session_gone"),
        ({"type": "history", "action": "BURN"}, "not_a_choice", "action"),
        ({"type": "user", "user_id": [1]}, "not_an_id", "user_id"),
        ({"type": "container", "name": ""}, "missing", "name"),
        ({"type": "container", "name": "x", "archive_days": 0}, "out_of_range", "archive_days"),
        ({"type": "container", "name": "x", "summarise_from": 1}, "out_of_range", "summarise_from"),
        ({"type": "container", "name": "x", "hard_limit_days": 1.5}, "out_of_range", "hard_limit_days"),
        ({"type": "container", "name": "x", "sessions_enabled": 1}, "not_a_flag", "sessions_enabled"),
        ({"type": "policy", "document": 5}, "not_an_object", "document"),
        (
            {"type": "policy", "document": {"retention": {"sessions": {"retention_days": 0}}}},
            "policy_unusable",
            "document.retention.sessions.retention_days",
        ),
        ({"type": "archived", "item": {"type": "working"}}, "unknown_shape", "item"),
        ({"type": "archived", "item": {"type": "session", "external_id": "s"}}, "missing", "archived_at"),
        ({"type": "archived", "item": {"type": "session"}, "archived_at": 0}, "missing", "external_id"),
        (
            {"type": "archived", "item": {"type": "session", "external_id": "s"}, "archived_at": 0, "run_number": "x"},
            "not_a_number",
            "run_number",
        ),
        (
            {"type": "archived", "item": {"type": "session", "external_id": "s"}, "archived_at": 0, "reason": "x" * 33},
            "text_too_long",
            "reason",
        ),
        ({"type": "archived", "item": {"type": "session", "external_id": "s"}, "working": 5}, "not_messages", "working"),
    ],
)
def test_a_record_of_ours_with_a_broken_value_is_refused_by_field(tmp_path, details, code, field):
    good = {"type": "long-term", "user_id": "ann", "text": "tea", "external_id": "f-1"}
    bad = {"user_id": "ann", **details} if "type" in details else {"type": "long-term", "user_id": "ann", "text": "tea", **details}

    done = import_memories("jsonl", write_lines(tmp_path / "x.jsonl", bad, good), "--report", tmp_path / "r.jsonl")

    report = [json.loads(line) for line in (tmp_path / "r.jsonl").read_text().splitlines()]
    assert [(line["code"], line["field"]) for line in report] == [(code, field)]
    assert (done.code, LongTermMemory.objects.count()) == (3, 1)
