"""Containers that would share indices in OpenSearch: those of one tenant with one prefix. Here each has its own rows all the same."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import Q, QuerySet

from memadmin.api.opensearch import documents
from memadmin.api.opensearch.configuring import EMBEDDING_FIELDS, Configuration
from memadmin.api.opensearch.errors import CONFLICT, ApiError, bad_argument
from memadmin.store import making_locks
from memadmin.store.models import Container, ItemType

CONFLICTING = "Embedding configuration conflicts with existing shared index"


def check_not_shared(container: Container) -> None:
    """Raise the answer for a deletion that would take the memories of other containers along."""
    if next(_sharing(container), None) is not None:
        text = f"Cannot delete memory indices as multiple containers share the index prefix '{documents.prefix_of(container)}'. "
        raise ApiError(409, CONFLICT, f"{text}Delete the container without its memories, or its memories by query.")


def check_embedding(container: Container, *, verb: str) -> None:
    """Raise the answer for vectors of another model than those of an index that is there already. `verb`: "create" or "update".

    No other one comes until the transaction ends.
    """
    if not _has_vectors(container.configuration):
        return
    making_locks.one_at_a_time()
    own = _embedding(container.configuration)
    for other in _sharing(container, configuration__llm_id__isnull=False, configuration__strategies__isnull=False):
        if _has_vectors(other.configuration) and _embedding(other.configuration) != own:
            index = documents.index_name(container, ItemType.LONG_TERM)
            raise bad_argument(f"Cannot {verb} memory container: {CONFLICTING} '{index}'. Take its model, or another index_prefix.")


def _sharing(container: Container, **conditions: bool) -> Iterator[Container]:
    """Yield the other containers whose indices would be the same."""
    index = documents.index_name(container, ItemType.LONG_TERM)
    for other in (
        _of_prefix(documents.prefix_of(container)).exclude(pk=container.pk).filter(tenant=container.tenant, **conditions).iterator()
    ):
        if documents.index_name(other, ItemType.LONG_TERM) == index:
            yield other


def _of_prefix(prefix: str) -> QuerySet[Container]:
    unnamed = Q(configuration__index_prefix__isnull=True) if prefix == documents.DEFAULT_PREFIX else Q()
    return Container.objects.standing().filter(Q(configuration__index_prefix=prefix) | unnamed)


def _has_vectors(configuration: Configuration) -> bool:
    return bool(configuration.get("llm_id") and configuration.get("strategies"))


def _embedding(configuration: Configuration) -> list[object]:
    return [configuration.get(name) for name in EMBEDDING_FIELDS]
