import io
import json

import pytest
from django.core.management import call_command

from memadmin.store.counts import store_counts
from memadmin.store.identity import item_uid
from memadmin.store.models import (
    Container,
    HistoryEntry,
    ItemType,
    LongTermMemory,
    Pin,
    PolicyState,
    PolicyStatus,
    PolicyVersion,
    Session,
    Subject,
    WorkingMemory,
)
from tests.transfer.running import import_memories, write_lines

pytestmark = pytest.mark.django_db

NOTHING = dict.fromkeys(["sessions", "working", "long_term", "history", "archived"], 0)


def container(key="c-1", name="pharmacy", **details):
    return {"_index": ".plugins-ml-memory-container", "_id": key, "_source": {"name": name, "created_time": 1682553600000, **details}}


def document(kind, key, *, owner="c-1", user="bob", namespace=None, **source):
    source = {"namespace": {"user_id": user, **(namespace or {})}, "created_time": 1682586000000, **source}
    return {"_index": f"mb-memory-{kind}", "_id": key, "_source": {**source, **({"memory_container_id": owner} if owner else {})}}


def said(key, text="hi", **details):
    return document("working", key, messages=[{"role": "user", "content": text}], **{"namespace": {"session_id": "s-1"}, **details})


def test_a_real_dump_is_stored_once(shared_data):
    dump = shared_data / "formats" / "1_opensearch" / "memorybank_en.elasticdump.ndjson"

    first = import_memories("opensearch", dump, container=None)
    counts = store_counts()
    second = import_memories("opensearch", dump, container=None)

    assert counts == {
        **{"containers": 1, "subjects": 15, "sessions": 150, "working": 566, "messages": 1132},
        **{"long_term": 42, "history": 42, "pinned": 1, "archived": 0},
    }
    assert (first.code, second.code) == (0, 0)
    assert (second.answer["new"], second.answer["changed"]) == (NOTHING, NOTHING)
    assert store_counts() == counts


def test_the_details_of_a_real_dump_are_as_its_documents_say(shared_data):
    import_memories("opensearch", shared_data / "formats" / "1_opensearch" / "memorybank_en.elasticdump.ndjson", container=None)

    stored = Container.objects.get()
    assert (stored.name, stored.external_id, stored.description) == ("memorybank-en", "bWVtb3J5YmFua0Vu", "MemoryBank (MIT) converted")
    assert (stored.sessions_enabled, stored.history_enabled, stored.policy_state) == (True, True, PolicyState.NEVER_SET)
    assert stored.created_at.isoformat() == "2023-04-27T00:00:00+00:00"
    assert "retention_policy" not in stored.configuration
    assert stored.configuration["strategies"][0]["type"] == "USER_PREFERENCE"
    pinned = Session.objects.get(pinned=True)
    assert (pinned.subject.user_id, pinned.summary) == ("emily", "Emily on 2023-05-01")
    assert Pin.objects.get().reason == "pinned at the source"
    assert pinned.created_at.isoformat() == "2023-05-01T09:00:00.881276+00:00"
    assert set(WorkingMemory.objects.values_list("payload_type", flat=True)) == {"conversational"}
    assert WorkingMemory.objects.filter(session=None).count() == 0
    assert HistoryEntry.objects.filter(memory_uid=None).count() == 6
    linked = HistoryEntry.objects.exclude(memory_uid=None)
    assert LongTermMemory.objects.filter(uid__in=linked.values("memory_uid")).count() == 36
    assert LongTermMemory.objects.exclude(strategy_type="USER_PREFERENCE").count() == 0


def test_an_imported_policy_is_a_draft_and_stays_one_draft(shared_data):
    dump = shared_data / "formats" / "1_opensearch" / "memorybank_en.elasticdump.ndjson"

    first = import_memories("opensearch", dump, container=None)
    second = import_memories("opensearch", dump, container=None)

    version = PolicyVersion.objects.get()
    assert first.answer["drafts"] == [{"container": str(version.container.uid), "version": version.number}]
    assert second.answer["drafts"] == []
    assert version.status == PolicyStatus.DRAFT
    assert json.loads(version.document)["retention"] == {
        "sessions": {"retention_days": 90, "max_count": 5000},
        "long-term": {"max_count": 2000},
        "history": {"max_count": 5000},
    }


def test_the_command_says_that_a_policy_became_a_draft(tmp_path):
    words = io.StringIO()
    policy = {"retention_policy": {"long-term": {"max_count": 500}}}
    file = write_lines(tmp_path / "dump.ndjson", container(name="shop", configuration=policy))

    call_command("import_memories", "opensearch", file, stdout=words)

    assert "policy: version 1 of shop is a draft, not in force until somebody publishes it" in words.getvalue()


