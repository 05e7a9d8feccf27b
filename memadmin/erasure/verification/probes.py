"""What must not be found again: users by key, things by name, people by the ids that others know them by."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from memadmin.erasure.verification.needles import forms, quoted_forms


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
        every = sorted({form for identifier in self.identifiers if identifier for form in forms(identifier)}, key=len)
        return [form for place, form in enumerate(every) if not any(shorter in form for shorter in every[:place])]

    @cached_property
    def raw_needles(self) -> list[bytes]:
        return [needle.encode("utf8", "surrogatepass") for needle in self.needles]

    @cached_property
    def words(self) -> list[str]:
        """The identifiers, as they are and as addresses write them."""
        return [form for identifier in self.identifiers if identifier for form in quoted_forms(identifier)]
