"""What the ledger says of an erasure before anything goes: enough to do it again on an older database, and nothing that names anybody."""

from __future__ import annotations

from datetime import UTC
from typing import Any

from django.db.models import Q

from memadmin.erasure.models import ErasureRequest, Kind, ManifestItem, RequestSubject
from memadmin.store import refs
from memadmin.store.locations import Act, ItemClass
from memadmin.store.models import SuppressedKind
from memadmin.store.suppression_keys import ring

MOST_DECISIONS = 20_000  # kept in one line; what a reviewer decided beyond that is done as planned
AS_PLANNED = Q(item_class=ItemClass.MENTION, act=Act.REDACT) | Q(item_class=ItemClass.MIXED, act=Act.REDERIVE)


def facts_of(request: ErasureRequest) -> dict[str, Any]:
    """Return, by keyed digests, whom and what a request erases, in which containers, and what a reviewer decided to treat otherwise.

    All digests are made with the key in force, whatever key the papers of the request were made with.
    """
    ticked = list(request.subjects.filter(ticked=True, container__isnull=False).select_related("container"))
    people = Kind(request.kind).is_about_people
    return {
        "kind": request.kind,
        "number": request.number,
        "ground": request.ground,
        "profile": request.profile,
        "received_at": request.received_at.astimezone(UTC).isoformat(),
        "attempt": request.attempt,
        "digest": request.manifest_digest,
        "key_id": refs.key_id(),
        "subjects": sorted({_subject(row) for row in ticked}) if people else [],
        "fences": _fences(ticked) if people else [],
        "items": sorted(refs.item_ref(uid) for uid in request.items.values_list("item_uid", flat=True) if uid is not None),
        "decided": _decided(request),
    }


def _subject(row: RequestSubject) -> str:
    assert row.container is not None
    return f"{row.container.uid}/{refs.subject_ref(row.container.uid, row.user_id)}"


def _fences(ticked: list[RequestSubject]) -> list[dict[str, str]]:
    """Return by what the users will be known if they come back though the database has forgotten them wholly."""
    keys = ring()
    named = {(str(row.container.uid), row.user_id) for row in ticked if row.container is not None and row.user_id is not None}
    said = [(container, keys.digest(SuppressedKind.SUBJECT, str(user_id))) for container, user_id in named]
    return [{"container": container, "digest": digest, "key_id": keys.current} for container, digest in sorted(said)]


def _decided(request: ErasureRequest) -> dict[str, list[str]]:
    items = ManifestItem.objects.filter(manifest__request=request, manifest__number=request.manifest_number or 0)
    chosen = items.exclude(decided_by="").exclude(AS_PLANNED).order_by("pk")
    columns = chosen.values_list("row_uid", "act", "reason_code", "review_on")[:MOST_DECISIONS]
    return {refs.item_ref(uid): [act, code, day.isoformat() if day else ""] for uid, act, code, day in columns}
