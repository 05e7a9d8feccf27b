"""What is written beside entries of the audit log, and whom it is about.

A payload is about a person where its entry is about one of theirs, or where it names them beyond doubt. One that only has a word which is
also the person's id may be about anybody: a reviewer decides.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.audit.models import AuditEntry
from memadmin.store.models import ItemType

# Fields that hold names of columns, codes, digests and the like. What is not named here is taken for what somebody wrote.
OURS = frozenset(
    {
        *("fields", "events", "roles", "scopes", "containers", "container", "all_access", "source", "error"),
        *("digest", "policy_digest", "key_id", "asked_by", "scheduled_by", "cron", "enabled"),
        *("review_on", "sent_on", "expires_at", "hard_limit_days", "removes_unattributed"),
    }
)
OF_A_PERSON = frozenset({*ItemType.values, "users"})  # the kinds of targets that are somebody's
_TIME = re.compile(r"\d{4}-\d\d-\d\d(T[\d:.]+(Z|[+-]\d\d:\d\d)?)?")


def written(body: str) -> str:
    """Return all that stands beside an entry of the log, without the names of the fields."""
    return "\n".join(map(str, json.loads(body).values()))


def written_by_people(body: str) -> str:
    """Return what of it somebody wrote: without codes, digests, numbers and times, which have words and numbers of our own."""
    return "\n".join(_texts(json.loads(body)))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if not _TIME.fullmatch(value):
            yield value
    elif isinstance(value, dict):
        for name, each in value.items():
            if name not in OURS:
                yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)


def about(keys: Sequence[Any]) -> Mapping[Any, UUID]:
    """Return for the payloads with these keys whose or which item their entries are about, where that is told by name."""
    entries = AuditEntry.objects.filter(stream__in={stream for stream, _ in keys}, seq__in={seq for _, seq in keys})
    named = {(stream, seq): _of_a_person(target) for stream, seq, target in entries.values_list("stream", "seq", "target")}
    return {key: uid for key in keys if (uid := named.get(tuple(key))) is not None}


def _of_a_person(target: str) -> UUID | None:
    kind, _, name = target.partition("/")
    try:
        return UUID(name) if kind in OF_A_PERSON else None
    except ValueError:
        return None


def plant(word: str, now: datetime) -> list[Any]:
    """Append an entry with this word beside it, and return its key: the log takes a payload with its entry alone."""
    entry = log.append(Action.ERASURE_CONTROL_PLANTED, actor="job/erasure", target="erasure/control", at=now, payload={"note": word})
    return [entry.stream, entry.seq]
