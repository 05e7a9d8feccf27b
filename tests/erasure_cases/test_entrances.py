"""What was erased and comes again, entrance by entrance and mode by mode: what becomes of it, and that a person sees it."""

import json
from typing import Any

import pytest
from django.urls import reverse

from memadmin.access.roles import Role
from memadmin.audit import log
from memadmin.audit.models import AuditEntry
from memadmin.lifecycle import restoring
from memadmin.lifecycle.inference import extraction
from memadmin.lifecycle.inference.answers import Decision, Event
from memadmin.lifecycle.inference.extraction import Found
from memadmin.lifecycle.inference.strategies import strategies_for
from memadmin.store import arrivals, suppression
from memadmin.store.intake import IncomingArchived, IncomingMemory
from memadmin.store.models import Archived, Container, LongTermMemory, Mode, Returned, WorkingMemory
from memadmin.store.suppression import Terms
from tests.api.v1.calls import caller_of
from tests.factories import ACTOR, NOON, a_memory, a_message, make_container, store
from tests.people import a_browser_of
from tests.tokens import api_of
from tests.transfer.running import import_memories

pytestmark = pytest.mark.django_db
SEMANTIC = {"id": "semantic_1", "type": "SEMANTIC", "namespace": ["user_id"], "enabled": True}
TEXT = "Lives in Oslo near the harbour"


@pytest.fixture
def container(settings: Any, tmp_path: Any) -> Container:
    settings.SUPPRESSION_KEYS = str(tmp_path / "keys.json")
    return make_container(external_id="c1", owner={"name": "ana"}, configuration={"llm_id": "m", "strategies": [SEMANTIC]})


def by_our_api(container: Container, tmp_path: Any) -> None:
    caller_of("ana").post("/containers/c1/memories", {"user_id": "ann", "text": TEXT})


def by_the_compatible_api(container: Container, tmp_path: Any) -> None:
    api_of("ana").post("/c1/memories/long-term", {"memory": TEXT, "namespace": {"user_id": "ann"}})


def in_bulk(container: Container, tmp_path: Any) -> None:
    line = json.dumps({"type": "long-term", "user_id": "ann", "text": TEXT}).encode()
    list(caller_of("ana").post("/containers/c1/bulk", line).streaming_content)


def in_a_file(container: Container, tmp_path: Any) -> None:
    (tmp_path / "old.jsonl").write_text(json.dumps({"type": "long-term", "user_id": "ann", "text": TEXT}) + "\n")
    import_memories("jsonl", tmp_path / "old.jsonl", container=container.name)


def from_the_archive(container: Container, tmp_path: Any) -> None:
    restoring.restore_item(Archived.objects.get(), actor=ACTOR, now=NOON)


def by_a_model(container: Container, tmp_path: Any) -> None:
    working = WorkingMemory.objects.select_related("subject").get()
    strategy = strategies_for(container.configuration, working.namespace)[0]
    extraction.keep(working, strategy, Found([Decision(Event.ADD, TEXT.upper())], []), user_id="ann", now=NOON)


WAYS = {
    by_our_api: "api",
    by_the_compatible_api: "api",
    in_bulk: "bulk",
    in_a_file: "import",
    from_the_archive: "archive",
    by_a_model: "model",
}
LEAVES_OUT = {from_the_archive}  # whatever the mode, unless it flags: the copy stays where it is, and somebody decides


def prepared(container: Container, way: Any) -> None:
    """What was there before the erasure of the text: a message that says it, a copy in the archive."""
    if way is by_a_model:
        store(container, a_message("I moved", namespace={"user_id": "ann"}, infer=True, owner="agent-1"))
    if way is from_the_archive:
        copied = IncomingMemory(text=TEXT, user_id="ann", created_at=NOON)
        store(container, IncomingArchived(user_id="ann", item=copied, reason="ttl", archived_at=NOON, expires_at=None))


def erase_text(mode: Mode) -> None:
    suppression.suppress_texts([TEXT], container=None, terms=Terms(mode=mode), request_ref="erasure/7f0c", actor=ACTOR, now=NOON)


def refused() -> list[tuple[str, str, dict[str, int]]]:
    log.seal(actor="job/seal", now=NOON)
    entries = AuditEntry.objects.filter(action="arrivals.refused")
    return [(entry.target.split("/")[1], entry.reason_code, entry.counts) for entry in entries]


@pytest.mark.parametrize("way", WAYS)
def test_what_is_blocked_is_refused_and_noted_by_the_way_it_came(container: Container, tmp_path: Any, way: Any):
    prepared(container, way)
    erase_text(Mode.BLOCK)

    way(container, tmp_path)

    assert not LongTermMemory.objects.exists()
    assert not Returned.objects.exists()
    ((how, why, counts),) = refused()
    assert (how, why) == (WAYS[way], "subject_erased")
    assert counts in ({"items": 1}, {})


@pytest.mark.parametrize("way", WAYS)
def test_what_is_quarantined_waits_for_a_person(container: Container, tmp_path: Any, way: Any):
    prepared(container, way)
    erase_text(Mode.QUARANTINE)

    way(container, tmp_path)

    assert not LongTermMemory.objects.exists()
    if way in LEAVES_OUT:
        assert (Archived.objects.count(), refused()) == (1, [("archive", "subject_erased", {"items": 1})])
    else:
        assert set(Returned.objects.values_list("outcome", flat=True)) == {"quarantined"}
        assert AuditEntry.objects.filter(action="arrivals.quarantined").exists()
        assert refused() == []


@pytest.mark.parametrize("way", WAYS)
def test_what_is_flagged_is_let_in_and_marked(container: Container, tmp_path: Any, way: Any):
    prepared(container, way)
    erase_text(Mode.FLAG)

    way(container, tmp_path)

    memory = LongTermMemory.objects.get()
    assert set(Returned.objects.filter(uid=memory.uid).values_list("outcome", "item_type")) == {("flagged", "long-term")}
    assert AuditEntry.objects.filter(action="arrivals.flagged").exists()
    assert refused() == []


def test_a_person_sees_how_much_came_by_which_way_and_nobody_of_another_container_does(container: Container, tmp_path: Any):
    erase_text(Mode.BLOCK)
    in_bulk(container, tmp_path)
    in_a_file(container, tmp_path)
    carl = a_browser_of(Role.COMPLIANCE, login="carl", containers=[make_container("other")])
    log.seal(actor="job/seal", now=NOON)

    page = a_browser_of(Role.COMPLIANCE, login="cora").get(reverse("pages:returned-list")).content.decode()
    other = carl.get(reverse("pages:returned-list")).content.decode()

    assert ("in bulk over the API" in page, "in an imported file" in page, page.count("it was erased")) == (True, True, 2)
    assert ("in bulk over the API" in other, TEXT in page) == (False, False)


def test_nothing_refused_is_nothing_noted(container: Container, tmp_path: Any):
    store(container, a_memory("likes tea"))
    in_bulk(container, tmp_path)
    arrivals.note_refused(container, arrivals.Way.BULK, 0, actor=ACTOR, now=NOON)

    assert refused() == []
