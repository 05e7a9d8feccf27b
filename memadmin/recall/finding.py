"""Words in texts as conditions on rows: a regular expression in PostgreSQL, and a function of ours in SQLite that is fast at saying no."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.db.models import BooleanField, Func

from memadmin.store import words
from memadmin.store.words import is_dense, word_pattern, words_of


class HasWord(Func):
    """True where the text holds the word, NULL where there is no text. The word is one that `words_of` gives."""

    output_field = BooleanField()

    def __init__(self, text: Any, word: str) -> None:
        super().__init__(text)
        if words_of(word) != [word]:
            raise ValueError("not a word as texts are cut")
        self.word = word

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        register(connection, {"memadmin_word": (2, has_word)})
        sql, parameters = compiler.compile(self.source_expressions[0])
        return f"memadmin_word({sql}, %s)", [*parameters, self.word]

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        sql, parameters = compiler.compile(self.source_expressions[0])
        return f"({sql}) ~ %s", [*parameters, word_pattern(self.word)]


def has_word(text: str | None, word: str) -> bool | None:
    """Whether the text holds the word. Characters that fold alike casefold alike, so most texts are turned down without a look at words."""
    if text is None or is_dense(word[0]):
        return None if text is None else word in text
    return word.casefold() in text.casefold() and words.has_word(word, text)


def register(connection: Any, functions: Mapping[str, tuple[int, Callable[..., Any]]]) -> None:
    """Make functions known to an SQLite connection, each once: while it reads, it takes none that it has already."""
    connection.ensure_connection()
    of, known = getattr(connection, "_our_functions", (None, set()))
    if of is not connection.connection:  # it was opened anew
        known = set()
    for name, (arity, function) in functions.items():
        if name not in known:
            connection.connection.create_function(name, arity, function, deterministic=True)
    connection._our_functions = (connection.connection, known | functions.keys())
