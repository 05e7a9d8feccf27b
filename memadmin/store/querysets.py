"""The vocabulary of reading: one idea a word, chainable. Every order ends with the key."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Self
from uuid import UUID

from django.db import connection, models
from django.db.models import F, Q, Sum
from django.db.models.expressions import RawSQL
from django.db.models.functions import Lower, Trim

from memadmin.store.among import PairAmong, UidAmong
from memadmin.store.bulk import pair_table
from memadmin.store.scoring import score_expression
from retention.rules import RelevanceRule

if TYPE_CHECKING:
    from memadmin.store.models import Container, LongTermMemory, Session, Subject


# What programs write where nobody gave a reason, and words that any pin could have.
PINNED_AT_THE_SOURCE, PINNED_OVER_API = "pinned at the source", "pinned through the API"
NO_REASONS = (
    *(PINNED_AT_THE_SOURCE, PINNED_OVER_API.lower(), "import", "imported", "migrated", "restored", "pin", "pinned", "keep", "keep it"),
    *("kept", "test", "testing", "todo", "tbd", "n/a", "none", "nothing", "no reason", "reason", "unknown", "because", "important", "asdf"),
)


def with_uids(model: type[models.Model], uids: Iterable[UUID]) -> models.QuerySet[Any]:
    """Return the rows of a table with these uids, any number of them."""
    return model._default_manager.filter(UidAmong("uid", list(uids)))


_OPEN_TO = {  # parameters: the name, and the roles twice
    "postgresql": "SELECT id FROM store_container WHERE owner->>'name' = %s OR CASE "
    "WHEN jsonb_typeof(backend_roles) = 'array' AND backend_roles <> '[]' THEN backend_roles ?| %s::text[] "
    "WHEN jsonb_typeof(owner->'backend_roles') = 'array' THEN owner->'backend_roles' ?| %s::text[] END",
    "sqlite": "SELECT c.id FROM store_container AS c WHERE json_extract(c.owner, '$.name') = %s OR CASE "
    "WHEN json_type(c.backend_roles) = 'array' AND json_array_length(c.backend_roles) > 0 "
    "THEN EXISTS (SELECT 1 FROM json_each(c.backend_roles) AS own JOIN json_each(%s) AS given ON own.value = given.value) "
    "WHEN json_type(c.owner, '$.backend_roles') = 'array' "
    "THEN EXISTS (SELECT 1 FROM json_each(c.owner, '$.backend_roles') AS own JOIN json_each(%s) AS given ON own.value = given.value) END",
}


class ContainerQuerySet(models.QuerySet[Any]):
    def called(self, name: str, uid: UUID | None) -> list[Container]:
        """Return the standing containers with this id from outside or this uid. Written out: every request of the API asks for one."""
        given = self.model._meta.get_field("uid").get_db_prep_value(uid, connection)
        statement = "SELECT * FROM store_container WHERE deleted_at IS NULL AND (external_id = %s OR uid = %s)"
        return list(self.raw(statement, [name, given]))

    def by_name(self) -> Self:
        return self.order_by("name", "id")

    def standing(self) -> Self:
        """Those that nobody has deleted."""
        return self.filter(deleted_at__isnull=True)

    def open_to(self, name: str, roles: Iterable[str]) -> Self:
        """Those of an owner of this name, and those of a role: their own roles decide, else, where they name none, their owner's."""
        given = sorted(roles) if connection.vendor == "postgresql" else json.dumps(sorted(roles))
        return self.filter(pk__in=RawSQL(_OPEN_TO[connection.vendor], [name, given, given]))


class SubjectQuerySet(models.QuerySet[Any]):
    def of_container(self, container: Container) -> Self:
        return self.filter(container=container)

    def attributed(self) -> Self:
        """Users; the unattributed subject of a container is not counted among them."""
        return self.filter(user_id__isnull=False)

    def totals(self, names: Iterable[str]) -> dict[str, int]:
        """Return the sum of each named counter, 0 where there is no row."""
        sums = self.aggregate(**{name: Sum(name) for name in names})
        return {name: value or 0 for name, value in sums.items()}


def still_restorable(now: datetime) -> Q:
    """Return the condition for archived copies whose last day has not passed."""
    return Q(expires_at__isnull=True) | Q(expires_at__gte=now)


class ArchivedQuerySet(models.QuerySet[Any]):
    def of_run(self, number: int, container: Container) -> Self:
        """What a run evicted. An imported copy may carry the number that a run of another installation had: it is in another container."""
        return self.filter(run_number=number, container=container)

    def restorable(self, now: datetime) -> Self:
        """Whose last day has not passed, although the copy may still be there."""
        return self.filter(still_restorable(now))


