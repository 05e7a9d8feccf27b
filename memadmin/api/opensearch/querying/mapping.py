"""Which field a name on the wire stands for, by memory type. A name that is none of them matches nothing, as an unmapped field does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Case, F, IntegerField, Value, When
from django.db.models.functions import NullIf
from django.db.models.lookups import Exact

from memadmin.api.opensearch.documents import wire_id
from memadmin.api.opensearch.querying.fields import Field, Fixed, Flag, Keyword, Leaf, Moment, Text, Whole
from memadmin.api.opensearch.querying.leaves import KeyCount
from memadmin.api.opensearch.querying.references import Id, MemoryRef, User
from memadmin.api.opensearch.reach import MODELS
from memadmin.store.models import Container, ItemType

Makers = Mapping[str, Callable[[Container], Field]]


@dataclass(frozen=True, slots=True)
class Mapped:
    """The fields of one type's documents in one container; containers themselves have none around them."""

    item_type: ItemType | None
    container: Container | None = None

    def field(self, name: str) -> Field | None:
        """Return the field of a name, or None."""
        if self.item_type is None or self.container is None:
            if name == "_id":
                return Id(Container, None)
            return _CONTAINER.get(name) or _leaf(name, {"configuration": "configuration", "owner": "owner"})
        if name == "_id":
            return Id(MODELS[self.item_type], self.container)
        maker = _FIELDS[self.item_type].get(name)
        return maker(self.container) if maker else _leaf(name, _JSON[self.item_type])


def _leaf(name: str, columns: Mapping[str, str]) -> Field | None:
    root, _, rest = name.partition(".")
    return Leaf(columns[root], rest) if root in columns else None


def _same(field: Field) -> Callable[[Container], Field]:
    return lambda container: field


def _namespace_size(*, with_session: bool) -> Field:
    """The number of keys of the namespace as a document shows it: a row without one shows its user and session."""
    known: Any = _one_if(subject__user_id__isnull=False)
    if with_session:
        known = known + _one_if(session_ref__isnull=False)
    written = KeyCount("namespace")
    size = Case(When(Exact(written, 0), then=known), default=written, output_field=IntegerField())
    return Whole(NullIf(size, Value(0)))


def _one_if(**condition: bool) -> Case:
    return Case(When(**condition, then=Value(1)), default=Value(0), output_field=IntegerField())


_COMMON: Makers = {
    "owner_id": _same(Keyword("owner")),
    "memory_container_id": lambda container: Fixed(wire_id(container)),
    "tenant_id": lambda container: Fixed(container.tenant),
    "created_time": _same(Moment("created_at")),
    "namespace.user_id": lambda container: User(container),
}
_PINNED: Makers = {"pinned": _same(Flag("pinned", shown=False))}
_UPDATED: Makers = {"last_updated_time": _same(Moment("last_updated_at"))}
_SIZE: Makers = {"namespace_size": _same(_namespace_size(with_session=False))}

_FIELDS: Mapping[ItemType, Makers] = {
    ItemType.SESSION: {**_COMMON, **_PINNED, **_UPDATED, "summary": _same(Text("summary"))},
    ItemType.WORKING: {
        **_COMMON,
        **_UPDATED,
        "namespace_size": _same(_namespace_size(with_session=True)),
        "namespace.session_id": _same(Keyword("session_ref")),
        "session_id": _same(Keyword("session_ref")),
        "payload_type": _same(Keyword("payload_type")),
        "message_id": _same(Whole(F("message_id"))),
        "checkpoint_id": _same(Keyword("checkpoint_id")),
        "infer": _same(Flag("infer")),
        **dict.fromkeys(("messages", "messages.content", "messages.content.text"), _same(Text("messages", messages=True))),
    },
    ItemType.LONG_TERM: {
        **_COMMON,
        **_PINNED,
        **_UPDATED,
        **_SIZE,
        "tenant_id": _same(Fixed(None)),
        "memory": _same(Text("text")),
        "strategy_id": _same(Keyword("strategy_id")),
        "strategy_type": _same(Keyword("strategy_type")),
    },
    ItemType.HISTORY: {
        **_COMMON,
        **_PINNED,
        **_SIZE,
        "memory_id": lambda container: MemoryRef(container),
        "action": _same(Keyword("action")),
        "error": _same(Text("error")),
    },
}
_JSON: Mapping[ItemType, Mapping[str, str]] = {
    item_type: {name: name for name in ("namespace", *names)}
    for item_type, names in {
        ItemType.SESSION: ("metadata", "agents", "additional_info"),
        ItemType.WORKING: ("metadata", "tags", "parameters", "structured_data", "messages"),
        ItemType.LONG_TERM: ("tags",),
        ItemType.HISTORY: ("tags", "before", "after"),
    }.items()
}
_CONTAINER: Mapping[str, Field] = {
    "name": Text("name"),
    "name.keyword": Keyword("name"),
    "description": Text("description"),
    "tenant_id": Keyword("tenant"),
    "created_time": Moment("created_at"),
    "last_updated_time": Moment("last_updated_at"),
    "orphan_sweep_baseline_time": Moment("orphan_baseline_at"),
    "backend_roles": Leaf("backend_roles", ""),
    "backend_roles.keyword": Leaf("backend_roles", ""),
    "owner.name.keyword": Leaf("owner", "name"),
    "configuration.disable_session": Flag("sessions_enabled", inverted=True),
    "configuration.disable_history": Flag("history_enabled", inverted=True),
}
