"""Fields that stand for other rows or columns, so that looking for an id reads an index however large the table is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import models
from django.db.models import CharField, F, Func, Q, Value
from django.db.models.functions import Coalesce, NullIf

from memadmin.api.opensearch.querying.fields import Field, Keyword, text_bounds
from memadmin.api.opensearch.querying.leaves import ColumnTest
from memadmin.api.opensearch.querying.queries import Like, Range, Scalar, as_text
from memadmin.api.opensearch.querying.text_tests import TextTest
from memadmin.api.opensearch.reach import uid_of
from memadmin.store.models import Container, HistoryEntry, Subject


class UidText(Func):
    """A uid column as the text with hyphens."""

    output_field = CharField()

    def __init__(self, column: str) -> None:
        super().__init__(F(column))

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        sql, parameters = compiler.compile(self.source_expressions[0])
        return f"({sql})::text", parameters

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        sql, parameters = compiler.compile(self.source_expressions[0])  # a column: has no parameters
        parts = [f"substr({sql}, {start}, {length})" for start, length in ((1, 8), (9, 4), (13, 4), (17, 4), (21, 12))]
        return "(" + " || '-' || ".join(parts) + ")", parameters


def wire_id_expression() -> Any:
    """Return what `documents.wire_id` returns."""
    return Coalesce(NullIf(F("external_id"), Value("")), UidText("uid"))


@dataclass(frozen=True)
class Id(Field):
    """The document's own id: the one that its source gave, else the uid. `container` None: the documents are containers."""

    model: type[models.Model]
    container: Container | None
    kind = "_id"

    def equals(self, values: Sequence[Scalar]) -> Q:
        texts = [as_text(value) for value in values]
        rows = self.model._default_manager.all() if self.container is None else self.model._default_manager.filter(container=self.container)
        named = rows.filter(external_id__in=[text for text in texts if text])
        return Q(pk__in={*named.values_list("pk", flat=True), *self._unnamed(texts)})

    def _unnamed(self, texts: Sequence[str]) -> list[int]:
        """Look up rows by their uids alone: a further condition would tempt the planner to walk through the container instead."""
        found = self.model._default_manager.filter(uid__in=uids_among(texts))
        if self.container is None:
            return [key for key, name in found.values_list("pk", "external_id") if not name]
        rows = found.values_list("pk", "external_id", "container_id")
        return [key for key, name, container in rows if not name and container == self.container.pk]

    def like(self, clause: Like) -> Q:
        return Q(ColumnTest(wire_id_expression(), TextTest(glob=clause.glob, any_case=clause.any_case)))

    def within(self, clause: Range) -> Q:
        return Q(ColumnTest(wire_id_expression(), TextTest(bounds=text_bounds(clause))))


@dataclass(frozen=True)
class User(Field):
    """The user whom the row is about."""

    container: Container
    kind = "keyword"

    def equals(self, values: Sequence[Scalar]) -> Q:
        users = Subject.objects.of_container(self.container).filter(user_id__in=[as_text(value) for value in values])
        # Looked up beforehand: the planner then knows how many rows each of them has.
        return Q(subject_id__in=list(users.values_list("id", flat=True)))

    def like(self, clause: Like) -> Q:
        return Keyword("subject__user_id").like(clause)

    def within(self, clause: Range) -> Q:
        return Keyword("subject__user_id").within(clause)

    def exists(self) -> Q:
        return Q(subject__user_id__isnull=False)


@dataclass(frozen=True)
class MemoryRef(Field):
    """The long-term memory that a history entry is about."""

    container: Container
    kind = "keyword"

    def equals(self, values: Sequence[Scalar]) -> Q:
        texts = [as_text(value) for value in values]
        entries = HistoryEntry.objects
        named = entries.filter(container=self.container, memory_ref__in=[text for text in texts if text]).values_list("pk", flat=True)
        found = entries.filter(memory_uid__in=uids_among(texts)).values_list("pk", "memory_ref", "container_id")
        unnamed = [key for key, name, container in found if not name and container == self.container.pk]
        return Q(pk__in={*named, *unnamed})

    def like(self, clause: Like) -> Q:
        return Q(ColumnTest(self.expression, TextTest(glob=clause.glob, any_case=clause.any_case)))

    def within(self, clause: Range) -> Q:
        return Q(ColumnTest(self.expression, TextTest(bounds=text_bounds(clause))))

    def exists(self) -> Q:
        return Q(memory_uid__isnull=False) | (Q(memory_ref__isnull=False) & ~Q(memory_ref=""))

    @property
    def expression(self) -> Any:
        return Coalesce(NullIf(F("memory_ref"), Value("")), UidText("memory_uid"))


def uids_among(texts: Sequence[str]) -> list[UUID]:
    return [uid for text in texts if (uid := uid_of(text))]
