"""Whom or what one discovery is about, as the places of the store ask for it (`store.locations.Scope`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet

from memadmin.erasure.models import Kind, Manifest, ManifestItem, Origin, ScopeItem
from memadmin.store.identity import is_plain
from memadmin.store.locations import Act, ItemClass
from memadmin.store.models import Archived, Container, HistoryEntry, LongTermMemory, Session, Subject, WorkingMemory

AT_ONCE = 1_000  # names in one question
SHORTEST = 3  # characters: shorter ids are in every second text, and are not looked for in texts
UID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.IGNORECASE)
REACHED = [ItemClass.OWNED, ItemClass.DERIVED]  # what goes whole
MEMORIES: tuple[Any, ...] = (Session, WorkingMemory, LongTermMemory, HistoryEntry, Archived)


@dataclass(frozen=True)
class RequestScope:
    """`subjects` are whole users. Without them it is single items: those of the manifest's closure."""

    manifest_id: int
    subjects: tuple[int, ...]
    subject_uids: frozenset[UUID]
    identifiers: tuple[str, ...]
    container_ids: tuple[int, ...] = field(default=())  # in which others may mention them
    erased_by: int | None = None  # a manifest that was executed: the names that it erased are the person's too
    is_copied: Callable[[str], bool] | None = None  # only while a search is made: it needs what they said

    def uids(self) -> QuerySet[Any, Any]:
        """One union: databases join with it, however long it is, while several `IN` with an OR between them are gone through row by row."""
        if self.subjects:
            first, *others = (model.objects.filter(subject_id__in=self.subjects).order_by().values("uid") for model in MEMORIES)
        else:
            reached = ScopeItem.objects.filter(manifest_id=self.manifest_id, item_class__in=REACHED)
            first, others = reached.order_by().values("item_uid"), []
        return first.union(*others, *self._erased(), all=True)

    def members(self, uids: Iterable[UUID]) -> set[UUID]:
        asked = set(uids)
        found = asked & self.subject_uids
        left = list(asked - found)
        for start in range(0, len(left), AT_ONCE):
            first, *others = self._among(left[start : start + AT_ONCE])
            found |= {uid for (uid,) in first.union(*others, all=True)}
        return found

    def _among(self, asked: list[UUID]) -> list[QuerySet[Any, Any]]:
        """Return for each table what it has of the names, to be asked as one."""
        reached = ScopeItem.objects.filter(manifest_id=self.manifest_id, item_class__in=REACHED, item_uid__in=asked)
        parts: list[QuerySet[Any, Any]] = [reached.order_by().values_list("item_uid")]
        if self.subjects:
            theirs = {"subject_id__in": self.subjects, "uid__in": asked}
            parts = [model.objects.filter(**theirs).order_by().values_list("uid") for model in MEMORIES]
        return [*parts, *(names.filter(row_uid__in=asked).values_list("row_uid") for names in self._erased())]

    def _erased(self) -> list[QuerySet[Any, Any]]:
        if self.erased_by is None:
            return []
        return [ManifestItem.objects.filter(manifest=self.erased_by, act=Act.DELETE, item_class__in=REACHED).order_by().values("row_uid")]

    def named_in(self, text: str) -> bool:
        return self._named_in(text, self.pattern)

    def named_in_records(self, text: str) -> bool:
        return self._named_in(text, self.pattern_in_records)

    def plainly_named_in(self, text: str) -> bool:
        return self._plain_pattern is not None and self._plain_pattern.search(text) is not None

    def copied_in(self, text: str) -> bool:
        return self.is_copied is not None and self.is_copied(text)

    def _named_in(self, text: str, pattern: re.Pattern[str] | None) -> bool:
        if pattern is not None and pattern.search(text):
            return True
        uids = {UUID(each) for each in UID.findall(text)}
        return bool(uids) and bool(self.members(uids))

    @cached_property
    def pattern(self) -> re.Pattern[str] | None:
        """Finds the identifiers with their boundaries, whatever their case: `user1` is not in `user10`, nor `pat` in `patricia`."""
        return identifier_pattern(self.identifiers)

    @cached_property
    def pattern_in_records(self) -> re.Pattern[str] | None:
        return identifier_pattern([each for each in self.identifiers if not is_plain(each)])

    @cached_property
    def _plain_pattern(self) -> re.Pattern[str] | None:
        return identifier_pattern([each for each in self.identifiers if is_plain(each)])

    @cached_property
    def has_plain(self) -> bool:
        return any(is_plain(each) for each in self.identifiers if len(each.strip()) >= SHORTEST)

    @cached_property
    def too_short(self) -> bool:
        return any(0 < len(each.strip()) < SHORTEST for each in self.identifiers)


def identifier_pattern(identifiers: Collection[str]) -> re.Pattern[str] | None:
    """Return what finds any of the ids as a whole word, None where none is long enough to be looked for."""
    wanted = sorted({each.strip() for each in identifiers if len(each.strip()) >= SHORTEST}, key=lambda each: (-len(each), each))
    if not wanted:
        return None
    return re.compile(rf"(?<![\w]){'(?:' + '|'.join(map(re.escape, wanted)) + ')'}(?![\w])", re.IGNORECASE)


def scope_of(manifest: Manifest) -> RequestScope:
    """Return what the manifest's request is about, by the users that are ticked in now, or its fixed list of items."""
    request = manifest.request
    ticked = list(request.subjects.filter(ticked=True))
    names = tuple(sorted({row.user_id for row in ticked if row.user_id is not None}))
    if not Kind(request.kind).is_about_people:
        container_ids = set(request.items.values_list("container_id", flat=True))
        aliases = tuple(sorted({row.user_id for row in ticked if row.origin == Origin.ALIAS and row.user_id}))
        return RequestScope(manifest.pk, (), frozenset(), aliases, _neighbours(container_ids), manifest.follows_id)
    keys = [row.subject_id for row in ticked if row.subject_id is not None]
    subjects = Subject.objects.filter(pk__in=keys, uid__in=[row.subject_uid for row in ticked if row.subject_uid])
    found = dict(subjects.values_list("pk", "uid"))
    taken = set(Subject.objects.filter(pk__in=keys).values_list("pk", flat=True))  # by these users, or by others after a restore
    whole = tuple(sorted({*found, *(set(keys) - taken)}))  # of users that have gone, rows may be left
    container_ids = {row.container_id for row in ticked if row.container_id is not None}
    uids = frozenset(row.subject_uid for row in ticked if row.subject_uid and row.subject_id in whole)
    return RequestScope(manifest.pk, whole or (-1,), uids, names, _neighbours(container_ids), manifest.follows_id)


def _neighbours(container_ids: Collection[int]) -> tuple[int, ...]:
    """Return the containers of the same tenants: others there may have written about the person. Other tenants' are not looked into."""
    tenants = set(Container.objects.filter(pk__in=container_ids).values_list("tenant", flat=True))
    same = Q(tenant__in=[each for each in tenants if each is not None])
    rows = Container.objects.filter(same | Q(tenant__isnull=True) if None in tenants or not tenants else same)
    return tuple(rows.order_by("pk").values_list("pk", flat=True))
