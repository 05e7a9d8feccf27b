import json
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from memadmin.jobs import queue
from memadmin.jobs.models import Job, JobState
from memadmin.jobs.runner import run_inline
from memadmin.lifecycle import embedding, restoring, writing
from memadmin.llm import client
from memadmin.llm.client import Refused
from memadmin.store import editing, embeddings, removal
from memadmin.store.models import Archived, LongTermMemory
from memadmin.store.removal import ArchiveNote, Chosen
from tests import model_server
from tests.factories import ACTOR, NOON, a_memory, make_container, make_memory, store
from tests.model_server import DIMENSION, ModelServer, embeds, fails, hashed

pytestmark = pytest.mark.django_db


@pytest.fixture
def model(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    monkeypatch.setattr(client, "PAUSE", 0)
    with model_server.running() as server:
        settings.EMBEDDING_URL, settings.EMBEDDING_MODEL = server.url, "hash"
        server.answer(embeds)
        yield server


def run() -> Job:
    return run_inline(queue.enqueue(embedding.EMBED, requested_by=ACTOR, now=NOON), now=NOON)


def vectors() -> dict[str, list[float] | None]:
    rows = LongTermMemory.objects.order_by("id").values_list("text", "embedding")
    return {text: None if stored is None else list(embeddings.unpacked(stored)) for text, stored in rows}


def alike(one: Any, other: Any) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def test_every_memory_gets_a_vector_of_length_one(model: ModelServer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(embedding, "AT_ONCE", 2)
    store(make_container(), *(a_memory(text) for text in ("likes tea", "likes coffee", "lives in Oslo")))

    job = run()

    found = vectors()
    assert (job.state, job.done, len(model.requests)) == (JobState.DONE, 3, 2)
    assert all(vector and len(vector) == DIMENSION and abs(alike(vector, vector) - 1) < 1e-6 for vector in found.values())
    assert alike(found["likes tea"], found["likes coffee"]) > alike(found["likes tea"], found["lives in Oslo"])
    assert not embeddings.waiting().exists()


def test_what_an_agent_writes_queues_the_job_by_itself(model: ModelServer):
    writing.add_memory(make_container(), a_memory("likes tea"), actor=ACTOR, now=NOON)

    assert Job.objects.get(kind=embedding.EMBED).state == JobState.QUEUED


def test_without_an_endpoint_nothing_waits_and_nothing_is_queued():
    writing.add_memory(make_container(), a_memory("likes tea"), actor=ACTOR, now=NOON)

    assert not embeddings.waiting().exists()
    assert not Job.objects.exists()
    assert run().done == 0


def test_a_new_text_waits_for_a_new_vector(model: ModelServer):
    container = make_container()
    memory = make_memory(container, "likes tea", external_id="f-1")
    run()

    editing.edit_memory(memory, {"text": "likes coffee"}, actor=ACTOR, now=NOON)
    assert embeddings.waiting().get().embedding is None
    run()
    store(container, a_memory("likes milk", external_id="f-1"))

    assert embeddings.waiting().get().embedding is None


def test_a_text_that_changed_while_the_model_read_it_keeps_waiting(model: ModelServer):
    memory = make_memory(make_container(), "likes tea")
    stale = LongTermMemory.objects.get()
    LongTermMemory.objects.update(text="likes coffee")

    assert embeddings.keep([stale], [hashed("likes tea")], model="hash") == 0
    assert embeddings.waiting().get().pk == memory.pk


def test_a_text_that_the_endpoint_refuses_keeps_no_other_waiting(model: ModelServer):
    def picky(body: dict[str, Any]) -> tuple[int, bytes]:
        return fails(400)(body) if "bad" in body["input"] else embeds(body)

    model.answer(picky)
    store(make_container(), *(a_memory(text) for text in ("good", "bad", "better")))

    run()

    found = vectors()
    assert (found["bad"], found["good"] is None, found["better"] is None) == (None, False, False)
    assert not embeddings.waiting().exists()


def test_a_wrong_key_is_an_error_and_gives_up_no_memory(model: ModelServer):
    model.answer(fails(401))
    make_memory(make_container(), "likes tea")

    with pytest.raises(Refused):
        run()

    assert embeddings.waiting().count() == 1


def test_the_archive_keeps_no_vector_and_a_restored_memory_waits_for_one(model: ModelServer):
    make_memory(make_container(), "likes tea")
    run()
    chosen = Chosen("SELECT id, subject_id, revision, last_accessed_at, 'age' AS reason FROM store_longtermmemory")
    removal.remove_long_term(chosen, archive=ArchiveNote(run_number=None, now=NOON, expires_at=None))

    restoring.restore_item(Archived.objects.get(), actor=ACTOR, now=NOON)

    assert embeddings.waiting().get().text == "likes tea"


def test_another_model_makes_all_wait_again(model: ModelServer):
    store(make_container(), *(a_memory(f"fact {number}") for number in range(3)))
    run()

    last = embeddings.ask_again("new", after=0, limit=2)

    assert embeddings.waiting().count() == 2
    assert embeddings.ask_again("new", after=last or 0, limit=2) is not None
    assert embeddings.waiting().count() == 3
    assert embeddings.ask_again("new", after=LongTermMemory.objects.latest("id").pk, limit=2) is None


def test_long_texts_are_read_from_their_beginning(model: ModelServer):
    make_memory(make_container(), "x" * (embedding.LONGEST + 5))

    run()

    assert len(model.requests[0]["input"][0]) == embedding.LONGEST
    assert json.dumps(model.requests[0]["model"]) == '"hash"'


def test_the_command_makes_vectors_for_what_was_there_before_the_endpoint(settings: Any):
    store(make_container(), *(a_memory(f"fact {number}") for number in range(3)))
    with model_server.running() as server:
        settings.EMBEDDING_URL = server.url
        server.answer(embeds)

        answer = printed("embed_memories", "--json")
        again = printed("embed_memories")

    assert json.loads(answer) == {"waiting": 3, "embedded": 3}
    assert again == "0 memories waited for a vector, 0 have one now.\n"


def test_the_command_needs_an_endpoint():
    with pytest.raises(CommandError, match="EMBEDDING_URL"):
        call_command("embed_memories")


def printed(*arguments: str) -> str:
    out = StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()