class ItemQuerySet(models.QuerySet[Any]):
    def of_container(self, container: Container) -> Self:
        return self.filter(container=container)

    def of_subject(self, subject: Subject) -> Self:
        return self.filter(subject=subject)

    def with_uids(self, uids: Iterable[UUID]) -> Self:
        return self.filter(UidAmong("uid", list(uids)))


class PinnableQuerySet(ItemQuerySet):
    def pinned(self) -> Self:
        return self.filter(pinned=True)

    def exposed(self) -> Self:
        """Neither pinned nor held: what eviction may look at."""
        return self.filter(pinned=False, held=False)

    def updated_before(self, cutoff: datetime) -> Self:
        return self.filter(last_updated_at__lt=cutoff)


class PinQuerySet(models.QuerySet[Any]):
    def of_sessions(self) -> Self:
        return self.filter(target_type="sessions")

    def of_memories(self) -> Self:
        return self.filter(target_type="long-term")

    def due(self, today: date) -> Self:
        """Whose day of review has come, today or earlier."""
        return self.filter(review_on__lte=today)

    def due_between(self, today: date, last: date) -> Self:
        """Whose day of review comes after today, until `last`."""
        return self.filter(review_on__gt=today, review_on__lte=last)

    def unreasoned(self) -> Self:
        """Whose reason says nothing to the next reader: written by a program, a word for any pin, or a sign or two."""
        said = self.annotate(said=Lower(Trim("reason")))
        return said.filter(Q(said__in=NO_REASONS) | Q(reason__regex=r"^([ -~]{1,2}|[ -/:-@]+)$"))

    def weighed(self) -> Self:
        """Add `tokens`: what the pinned memory takes of its user's cap, 0 for a session or one that has gone."""
        memory = (
            "SELECT m.tokens FROM store_longtermmemory m WHERE m.subject_id = store_pin.subject_id AND m.uid = store_pin.target_uid "
            "AND m.pinned"  # the index of pinned rows has all of it
        )
        return self.annotate(tokens=RawSQL(f"COALESCE(({memory}), 0)", [], output_field=models.BigIntegerField()))


class SessionQuerySet(PinnableQuerySet):
    def named(self, names: Iterable[tuple[int, str | None]]) -> Self:
        """Sessions by the key of their subject and the id that the agent gave them, any number of them."""
        pairs = list(names)
        if connection.vendor == "postgresql":
            return self.filter(PairAmong("subject_id", "external_id", pairs))
        wanted, parameters = pair_table(pairs)  # SQLite goes by the index of both only from the pairs to the rows
        ids = f"SELECT s.id FROM ({wanted}) AS wanted JOIN store_session AS s ON s.subject_id = number AND s.external_id = text"
        return self.filter(id__in=RawSQL(ids, parameters))

    def active_between(self, since: datetime | None, before: datetime | None) -> Self:
        """Sessions that between their start and their last change touch the span; none without a date. None leaves an end open."""
        rows = self
        if since is not None:
            rows = rows.filter(Q(last_updated_at__gte=since) | Q(last_updated_at__isnull=True, created_at__gte=since))
        if before is not None:
            rows = rows.filter(Q(created_at__lt=before) | Q(created_at__isnull=True, last_updated_at__lt=before))
        return rows

    def about(self, text: str, *, said_in: Iterable[int]) -> Self:
        """Sessions with the text in their id or summary, and those that are named for having it in their messages."""
        return self.filter(Q(external_id__icontains=text) | Q(summary__icontains=text) | Q(pk__in=list(said_in)))

    def newest_first(self) -> Self:
        return self.order_by(F("last_updated_at").desc(nulls_last=True), "-id")


class LongTermQuerySet(PinnableQuerySet):
    def scored(self, rule: RelevanceRule, *, now: datetime) -> Self:
        """Add `score`, in millionths as at `now`."""
        return self.annotate(score=score_expression(rule, now=now))

    def created_before(self, cutoff: datetime) -> Self:
        return self.filter(created_at__lt=cutoff)

    def created_since(self, start: datetime) -> Self:
        return self.filter(created_at__gte=start)

    def newest_first(self) -> Self:
        return self.order_by(F("created_at").desc(nulls_last=True), "-id")


class WorkingQuerySet(ItemQuerySet):
    def of_session(self, session: Session) -> Self:
        return self.filter(session=session)

    def in_order(self) -> Self:
        """The order in which the agent wrote them."""
        return self.order_by("sequence", "id")


class HistoryQuerySet(ItemQuerySet):
    def of_memory(self, memory: LongTermMemory) -> Self:
        """The entries of the memory's own user. Anybody who writes history can name any uid; what is said elsewhere says nothing of it."""
        return self.filter(memory_uid=memory.uid, subject=memory.subject_id)

    def newest_first(self) -> Self:
        return self.order_by(F("created_at").desc(nulls_last=True), "-id")
