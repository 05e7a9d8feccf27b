"""From the items that a request names to all that hangs on them: messages of sessions, history of memories, and what was derived.

Breadth first over provenance, through mixed items too; each item is reached once, so a circle ends. Then each is judged: class C has,
directly or through others, a source outside of what was reached; all else is class B. Items that only hold each other up are B.
Of whole users everything is theirs: there the closure begins with what was derived from it and belongs to somebody else.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from uuid import UUID

from django.db.models import Q, QuerySet

from memadmin.erasure.models import Manifest, ScopeItem
from memadmin.erasure.scope import RequestScope
from memadmin.store.locations import ItemClass
from memadmin.store.models import HistoryEntry, ItemType, Provenance, Session, WorkingMemory

AT_ONCE = 500
DEEPEST = 100  # derivations; deeper chains are refused by name, never cut


class TooDeep(Exception):
    """A chain of derivations is longer than any that makes sense."""


def begin(manifest: Manifest, scope: RequestScope) -> None:
    """Put the named items into the closure; of whole users, what others have of theirs. Twice is once."""
    named = manifest.request.items.order_by("id").values_list("item_type", "item_uid")
    _note(manifest, [(ItemType(kind), uid) for kind, uid in named if uid is not None], item_class=ItemClass.OWNED, depth=0)
    if scope.subjects:
        others = Provenance.objects.exclude(subject_id__in=scope.subjects)
        _note_derived(manifest, others.filter(source_uid__in=scope.uids()), depth=1)
        theirs = WorkingMemory.objects.filter(subject_id__in=scope.subjects, session__isnull=False)
        shared = Session.objects.filter(pk__in=theirs.values("session")).exclude(subject_id__in=scope.subjects)
        _note_summaries(manifest, shared, depth=1)


def expand(manifest: Manifest, scope: RequestScope) -> bool:
    """Go one batch further; return False when nothing is left to go through. Raises TooDeep."""
    batch = list(ScopeItem.objects.filter(manifest=manifest, expanded=False).order_by("id")[:AT_ONCE])
    if not batch:
        return False
    depth = max(item.depth for item in batch)
    if depth > DEEPEST:
        raise TooDeep
    owned = [item for item in batch if item.item_class == ItemClass.OWNED]
    _note(manifest, _children(owned), item_class=ItemClass.OWNED, depth=depth)
    ScopeItem.objects.filter(pk__in=[item.pk for item in batch]).update(expanded=True)
    links = Provenance.objects.filter(source_uid__in=[item.item_uid for item in batch])
    _note_derived(manifest, links.exclude(subject_id__in=scope.subjects), depth=depth + 1)
    messages = [item.item_uid for item in owned if item.item_type == ItemType.WORKING]
    sessions = WorkingMemory.objects.with_uids(messages).filter(session__isnull=False).values("session")
    _note_summaries(manifest, Session.objects.filter(pk__in=sessions), depth=depth + 1)
    return True


def judge(manifest: Manifest, scope: RequestScope) -> None:
    """Tell what is mixed from what was derived from the person's own alone, and add what hangs on the latter."""
    classes = dict(ScopeItem.objects.filter(manifest=manifest).exclude(item_class=ItemClass.OWNED).values_list("item_uid", "item_class"))
    owned = set(ScopeItem.objects.filter(manifest=manifest, item_class=ItemClass.OWNED).values_list("item_uid", flat=True))
    sources, uses = _links(classes)
    inside = owned | set(classes)
    strangers = {source for found in sources.values() for source in found} - inside
    outside = strangers - scope.members(strangers)
    mixed = {uid for uid, item_class in classes.items() if item_class == ItemClass.MIXED or sources[uid] & outside}
    found = list(mixed)
    while found:
        reached = uses[found.pop()] - mixed
        mixed |= reached
        found += reached
    for uid in sorted(mixed):
        stay = len(sources[uid] & (outside | mixed) - {uid})
        ScopeItem.objects.filter(manifest=manifest, item_uid=uid).update(item_class=ItemClass.MIXED, survivors=max(stay, 1))
    derived = ScopeItem.objects.filter(manifest=manifest, item_class=ItemClass.DERIVED).order_by("id")
    for at in range(0, len(derived), AT_ONCE):
        _note(manifest, _children(derived[at : at + AT_ONCE]), item_class=ItemClass.DERIVED, depth=1)


def _links(uids: Iterable[UUID]) -> tuple[defaultdict[UUID, set[UUID]], defaultdict[UUID, set[UUID]]]:
    """Return the sources of each item, and for each source the items that were derived from it."""
    sources: defaultdict[UUID, set[UUID]] = defaultdict(set)
    uses: defaultdict[UUID, set[UUID]] = defaultdict(set)
    asked = sorted(uids)
    for at in range(0, len(asked), AT_ONCE):
        links = Provenance.objects.filter(derived_uid__in=asked[at : at + AT_ONCE])
        for derived, source in links.values_list("derived_uid", "source_uid"):
            sources[derived].add(source)
            uses[source].add(derived)
    return sources, uses


def _note_derived(manifest: Manifest, links: QuerySet[Provenance], *, depth: int) -> None:
    found = {uid: ItemType(kind) for kind, uid in links.order_by("id").values_list("derived_type", "derived_uid")}
    _note(manifest, [(kind, uid) for uid, kind in found.items()], item_class=ItemClass.DERIVED, depth=depth)


def _note_summaries(manifest: Manifest, sessions: QuerySet[Session], *, depth: int) -> None:
    """The summary of a session tells of its messages, though no link says so."""
    uids = sessions.exclude(Q(summary__isnull=True) | Q(summary="")).order_by("id").values_list("uid", flat=True)
    _note(manifest, [(ItemType.SESSION, uid) for uid in uids], item_class=ItemClass.MIXED, depth=depth)


def _note(manifest: Manifest, items: Sequence[tuple[ItemType, UUID]], *, item_class: ItemClass, depth: int) -> None:
    rows = [ScopeItem(manifest=manifest, item_type=kind, item_uid=uid, item_class=item_class, depth=depth) for kind, uid in items]
    ScopeItem.objects.bulk_create(rows, ignore_conflicts=True, batch_size=1_000)


def _children(batch: Iterable[ScopeItem]) -> list[tuple[ItemType, UUID]]:
    """Return the messages of the sessions in the batch, and the history of its memories."""
    by_type: defaultdict[str, list[UUID]] = defaultdict(list)
    for item in batch:
        by_type[item.item_type].append(item.item_uid)
    sessions = list(Session.objects.with_uids(by_type[ItemType.SESSION]).values_list("pk", "subject_id", "external_id"))
    history = HistoryEntry.objects.filter(memory_uid__in=by_type[ItemType.LONG_TERM])
    found = [(ItemType.WORKING, uid) for uid in _messages(sessions)]
    return found + [(ItemType.HISTORY, uid) for uid in history.values_list("uid", flat=True)]


def _messages(sessions: Sequence[tuple[int, int, str | None]]) -> Iterator[UUID]:
    """Yield the messages of sessions (key, user, id from outside); also those that name one and came when it was not there."""
    messages = WorkingMemory.objects.values_list("uid", flat=True)
    yield from messages.filter(session__in=[key for key, _, _ in sessions])
    names: defaultdict[int, list[str]] = defaultdict(list)
    for _, subject, name in sessions:
        names[subject] += [name] if name is not None else []
    for subject, named in names.items():
        yield from messages.filter(subject_id=subject, session__isnull=True, session_ref__in=named)