@pytest.mark.parametrize(
    "policy", [{"sessions": {"retention_days": 86400}}, {"working": {"max_count": 500}}, {"history": {"retention_days": 7}}, 5]
)
def test_an_absurd_policy_is_refused_by_name_and_the_memories_are_stored(tmp_path, policy):
    lines = [container(configuration={"retention_policy": policy}), said("w-1")]

    done = import_memories("opensearch", write_lines(tmp_path / "x.ndjson", *lines), "--report", tmp_path / "r.jsonl", container=None)

    assert (done.code, done.refused) == (3, {"policy_unusable": 1})
    assert json.loads((tmp_path / "r.jsonl").read_text())["field"].startswith("configuration.retention_policy")
    assert (PolicyVersion.objects.count(), WorkingMemory.objects.count()) == (0, 1)


def test_documents_in_any_order_give_the_same_store(tmp_path):
    lines = [
        said("w-1"),
        document("history", "h-1", memory_id="m-1", action="ADD", after={"memory": "tea"}),
        document("long-term", "m-1", memory="tea", pinned=True),
        document("sessions", "s-1", summary="first", pinned=True),
        container(),
    ]

    done = import_memories("opensearch", write_lines(tmp_path / "x.ndjson", *lines), container=None)
    again = import_memories("opensearch", write_lines(tmp_path / "x.ndjson", *reversed(lines)), container=None)

    session = Session.objects.get()
    assert (session.summary, session.pinned) == ("first", True)
    assert WorkingMemory.objects.get().session == session
    assert HistoryEntry.objects.get().memory_uid == LongTermMemory.objects.get().uid
    assert LongTermMemory.objects.get().pinned
    assert done.answer["changed"] == again.answer["new"] == again.answer["changed"] == NOTHING


def test_messages_of_a_session_stand_in_the_order_of_their_numbers_or_times(tmp_path):
    numbered = [said(f"n-{number}", f"{number}", message_id=number, created_time=1682586000000) for number in (3, 1, 2)]
    timed = [said(f"t-{number}", f"{number}", namespace={"session_id": "s-2"}, created_time=1682586000000 + number) for number in (3, 1, 2)]

    import_memories("opensearch", write_lines(tmp_path / "x.ndjson", container(), *numbered, *timed), container=None)

    for session in Session.objects.all():
        assert [memory.messages[0]["content"] for memory in WorkingMemory.objects.of_session(session).in_order()] == ["1", "2", "3"]


def test_both_generations_of_field_names_mean_the_same(tmp_path):
    older = document("working", "w-1", memory_type="conversation", messages=[{"role": "human", "content_text": "hi"}])
    newer = document("working", "w-2", payload_type="data", structured_data={"a": 1}, binary_data="aGk=", session_id="s-9")
    fact = document("long-term", "m-1", memory="likes tea", memory_type="SEMANTIC", memory_embedding=[0.1, 0.2])

    done = import_memories("opensearch", write_lines(tmp_path / "x.ndjson", container(), older, newer, fact), container=None)

    first, second = WorkingMemory.objects.order_by("external_id")
    assert first.messages == [{"role": "user", "content": "hi", "original_role": "human"}]
    assert (second.payload_type, second.structured_data, second.binary_data, second.session_ref) == ("data", {"a": 1}, "aGk=", "s-9")
    assert LongTermMemory.objects.get().strategy_type == "SEMANTIC"
    assert done.answer["noted"] == {"embedding_dropped": 1}


def test_fields_without_a_place_are_kept_or_named(tmp_path):
    lines = [container(), document("sessions", "s-1", colour="red"), document("history", "h-1", action="ADD", colour="red")]

    done = import_memories("opensearch", write_lines(tmp_path / "x.ndjson", *lines), container=None)

    assert Session.objects.get().metadata == {"extra": {"colour": "red"}}
    assert done.answer["noted"] == {"field_dropped": 1}


def test_a_failed_inference_is_history_without_an_action(tmp_path):
    import_memories(
        "opensearch", write_lines(tmp_path / "x.ndjson", container(), document("history", "h-1", error="model timed out")), container=None
    )

    assert HistoryEntry.objects.values_list("action", "error").get() == (None, "model timed out")


@pytest.mark.parametrize(
    ("bad", "code", "field"),
    [
        (document("sessions", "s-2", created_time="1:56 pm"), "time_unreadable", "created_time"),
        (document("sessions", "s-2", pinned="yes"), "not_a_flag", "pinned"),
        (document("working", "w-2", message_id=2**31), "out_of_range", "message_id"),
        (document("working", "w-2", messages=[{"role": 5}]), "not_text", "messages[0].role"),
        (document("working", "w-2", payload_type="odd"), "not_a_choice", "payload_type"),
        (document("history", "h-2", action="NONE"), "not_a_choice", "action"),
        (document("long-term", "m-2", memory=["tea"]), "not_text", "text"),
        (document("long-term", "m-2", user=["bob"]), "not_an_id", "namespace.user_id"),
        ({"_index": "x", "_id": "y", "_source": {"a": 1}}, "unknown_shape", ""),
        ({"_index": "mb-memory-working", "_id": "y", "_source": 5}, "not_an_object", "_source"),
    ],
)
def test_a_bad_document_is_refused_by_field_and_costs_no_other(tmp_path, bad, code, field):
    lines = write_lines(tmp_path / "x.ndjson", container(), said("w-1"), bad, said("w-3"))

    done = import_memories("opensearch", lines, "--report", tmp_path / "r.jsonl", container=None)

    report = [json.loads(line) for line in (tmp_path / "r.jsonl").read_text().splitlines()]
    assert [(line["record"], line["code"], line["field"]) for line in report] == [(3, code, field)]
    assert (done.code, WorkingMemory.objects.count()) == (3, 2)


