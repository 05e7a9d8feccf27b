"""Finding again, in an older database, whom and what the ledger names by keyed digests: by going through all there is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any
from uuid import UUID

from memadmin.erasure.intake import Thing
from memadmin.store import refs
from memadmin.store.models import Archived, ItemType, LongTermMemory, Session, Subject, WorkingMemory
from memadmin.store.suppression_keys import KeysUnusable

AT_ONCE = 5_000
Named = Iterable[tuple[str, str]]  # (id of the key, name in the ledger)


def users(wanted: Named) -> dict[str, int]:
    """Return the keys of the rows of those users that are there, by their names in the ledger. Raises KeysUnusable."""
    by_key = _by_key(wanted)
    containers = {name.partition("/")[0] for names in by_key.values() for name in names}
    rows = Subject.objects.filter(container__uid__in=containers).values_list("pk", "user_id", "container__uid")
    found: dict[str, int] = {}
    for pk, user_id, container in rows.iterator(chunk_size=AT_ONCE) if containers else ():
        for key, names in by_key.items():
            name = f"{container}/{refs.subject_ref(container, user_id, key=key)}"
            if name in names:
                found[name] = pk
    return found


def things(wanted: Named) -> dict[str, Thing]:
    """Return the sessions, messages and memories that are there, by their names in the ledger. Raises KeysUnusable."""
    by_key = _by_key(wanted)
    found: dict[str, Thing] = {}
    for item_type, uid, container_id, subject_id in _items() if by_key else ():
        for key, names in by_key.items():
            name = refs.item_ref(uid, key=key)
            if name in names:
                found.setdefault(name, Thing(ItemType(item_type), uid, container_id, subject_id))
    return found


def _items() -> Iterator[tuple[str, UUID, int, int]]:
    models: tuple[tuple[ItemType, Any], ...] = (
        (ItemType.SESSION, Session),
        (ItemType.WORKING, WorkingMemory),
        (ItemType.LONG_TERM, LongTermMemory),
    )
    for item_type, model in models:
        for row in model.objects.values_list("uid", "container_id", "subject_id").iterator(chunk_size=AT_ONCE):
            yield item_type, *row
    yield from Archived.objects.values_list("item_type", "uid", "container_id", "subject_id").iterator(chunk_size=AT_ONCE)


def _by_key(wanted: Named) -> dict[str, set[str]]:
    """Group names by the key that they were made with. Without it nobody can be found, and it must not look as if nobody were there."""
    by_key: defaultdict[str, set[str]] = defaultdict(set)
    for key, name in wanted:
        by_key[key].add(name)
    unknown = sorted(set(by_key) - refs.known_keys())
    if unknown:
        raise KeysUnusable(
            f"The ledger was written with the key {unknown[0]}, which is not in the file of keys (SUPPRESSION_KEYS):"
            " put the newest copy of that file back, or the SECRET_KEY of that time for a key of 16 signs."
        )
    return dict(by_key)
