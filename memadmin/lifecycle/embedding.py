"""The job that gives long-term memories their vectors, a few dozen at a time, whenever some wait for one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from memadmin.jobs import queue
from memadmin.jobs.registry import JobView, Step
from memadmin.llm.client import Endpoint, Refused, embed
from memadmin.llm.endpoints import embedding_endpoint
from memadmin.store import embeddings
from memadmin.store.models import LongTermMemory

EMBED = "embed"
ACTOR = "job/embed"
AT_ONCE = 64
LONGEST = 8_000  # characters of a memory that the model reads


def request(*, actor: str, now: datetime) -> None:
    """Queue the job, in the transaction that stores a text, where there is an endpoint. One that waits already serves all."""
    if embedding_endpoint() is not None:
        queue.enqueue(EMBED, requested_by=actor, now=now)


def request_if_any_waits(*, now: datetime) -> None:
    if embedding_endpoint() is not None and embeddings.waiting().exists():
        queue.enqueue(EMBED, requested_by=ACTOR, now=now)


def embed_step(job: JobView) -> Step:
    """Give the next memories their vectors. Doing it twice does no harm: what has its vector waits no longer."""
    endpoint = embedding_endpoint()
    memories = list(embeddings.waiting()[:AT_ONCE]) if endpoint else []
    if endpoint is None or not memories:
        return Step(finished=True, done=job.done)
    try:
        _embed(memories, endpoint)
    except Refused:
        _one_by_one(memories, endpoint)
    return Step(finished=False, done=job.done + len(memories))


def _embed(memories: Sequence[LongTermMemory], endpoint: Endpoint) -> None:
    vectors = embed(endpoint, [memory.text[:LONGEST] or " " for memory in memories])
    embeddings.keep(memories, vectors, model=endpoint.model)


def _one_by_one(memories: Sequence[LongTermMemory], endpoint: Endpoint) -> None:
    """Find the text that the endpoint does not take: it stays without a vector, and keeps no other one waiting."""
    refused = []
    for memory in memories:
        try:
            _embed([memory], endpoint)
        except Refused:
            refused.append(memory)
    if len(refused) == len(memories):
        raise Refused("every text")  # a wrong key, not a wrong text
    embeddings.give_up(refused, model=endpoint.model)