def test_the_name_that_is_asked_for_is_the_name_of_the_container(tmp_path):
    dump = write_lines(tmp_path / "x.ndjson", container(description="From afar"), said("w-1"))

    import_memories("opensearch", dump, container="mine")
    import_memories("opensearch", dump, container="mine")

    assert Container.objects.values_list("name", "external_id", "description").get() == ("mine", "c-1", "From afar")


def test_a_container_of_the_same_name_is_not_taken_for_the_same_one(tmp_path):
    import_memories("messages", write_lines(tmp_path / "m.jsonl", {"role": "user", "content": "x"}))

    done = import_memories("opensearch", write_lines(tmp_path / "x.ndjson", container(), said("w-1")), container=None)

    assert done.code == 2
    assert "--container" in done.words
    assert Container.objects.count() == 1


def test_each_of_several_containers_gets_its_own_documents(tmp_path):
    lines = [
        *(container("c-1", "one"), container("c-2", "two"), said("w-1"), said("w-2", owner="c-2"), said("w-3")),
        *(said("w-4", owner=None), said("w-5", owner="c-9")),
    ]

    done = import_memories("opensearch", write_lines(tmp_path / "x.ndjson", *lines), container=None)

    assert done.refused == {"container_unknown": 1, "other_container": 1}
    assert set(WorkingMemory.objects.values_list("container__name", "external_id")) == {("one", "w-1"), ("two", "w-2"), ("one", "w-3")}


def test_one_of_several_containers_can_be_asked_for(tmp_path):
    lines = [container("c-1", "one"), container("c-2", "two"), said("w-1"), said("w-2", owner="c-2")]
    dump = write_lines(tmp_path / "x.ndjson", *lines)

    done = import_memories("opensearch", dump, container="two")
    unknown = import_memories("opensearch", dump, container="three")

    assert list(WorkingMemory.objects.values_list("container__name", "external_id")) == [("two", "w-2")]
    assert done.answer["noted"] == {"other_container": 2}
    assert unknown.code == 2
    assert "one, two" in unknown.words


def test_a_file_that_does_not_describe_its_container_needs_a_name(tmp_path):
    dump = write_lines(tmp_path / "x.ndjson", said("w-1"))

    assert import_memories("opensearch", dump, container=None).code == 2
    assert import_memories("opensearch", dump, container="mine").code == 0
    assert import_memories("opensearch", dump, container=None).answer["unchanged"]["working"] == 1


def test_the_hits_of_the_tutorial_are_stored(shared_data):
    done = import_memories("opensearch", shared_data / "formats" / "1_opensearch" / "tutorial_hits.json")

    assert (done.code, done.answer["records"]) == (0, 8)
    assert done.answer["new"] == {**NOTHING, "sessions": 1, "working": 2, "long_term": 2, "history": 4}
    stored = Container.objects.get()
    assert WorkingMemory.objects.get(payload_type="data").subject.user_id is None
    assert Session.objects.get().uid == item_uid(stored.uid, ItemType.SESSION, "bob", "CcxjTpkBvwXRq366A1aE")
    assert HistoryEntry.objects.get(action="DELETE").memory_ref == "DsxjTpkBvwXRq366C1Zz"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("docs_get_session.json", "sessions"),
        ("docs_search_sessions.json", "sessions"),
        ("docs_get_working.json", "working"),
        ("docs_get_long_term.json", "long_term"),
        ("docs_get_history.json", "history"),
    ],
)
def test_the_documents_of_the_manual_are_stored_once(shared_data, name, kind):
    path = shared_data / "formats" / "1_opensearch" / name

    first, second = (import_memories("opensearch", path) for _ in range(2))

    assert (first.code, first.answer["new"][kind]) == (0, 1)
    assert (second.answer["new"], second.answer["unchanged"][kind]) == (NOTHING, 1)
    assert Subject.objects.count() == 1


def test_nine_fractional_digits_are_cut_to_microseconds(shared_data):
    import_memories("opensearch", shared_data / "formats" / "1_opensearch" / "docs_get_session.json")

    assert Session.objects.get().created_at.isoformat() == "2025-09-15T17:18:55.881276+00:00"
