"""What the API shows is what the importer of OpenSearch dumps reads: a store copied hit by hit shows the same documents."""

import json
from typing import Any

import pytest
from django.db import transaction

from memadmin.api.opensearch import documents
from memadmin.store.models import Container, HistoryEntry, ItemType, LongTermMemory, Session, WorkingMemory
from tests.bots import create, long_term, session, working
from tests.runs import switch_on
from tests.tokens import api_of
from tests.transfer.running import import_memories, write_lines

pytestmark = pytest.mark.django_db
MODELS = {ItemType.SESSION: Session, ItemType.WORKING: WorkingMemory, ItemType.LONG_TERM: LongTermMemory, ItemType.HISTORY: HistoryEntry}


def hits() -> list[dict[str, Any]]:
    container = Container.objects.get()
    found = [{"_index": documents.CONTAINER_INDEX, "_id": documents.wire_id(container), "_source": documents.source_of(container)}]
    for item_type, model in MODELS.items():
        rows = model.objects.select_related("container", "subject").order_by("pk")
        index = documents.index_name(container, item_type)
        found += [{"_index": index, "_id": documents.wire_id(row), "_source": documents.source_of(row)} for row in rows]
    return found


def a_life() -> None:
    switch_on()
    api = api_of("ana")
    cid = create(api, index_prefix="own", retention_policy={"sessions": {"max_count": 5}})
    api.put(session(api, cid, session_id="s1", metadata={"a": {"b": 1}}, agents={"c": 2}, namespace={"user_id": "bob"}), {"pinned": True})
    working(api, cid, namespace={"user_id": "bob", "session_id": "s1"}, tags={"t": "x"}, metadata={"m": [1]}, message_id=3)
    working(api, cid, messages=None, payload_type="data", structured_data={"d": [1.5]}, namespace={"agent_id": "a"}, checkpoint_id="k")
    api.put(long_term(api, cid, strategy_type="SEMANTIC", strategy_id="semantic_1", tags={"t": 1}), {"memory": "likes coffee"})


def test_a_store_copied_hit_by_hit_shows_the_same_documents(tmp_path):
    with transaction.atomic():
        a_life()
        before = hits()
        transaction.set_rollback(True)

    done = import_memories("opensearch", write_lines(tmp_path / "dump.jsonl", *before), container=None)

    after = hits()
    assert (done.code, done.refused) == (0, {})
    for each in (before, after):
        each[0]["_source"]["configuration"].pop("retention_policy", None)  # a policy from outside arrives as a draft
    assert json.dumps(sorted(after[1:], key=str)) == json.dumps(sorted(before[1:], key=str))
    assert after[0] == before[0]
