"""Rows for the tables, made from what arrives."""

from __future__ import annotations

import functools
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from operator import attrgetter
from typing import Any, cast

from django.db import models

from memadmin.store.bulk import Column, Same
from memadmin.store.intake import Incoming


def row_of(model: type[models.Model], item: Incoming, **computed: Any) -> dict[str, Any]:
    """Return every column of a new row: what is computed, else what is given, else the default."""
    defaults, given = _columns(model, cast(Hashable, type(item)))
    row = {**defaults, **{name: getattr(item, name) for name in given}, **computed}
    if row.get("last_updated_at", row) is None:
        row["last_updated_at"] = item.created_at
    return row


def columns_of(model: type[models.Model], items: Sequence[Incoming], computed: Mapping[str, Column]) -> dict[str, Column]:
    """Return every column of new rows, made like those of `row_of`; the items are all of one type."""
    defaults, given = _columns(model, cast(Hashable, type(items[0])))
    columns: dict[str, Column] = {name: Same(value) for name, value in defaults.items()}
    columns |= {name: list(map(attrgetter(name), items)) for name in given if name not in computed}
    if "last_updated_at" in given:
        changed = cast("list[datetime | None]", columns["last_updated_at"])
        columns["last_updated_at"] = [own or item.created_at for own, item in zip(changed, items, strict=True)]
    return {**columns, **computed}


def first_row(columns: Mapping[str, Column]) -> dict[str, Any]:
    return {name: column.value if isinstance(column, Same) else column[0] for name, column in columns.items()}


@functools.cache
def _columns(model: type[models.Model], kind: Any) -> tuple[dict[str, Any], list[str]]:
    """Return the defaults of a table's columns, and the names of those that an item gives."""
    defaults = {column.attname: column.get_default() for column in model._meta.concrete_fields if not column.primary_key}
    return defaults, [given.name for given in fields(kind) if given.name in defaults]
