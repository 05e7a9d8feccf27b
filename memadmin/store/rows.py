"""Rows for the tables, made from what arrives."""

from __future__ import annotations

import functools
from collections.abc import Hashable
from dataclasses import fields
from typing import Any, cast

from django.db import models

from memadmin.store.intake import Incoming


def row_of(model: type[models.Model], item: Incoming, **computed: Any) -> dict[str, Any]:
    """Return every column of a new row: what is computed, else what is given, else the default."""
    defaults, given = _columns(model, cast(Hashable, type(item)))
    row = {**defaults, **{name: getattr(item, name) for name in given}, **computed}
    if row.get("last_updated_at", row) is None:
        row["last_updated_at"] = item.created_at
    return row


@functools.cache
def _columns(model: type[models.Model], kind: Any) -> tuple[dict[str, Any], list[str]]:
    """Return the defaults of a table's columns, and the names of those that an item gives."""
    defaults = {column.attname: column.get_default() for column in model._meta.concrete_fields if not column.primary_key}
    return defaults, [given.name for given in fields(kind) if given.name in defaults]
