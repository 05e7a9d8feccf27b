"""What must not be found again: users by key, things by name, people by the ids that others know them by."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from memadmin.erasure.verification.needles import forms, quoted_forms
from memadmin.store.identity import is_plain


@dataclass(frozen=True)
class Probes:
    """`names` is a SELECT of UUIDs as the database holds them, so that any number of them costs no memory.

    `people` are the erased ids by the key of their container: the same id elsewhere is somebody else.
    """

    subjects: tuple[int, ...] = ()
    identifiers: tuple[str, ...] = ()
    names: str = ""
    people: frozenset[tuple[int, str]] = frozenset()

    @cached_property
    def needles(self) -> list[str]:
        """Every form of every identifier that stands for itself; what another one contains need not be looked for."""
        return _needles(self.identifiers)

    @cached_property
    def telling_needles(self) -> list[str]:
        """Those of the identifiers that mean the person wherever they stand."""
        return _needles(each for each in self.identifiers if not is_plain(each))

    @cached_property
    def raw_needles(self) -> list[bytes]:
        """What is looked for in bytes, in which a plain word or a number stands by chance."""
        return [needle.encode("utf8", "surrogatepass") for needle in self.telling_needles]

    @cached_property
    def words(self) -> list[str]:
        """The identifiers, as they are and as addresses write them."""
        return [*self.telling_words, *self.plain_words]

    @cached_property
    def telling_words(self) -> list[str]:
        return [form for each in self.identifiers if each and not is_plain(each) for form in quoted_forms(each)]

    @cached_property
    def plain_words(self) -> list[str]:
        """Those that records of the program say too: see `plain`."""
        return [form for each in self.identifiers if each and is_plain(each) for form in quoted_forms(each)]


def _needles(identifiers: Iterable[str]) -> list[str]:
    every = sorted({form for identifier in identifiers if identifier for form in forms(identifier)}, key=len)
    return [form for place, form in enumerate(every) if not any(shorter in form for shorter in every[:place])]
