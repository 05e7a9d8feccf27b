"""The body of a search: the query and how its answer is wanted. Like the query language, what we do not speak is refused by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memadmin.api.opensearch.querying.parsing import parse_query
from memadmin.api.opensearch.querying.queries import Clause, MatchAll, QueryRefused, Scalar, Search, SortKey, SourceFilter
from memadmin.store.text import clean

ARGUMENT = "illegal_argument_exception"
WINDOW = 10_000  # hits that can be reached by number; `search_after` reaches all
COUNTED = 10_000  # what the total is counted to where nobody asks for more
EXACTLY = 2**31 - 1
MOST_SORT_KEYS = 10
MOST_PATTERNS = 100
_KNOWN = frozenset({"query", "from", "size", "sort", "search_after", "track_total_hits", "_source"})
# Clients write these out; our answers are the same with and without them.
_WITHOUT_EFFECT = frozenset({"version", "seq_no_primary_term", "timeout", "track_scores", "explain", "stats", "profile"})


def parse_search(body: Mapping[str, Any]) -> Search:
    """Return the search of a body; no query means all. Raises QueryRefused."""
    for name in body:
        if name not in _KNOWN and name not in _WITHOUT_EFFECT:
            raise QueryRefused(f"Unknown key for a search: [{name[:100]}].")
    sort = _sort(body.get("sort"))
    after = _after(body.get("search_after"), sort)
    offset, size = _whole(body, "from", 0), _whole(body, "size", 10)
    _check_window(offset, size, after)
    return Search(
        query=query_of(body) or MatchAll(),
        offset=offset,
        size=size,
        sort=sort,
        after=after,
        count_to=_count_to(body.get("track_total_hits")),
        source=_source(body.get("_source")),
    )


def query_of(body: Mapping[str, Any]) -> Clause | None:
    """Return the query of a body, or None where there is none. Raises QueryRefused."""
    return parse_query(body["query"]) if body.get("query") is not None else None


def _check_window(offset: int, size: int, after: object) -> None:
    if offset + size > WINDOW:
        reason = f"Result window is too large, from + size must be less than or equal to: [{WINDOW}] but was [{offset + size}]"
        raise QueryRefused(f"{reason}. Page with search_after instead", kind=ARGUMENT)
    if after is not None and offset > 0:
        raise QueryRefused("`from` parameter must be set to 0 when `search_after` is used.", kind=ARGUMENT)


def _whole(body: Mapping[str, Any], name: str, default: int) -> int:
    value = body.get(name)
    if value is None:
        return default
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
        raise QueryRefused(f"[{name}] must be a whole number", kind=ARGUMENT)
    if value < 0:
        raise QueryRefused(f"[{name}] parameter cannot be negative, found [{int(value)}]", kind=ARGUMENT)
    return int(value)


def _count_to(value: object) -> int | None:
    if value is None:
        return COUNTED
    if isinstance(value, bool) or value in ("true", "false"):
        return EXACTLY if value in (True, "true") else None
    if not isinstance(value, int) or not 0 <= value <= EXACTLY:
        raise QueryRefused(f"[track_total_hits] is true, false or a whole number from 0 to {EXACTLY}", kind=ARGUMENT)
    return value


def _sort(value: object) -> tuple[SortKey, ...]:
    given = [] if value is None else value if isinstance(value, list) else [value]
    keys = [key for one in given for key in _sort_keys(one)]
    if len(keys) > MOST_SORT_KEYS:
        raise QueryRefused(f"[sort] takes at most {MOST_SORT_KEYS} fields", kind=ARGUMENT)
    return tuple(keys)


def _sort_keys(one: object) -> list[SortKey]:
    if isinstance(one, str):
        name, colon, order = one.rpartition(":")
        return [_sort_key(name, order)] if colon and order in ("asc", "desc") else [_sort_key(one, None)]
    if not isinstance(one, Mapping):
        raise QueryRefused("malformed sort format, within the sort array, an object, or an actual string are allowed", kind=ARGUMENT)
    return [_sort_key(name, options) for name, options in one.items()]


def _sort_key(name: str, options: object) -> SortKey:
    if not isinstance(options, Mapping):
        options = {} if options is None else {"order": options}
    unknown = options.keys() - {"order", "missing", "unmapped_type", "mode", "numeric_type", "format", "nested", "nested_path"}
    if unknown or not name or len(name) > 512:
        raise QueryRefused(f"[sort] does not support [{(min(unknown, default=name))[:100]}]", kind=ARGUMENT)
    order, missing = options.get("order", "desc" if name == "_score" else "asc"), options.get("missing", "_last")
    if not isinstance(order, str) or order.lower() not in ("asc", "desc"):
        raise QueryRefused(f"Unknown SortOrder [{str(order)[:100]}]", kind=ARGUMENT)
    if missing not in ("_last", "_first", None):
        raise QueryRefused("[sort] [missing] is _last or _first", kind=ARGUMENT)
    return SortKey(clean(name), order.lower() == "desc", missing == "_first", "unmapped_type" in options)


def _after(value: object, sort: tuple[SortKey, ...]) -> tuple[Scalar | None, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not value:
        raise QueryRefused("[search_after] must be a list of the values in `sort` of a hit", kind=ARGUMENT)
    if not sort:
        raise QueryRefused("Sort must contain at least one field.", kind=ARGUMENT)
    if len(value) != len(sort):
        raise QueryRefused(f"search_after has {len(value)} value(s) but sort has {len(sort)}.", kind=ARGUMENT)
    if not all(one is None or isinstance(one, str | int | float) for one in value):
        raise QueryRefused("[search_after] takes texts, numbers and null", kind=ARGUMENT)
    return tuple(clean(one) if isinstance(one, str) else one for one in value)


def _source(value: object) -> SourceFilter:
    if value is None or value is True or value == "true":
        return SourceFilter()
    if value is False or value == "false":
        return SourceFilter(wanted=False)
    if isinstance(value, str | list):
        return SourceFilter(includes=_patterns(value))
    if not isinstance(value, Mapping) or value.keys() - {"includes", "include", "excludes", "exclude"}:
        raise QueryRefused("[_source] is true, false, a list of patterns, or an object with includes and excludes")
    return SourceFilter(
        includes=_patterns(value.get("includes", value.get("include"))),
        excludes=_patterns(value.get("excludes", value.get("exclude"))),
    )


def _patterns(value: object) -> tuple[str, ...]:
    patterns = [] if value is None else [value] if isinstance(value, str) else value
    if not isinstance(patterns, list) or not all(isinstance(pattern, str) and len(pattern) <= 512 for pattern in patterns):
        raise QueryRefused("[_source] takes patterns of at most 512 characters")
    if len(patterns) > MOST_PATTERNS:
        raise QueryRefused(f"[_source] takes at most {MOST_PATTERNS} patterns", kind=ARGUMENT)
    return tuple(patterns)
