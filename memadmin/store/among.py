"""Whether a row is among any number of others that are named, as a condition of the row itself.

As `id IN (SELECT id ...)` the whole table was gone through for each of its rows wherever PostgreSQL took it for empty, since what it knows
of a table can be of a time when it was: a second import into a store that had been emptied took hours instead of seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import models

from memadmin.store.bulk import pair_table, uid_list


class UidAmong(models.Func):
    """The uid in this column is one of these: `filter(UidAmong("uid", uids))`."""

    output_field = models.BooleanField()

    def __init__(self, column: str, uids: Sequence[UUID]) -> None:
        super().__init__(models.F(column))
        self.uids = uids

    def as_sql(self, compiler: Any, connection: Any, *_: Any, **__: Any) -> tuple[str, tuple[Any, ...]]:
        column, parameters = compiler.compile(*self.get_source_expressions())
        test, uids = uid_list(column, self.uids)
        return test, (*parameters, *uids)


class PairAmong(models.Func):
    """The number and the text in these two columns are one of these pairs. Two lists would be tried in every combination."""

    output_field = models.BooleanField()

    def __init__(self, number: str, text: str, pairs: Sequence[tuple[int, str | None]]) -> None:
        super().__init__(models.F(number), models.F(text))
        self.pairs = pairs

    def as_sql(self, compiler: Any, connection: Any, *_: Any, **__: Any) -> tuple[str, tuple[Any, ...]]:
        (number, of_number), (text, of_text) = map(compiler.compile, self.get_source_expressions())
        pairs, parameters = pair_table(self.pairs)
        return f"({number}, {text}) IN ({pairs})", (*of_number, *of_text, *parameters)
