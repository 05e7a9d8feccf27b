"""Every address of the product, as Django knows it."""

from collections.abc import Iterator
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver


def addresses() -> list[tuple[str, str, Any]]:
    """Return path, name and view of every address."""

    def walk(resolver: URLResolver, path: str) -> Iterator[tuple[str, str, Any]]:
        for entry in resolver.url_patterns:
            if isinstance(entry, URLPattern):
                yield path + str(entry.pattern), entry.name or str(entry.pattern), entry.callback
            else:
                yield from walk(entry, path + str(entry.pattern))

    return list(walk(get_resolver(), "/"))
