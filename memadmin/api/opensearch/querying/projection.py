"""Which parts of a document a search wants to see."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memadmin.api.opensearch.querying.globs import matches, wildcard_glob
from memadmin.api.opensearch.querying.queries import Glob, SourceFilter, Wild


def project(document: dict[str, Any], wanted: SourceFilter) -> dict[str, Any]:
    """Return the document with what `includes` names, all of it where there are none, less what `excludes` names.

    A pattern names a path with dots and all below it; * stands for any characters, dots too.
    """
    if not wanted.includes and not wanted.excludes:
        return document
    includes = [wildcard_glob(pattern) for pattern in wanted.includes]
    excludes = [wildcard_glob(pattern) for pattern in wanted.excludes]
    return _kept(document, "", includes, excludes, included=not includes)


def _kept(part: dict[str, Any], path: str, includes: Sequence[Glob], excludes: Sequence[Glob], *, included: bool) -> dict[str, Any]:
    found = {}
    for name, value in part.items():
        here = f"{path}{name}"
        if _names(excludes, here):
            continue
        inside = included or _names(includes, here)
        kept = _inner(value, f"{here}.", includes, excludes, included=inside)
        if inside or kept not in ({}, [], None):
            found[name] = kept
    return found


def _inner(value: Any, path: str, includes: Sequence[Glob], excludes: Sequence[Glob], *, included: bool) -> Any:
    if isinstance(value, dict):
        return _kept(value, path, includes, excludes, included=included)
    if isinstance(value, list):
        kept = [_inner(one, path, includes, excludes, included=included) for one in value]
        return kept if included else [one for one in kept if one not in ({}, [], None)]
    return value if included else None


def _names(globs: Sequence[Glob], path: str) -> bool:
    return any(matches(glob, path) or matches((*glob, ".", Wild.ANY), path) for glob in globs)
