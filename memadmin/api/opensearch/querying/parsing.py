"""The query language, as far as we speak it, from JSON into `queries`. What we do not speak is refused by name, never skipped."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from memadmin.api.opensearch.querying.globs import exactly, prefix_glob, wildcard_glob
from memadmin.api.opensearch.querying.queries import (
    Bool,
    Clause,
    Exists,
    Ids,
    Like,
    Match,
    MatchAll,
    QueryRefused,
    Range,
    Scalar,
    Terms,
    as_text,
)
from memadmin.store.text import clean
from memadmin.store.words import words_of

DEEPEST = 20  # queries inside queries
MOST_CLAUSES = 1_024
MOST_TERMS = 10_000
MOST_WORDS = 1_024
LONGEST_FIELD = 512  # characters
DEEPEST_FIELD = 7  # dots: each doubles the ways in which a name can be cut into keys
LONGEST_VALUE = 32_766  # characters
# Clients write every option out; these change nothing as we answer.
_WITHOUT_EFFECT = frozenset({"_name", "rewrite", "adjust_pure_negative", "value_type"})
_OF_MATCH = frozenset(
    {
        "analyzer",
        "lenient",
        "prefix_length",
        "max_expansions",
        "fuzzy_transpositions",
        "zero_terms_query",
        "auto_generate_synonyms_phrase_query",
    }
)
_OF_RANGE = frozenset({"format", "time_zone", "relation", "include_lower", "include_upper", "from", "to", "gte", "gt", "lte", "lt"})
_OF_BOOL = frozenset({"must", "filter", "should", "must_not", "minimum_should_match", "boost"})
_MINIMUM = re.compile(r"-?\d{1,4}%?", re.ASCII)


def parse_query(body: object) -> Clause:
    """Return the query of a JSON value. Raises QueryRefused."""
    return _Parser().clause(body, depth=0)


class _Parser:
    """One parse: counts the clauses that it has met."""

    def __init__(self) -> None:
        self.clauses = 0
        self.terms = self.words = 0

    def clause(self, body: object, *, depth: int) -> Clause:
        if not isinstance(body, Mapping):
            raise QueryRefused("[_na] query malformed, must start with start_object")
        if not body:
            raise QueryRefused("query malformed, empty clause found", kind="illegal_argument_exception")
        self._count(depth)
        name, inner = next(iter(body.items()))
        if len(body) > 1:
            raise QueryRefused(f"[{_shown(name)}] malformed query, expected [END_OBJECT] but found [FIELD_NAME]")
        if name == "bool":
            return self._bool(inner, depth=depth)
        if name == "nested":
            return self._nested(inner, depth=depth)
        if name not in _READERS:
            raise QueryRefused(f"unknown query [{_shown(name)}]")
        if not isinstance(inner, Mapping):
            raise QueryRefused(f"[{name}] query malformed, no start_object after query name")
        return self._counted(_READERS[name](inner))

    def _counted(self, clause: Clause) -> Clause:
        self.terms += len(clause.values) if isinstance(clause, Terms | Ids) else 1
        self.words += len(words_of(as_text(clause.value))) if isinstance(clause, Match) else 1
        for number, limit, what in ((self.terms, MOST_TERMS, "values"), (self.words, MOST_WORDS, "words")):
            if number > limit:
                raise QueryRefused(f"A query looks for at most {limit} {what} altogether", kind="too_many_clauses")
        return clause

    def _count(self, depth: int) -> None:
        self.clauses += 1
        if depth > DEEPEST:
            raise QueryRefused(f"The query is nested more than {DEEPEST} levels deep", kind="too_many_nested_clauses")
        if self.clauses > MOST_CLAUSES:
            raise QueryRefused(f"maxClauseCount is set to {MOST_CLAUSES}", kind="too_many_clauses")

    def _bool(self, inner: object, *, depth: int) -> Clause:
        options = _object("bool", inner)
        _only("bool", options, _OF_BOOL)
        groups = {name: self._several(options.get(name, []), depth=depth + 1) for name in ("must", "filter", "should", "must_not")}
        minimum = options.get("minimum_should_match")
        return Bool(**groups, minimum_should_match=None if minimum is None else _minimum(minimum), boost=_boost(options))

    def _several(self, given: object, *, depth: int) -> tuple[Clause, ...]:
        if given is None:
            return ()
        return tuple(self.clause(one, depth=depth) for one in (given if isinstance(given, list) else [given]))

    def _nested(self, inner: object, *, depth: int) -> Clause:
        """Fields carry their full names, so the path adds nothing."""
        options = _object("nested", inner)
        _only("nested", options, {"path", "query", "score_mode", "ignore_unmapped", "boost"})
        if not isinstance(options.get("path"), str):
            raise QueryRefused("[nested] requires 'path' field", kind="illegal_argument_exception")
        return self.clause(options.get("query"), depth=depth + 1)


def _match_all(inner: Mapping[str, Any]) -> Clause:
    _only("match_all", inner, {"boost"})
    return MatchAll(boost=_boost(inner))


def _match_none(inner: Mapping[str, Any]) -> Clause:
    _only("match_none", inner, {"boost"})
    return Ids(values=())


def _term(inner: Mapping[str, Any]) -> Clause:
    field, options = _one_field("term", inner, short="value")
    _only("term", options, {"value", "boost", "case_insensitive"})
    value = _scalar("term", options.get("value"))
    if _switch("term", options, "case_insensitive"):
        return Like(field=field, glob=exactly(as_text(value)), any_case=True, boost=_boost(options))
    return Terms(field=field, values=(value,), boost=_boost(options))


def _terms(inner: Mapping[str, Any]) -> Clause:
    options = {name: value for name, value in inner.items() if name != "boost" and name not in _WITHOUT_EFFECT}
    if len(options) != 1:
        found = " and ".join(f"[{_shown(name)}]" for name in list(options)[:2])
        raise QueryRefused(
            f"[terms] query does not support multiple fields, found {found}" if options else "[terms] query requires a field"
        )
    [(field, values)] = options.items()
    if not isinstance(values, list):
        raise QueryRefused("[terms] query requires an array of values")
    return Terms(field=_field(field), values=tuple(_scalar("terms", value) for value in values), boost=_boost(inner))


def _match(inner: Mapping[str, Any]) -> Clause:
    field, options = _one_field("match", inner, short="query")
    _only("match", options, {"query", "operator", "minimum_should_match", "boost", "fuzziness"} | _OF_MATCH)
    if options.get("fuzziness") not in (None, 0, "0"):
        raise QueryRefused("[match] query does not support [fuzziness]")
    operator = str(options.get("operator") or "or").lower()
    if operator not in ("or", "and"):
        raise QueryRefused(f"[match] operator must be or/and, not [{_shown(operator)}]", kind="illegal_argument_exception")
    minimum = options.get("minimum_should_match")
    at_least: str | int = "100%" if operator == "and" else 1 if minimum is None else _minimum(minimum)
    return Match(field=field, value=_scalar("match", options.get("query")), at_least=at_least, boost=_boost(options))


def _exists(inner: Mapping[str, Any]) -> Clause:
    _only("exists", inner, {"field", "boost"})
    if not isinstance(inner.get("field"), str) or not inner["field"]:
        raise QueryRefused("[exists] must be provided with a [field]")
    return Exists(field=_field(inner["field"]), boost=_boost(inner))


def _range(inner: Mapping[str, Any]) -> Clause:
    field, options = _one_field("range", inner, short=None)
    _only("range", options, _OF_RANGE | {"boost"})
    bounds = {name: options[name] for name in ("gte", "gt", "lte", "lt") if options.get(name) is not None}
    for edge, include, closed, opened in (("from", "include_lower", "gte", "gt"), ("to", "include_upper", "lte", "lt")):
        if options.get(edge) is not None:  # how the engine itself writes a range
            bounds[closed if options.get(include, True) else opened] = options[edge]
    if options.get("time_zone") not in (None, "UTC", "Z", "+00:00"):
        raise QueryRefused("[range] query does not support [time_zone]: write times with their zone")
    return Range(field=field, boost=_boost(options), **{name: _scalar("range", value) for name, value in bounds.items()})


def _wildcard(inner: Mapping[str, Any]) -> Clause:
    field, options = _one_field("wildcard", inner, short="value")
    _only("wildcard", options, {"value", "wildcard", "boost", "case_insensitive"})
    pattern = as_text(_scalar("wildcard", options.get("value", options.get("wildcard"))))
    return Like(field=field, glob=wildcard_glob(pattern), any_case=_switch("wildcard", options, "case_insensitive"), boost=_boost(options))


def _prefix(inner: Mapping[str, Any]) -> Clause:
    field, options = _one_field("prefix", inner, short="value")
    _only("prefix", options, {"value", "boost", "case_insensitive"})
    beginning = as_text(_scalar("prefix", options.get("value")))
    return Like(field=field, glob=prefix_glob(beginning), any_case=_switch("prefix", options, "case_insensitive"), boost=_boost(options))


def _ids(inner: Mapping[str, Any]) -> Clause:
    _only("ids", inner, {"values", "boost"})
    values = inner.get("values")
    if not isinstance(values, list):
        raise QueryRefused("[ids] requires providing an array of values")
    return Ids(values=tuple(as_text(_scalar("ids", value)) for value in values), boost=_boost(inner))


_READERS: dict[str, Callable[[Mapping[str, Any]], Clause]] = {
    "match_all": _match_all,
    "match_none": _match_none,
    "term": _term,
    "terms": _terms,
    "match": _match,
    "exists": _exists,
    "range": _range,
    "wildcard": _wildcard,
    "prefix": _prefix,
    "ids": _ids,
}


def _object(name: str, value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise QueryRefused(f"[{name}] query malformed, no start_object after query name")
    return value


def _one_field(name: str, inner: Mapping[str, Any], *, short: str | None) -> tuple[str, Mapping[str, Any]]:
    """Return the field and its options; `short` names the option that may stand there alone."""
    field, options = _only_field(name, inner)
    if isinstance(options, Mapping):
        return _field(field), options
    if short is None:
        raise QueryRefused(f"[{name}] query does not support [{_shown(field)}]")
    return _field(field), {short: options}


def _only_field(name: str, inner: Mapping[str, Any]) -> tuple[str, Any]:
    if not inner:
        raise QueryRefused(f"[{name}] query requires a field")
    if len(inner) > 1:
        found = " and ".join(f"[{_shown(key)}]" for key in list(inner)[:2])
        raise QueryRefused(f"[{name}] query doesn't support multiple fields, found {found}")
    [(field, value)] = inner.items()
    return field, value


def _only(name: str, options: Mapping[str, Any], known: frozenset[str] | set[str]) -> None:
    for option in options:
        if option not in known and option not in _WITHOUT_EFFECT:
            raise QueryRefused(f"[{name}] query does not support [{_shown(option)}]")


def _field(name: str) -> str:
    if not name or len(name) > LONGEST_FIELD or name.count(".") > DEEPEST_FIELD:
        raise QueryRefused(
            f"a field name has 1 to {LONGEST_FIELD} characters and at most {DEEPEST_FIELD} dots", kind="illegal_argument_exception"
        )
    return clean(name)


def _scalar(name: str, value: object) -> Scalar:
    if value is None:
        raise QueryRefused(f"[{name}] value cannot be null", kind="illegal_argument_exception")
    if not isinstance(value, str | int | float | bool):
        raise QueryRefused(f"[{name}] query does not support arrays or objects as a value")
    if isinstance(value, float) and not math.isfinite(value):
        raise QueryRefused(f"[{name}] value must be a finite number", kind="illegal_argument_exception")
    if isinstance(value, str) and len(value) > LONGEST_VALUE:
        raise QueryRefused(f"[{name}] value is longer than {LONGEST_VALUE} characters", kind="illegal_argument_exception")
    return clean(value) if isinstance(value, str) else value


def _boost(options: Mapping[str, Any]) -> float:
    value = options.get("boost", 1.0)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 <= value <= 1e6:  # false of NaN too, and true or false of a whole number of any length
        raise QueryRefused("[boost] must be a number from 0 to 1000000", kind="illegal_argument_exception")
    return float(value)


def _switch(name: str, options: Mapping[str, Any], option: str) -> bool:
    value = options.get(option, False)
    if value not in (True, False, "true", "false"):
        raise QueryRefused(f"[{name}] [{option}] must be true or false", kind="illegal_argument_exception")
    return value in (True, "true")


def _minimum(value: object) -> str | int:
    text = str(value)
    if isinstance(value, bool) or not isinstance(value, int | str) or not _MINIMUM.fullmatch(text):
        raise QueryRefused("[minimum_should_match] takes a number like 2 or -1, or a share like 75%", kind="illegal_argument_exception")
    return text if text.endswith("%") else int(text)


def _shown(name: object) -> str:
    return str(name)[:100]
