"""The values inside JSON columns, tested as keywords. A name with dots is looked for as nested keys and as keys that hold dots.

On PostgreSQL this is SQL over jsonpath; on SQLite the same meaning in Python, registered with the connection when a query needs it.
Lists are looked into, on the way and at its end.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any

from django.db.models import BooleanField, F, Func, IntegerField, TextField

from memadmin.api.opensearch.querying.queries import as_text
from memadmin.api.opensearch.querying.text_tests import TextTest
from memadmin.recall import finding

Keys = tuple[str, ...]


class ColumnTest(Func):
    """A text column or expression under a `TextTest`. Never NULL."""

    output_field = BooleanField()

    def __init__(self, expression: Any, test: TextTest) -> None:
        super().__init__(expression)
        self.test = test

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        register(connection)
        sql, parameters = compiler.compile(self.source_expressions[0])
        return f"memadmin_text({sql}, %s)", [*parameters, self.test.as_json()]

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        sql, parameters = compiler.compile(self.source_expressions[0])
        condition, given = self.test.postgresql("t.text")
        return f"EXISTS (SELECT 1 FROM (SELECT {sql} AS text) AS t WHERE {condition})", [*parameters, *given]


class LeafTest(Func):
    """The values of a JSON column under a name, or all of them without one, under a `TextTest`. Never NULL."""

    output_field = BooleanField()

    def __init__(self, column: str, name: str, test: TextTest) -> None:
        super().__init__(F(column))
        self.name, self.test = name, test

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        register(connection)
        sql, parameters = compiler.compile(self.source_expressions[0])
        return f"memadmin_leaf({sql}, %s, %s)", [*parameters, self.name, self.test.as_json()]

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        sql, parameters = compiler.compile(self.source_expressions[0])
        condition, given = self.test.postgresql("(v #>> '{}')")
        scalar = "jsonb_typeof(v) IN ('string', 'number', 'boolean')"
        paths = "unnest(%s::text[]::jsonpath[]) AS p"
        return (
            f"EXISTS (SELECT 1 FROM {paths}, jsonb_path_query({sql}, p) AS v WHERE {scalar} AND {condition})",
            [jsonpaths(self.name, whole=self.test.asks_presence_only), *parameters, *given],
        )


class MessageText(Func):
    """The texts of a column of messages, one below the other; "" where there is none."""

    output_field = TextField()

    def __init__(self, column: str) -> None:
        super().__init__(F(column))

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        register(connection)
        sql, parameters = compiler.compile(self.source_expressions[0])
        return f"memadmin_messages({sql})", parameters

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        sql, parameters = compiler.compile(self.source_expressions[0])
        texts = "unnest(ARRAY['lax $.content[*]', 'lax $.content[*].text[*]']::jsonpath[]) AS p"
        strings = f"FROM {texts}, jsonb_path_query({sql}, p) AS v WHERE jsonb_typeof(v) = 'string'"
        return f"COALESCE((SELECT string_agg(v #>> '{{}}', E'\\n') {strings}), '')", parameters


class KeyCount(Func):
    """How many keys a JSON object has; 0 for anything else."""

    output_field = IntegerField()

    def __init__(self, column: str) -> None:
        super().__init__(F(column))

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        sql, parameters = compiler.compile(self.source_expressions[0])
        return f"(CASE WHEN json_type({sql}) = 'object' THEN (SELECT COUNT(*) FROM json_each({sql})) ELSE 0 END)", [
            *parameters,
            *parameters,
        ]

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        sql, parameters = compiler.compile(self.source_expressions[0])
        keys = f"SELECT COUNT(*) FROM jsonb_object_keys({sql})"
        return f"(CASE WHEN jsonb_typeof({sql}) = 'object' THEN ({keys}) ELSE 0 END)", [*parameters, *parameters]


def cuts(name: str) -> Iterator[Keys]:
    """Yield every way to read a dotted name as keys: `a.b` is b in a, or one key `a.b`. The empty name yields nothing."""
    words = name.split(".") if name else []
    for joined in product((False, True), repeat=max(len(words) - 1, 0)):
        keys = words[:1]
        for glued, word in zip(joined, words[1:], strict=True):
            if glued:
                keys[-1] += f".{word}"
            else:
                keys.append(word)
        if keys:
            yield tuple(keys)


def jsonpaths(name: str, *, whole: bool) -> list[str]:
    """Return the jsonpaths that together reach what `values_at` yields; with `whole` everything below it too."""
    if not name:
        return ["lax $.**"]
    below = ".**" if whole else ""
    return ["lax $" + "".join(f".{json.dumps(key)}[*]" for key in keys) + below for keys in cuts(name)]


def values_at(document: Any, name: str) -> Iterator[Any]:
    """Yield the values under a name, or all scalar ones below without a name. One may come twice."""
    if not name:
        yield from _scalars(document)
    for keys in cuts(name):
        found = [document]
        for key in keys:
            found = [inner for value in found for inner in _step(value, key)]
        yield from found


def _scalars(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from _scalars(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _scalars(inner)
    else:
        yield value


def _step(value: Any, key: str) -> Iterator[Any]:
    """Go one key down, as `."key"[*]` does in lax mode."""
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, dict) and key in each:
            inner = each[key]
            yield from inner if isinstance(inner, list) else [inner]


def register(connection: Any) -> None:
    """Make our functions known to SQLite."""
    finding.register(connection, _FUNCTIONS)


def _text_holds(text: str | None, test: str) -> bool:
    return text is not None and TextTest.from_json(test).holds(text)


def _leaf_holds(column: str | None, name: str, test: str) -> bool:
    asked = TextTest.from_json(test)
    if column is None or not asked.may_stand_in(column):
        return False
    values = values_at(json.loads(column), name)
    if asked.asks_presence_only:
        return any(leaf is not None for value in values for leaf in _scalars(value))
    return any(asked.holds(as_text(value)) for value in values if isinstance(value, str | int | float))


def _message_text(column: str | None) -> str:
    return "\n".join(message_texts(json.loads(column or "[]")))


def message_texts(messages: Any) -> Iterator[str]:
    """Yield the texts of messages: what is a text in `content`, and what is under `text` in its parts."""
    found = [*values_at(messages, "content"), *(text for content in values_at(messages, "content") for text in _step(content, "text"))]
    yield from (value for value in found if isinstance(value, str))


_FUNCTIONS: Mapping[str, tuple[int, Callable[..., Any]]] = {
    "memadmin_text": (2, _text_holds),
    "memadmin_leaf": (3, _leaf_holds),
    "memadmin_messages": (1, _message_text),
}
