"""Where the copy of something lies that is not in the store any more, so that a page can lead there instead of saying "gone"."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from uuid import UUID

from memadmin.access.models import Person
from memadmin.access.visibility import visible_archive
from memadmin.store.archive import holding_messages
from memadmin.store.models import Archived, ItemType

SESSIONS_OPENED = 200  # of one user, the latest: which messages a copy has stands inside it


def copies_of(person: Person, uids: Iterable[UUID | None]) -> dict[UUID, Archived]:
    """Return by uid the copies of memories and sessions that lie in the archive, without what they say."""
    wanted = [uid for uid in uids if uid]
    return {copy.uid: copy for copy in visible_archive(person).filter(uid__in=wanted).defer("payload")} if wanted else {}


def sessions_of_messages(person: Person, subject_id: int, uids: Collection[UUID]) -> Mapping[UUID, Archived]:
    """Return by uid of a message the copy of the session that it went with. Looks into the user's latest copies of sessions."""
    if not uids:
        return {}
    sessions = visible_archive(person).filter(subject=subject_id, item_type=ItemType.SESSION).order_by("-archived_at", "-id")
    return holding_messages(sessions[:SESSIONS_OPENED].iterator(), uids)
