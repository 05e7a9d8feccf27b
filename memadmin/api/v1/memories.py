"""Long-term memories: written, listed with why they stay or go, changed, pinned, deleted, recalled; and their history."""

from __future__ import annotations

import uuid
from typing import Any, TypeVar
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import exceptions
from rest_framework.request import Request
from rest_framework.response import Response

from memadmin.access.scopes import Scope
from memadmin.api.v1 import inputs, paging, rendering, shapes
from memadmin.api.v1.base import ApiView, container_of, principal_of, valid
from memadmin.api.v1.idempotency import Done, answer_once
from memadmin.api.v1.problems import Conflict
from memadmin.lifecycle import writing
from memadmin.recall.search import Question, recall
from memadmin.recall.touching import Occasion
from memadmin.store import counters, deleting, editing, ingest, pinning, policies
from memadmin.store.identity import item_uid
from memadmin.store.intake import IncomingHistory, IncomingMemory
from memadmin.store.listing import MemoryFilter, Sort, State, keyed, memories_of
from memadmin.store.models import Container, HistoryEntry, ItemType, LongTermMemory, Outcome, Returned, Subject
from memadmin.transfer.columns import check
from retention.rules import RelevanceRule

Rows = TypeVar("Rows", bound="QuerySet[Any]")
OPTIONAL = ("tags", "metadata", "namespace", "importance", "strategy_id", "strategy_type", "fact_key", "author")
BY_NUMBER = {Sort.TOKENS, Sort.HITS}  # the largest first


def own(request: Request, rows: Rows) -> Rows:
    """Narrow rows to those that the token reaches: its owner's without what is restricted, all of them with all access."""
    principal = principal_of(request)
    return rows if principal.all_access else rows.filter(owner=principal.name, restricted=False)


def reachable(request: Request, container: Container) -> QuerySet[LongTermMemory]:
    rows: QuerySet[LongTermMemory] = LongTermMemory.objects.filter(container=container).select_related("container", "subject")
    return own(request, rows)


def memory_of(request: Request, cid: str, uid: UUID) -> LongTermMemory:
    found = reachable(request, container_of(request, cid)).filter(uid=uid).first()
    if found is None:
        raise exceptions.NotFound
    return found


class Memories(ApiView):
    scopes = {"GET": Scope.MEMORY_READ, "POST": Scope.MEMORY_WRITE}

    @extend_schema(parameters=[inputs.MemoryQuery], responses=shapes.page_of(shapes.ListedMemory))
    def get(self, request: Request, cid: str) -> Response:
        """List a user's long-term memories, each with its score and why it stays or goes. Not counted as a recall."""
        container, query = container_of(request, cid), valid(inputs.MemoryQuery, request.query_params)
        subject = Subject.objects.filter(container=container, user_id=query.get("user_id")).first()
        if subject is None:
            return Response({"items": [], "next": None})
        policy, sort = policies.current(container), Sort(query["sort"])
        rule = (policy.relevance if policy else None) or RelevanceRule()
        state = State(query["state"]) if "state" in query else None
        wanted = MemoryFilter(text=query.get("text", ""), state=state, strategy=query.get("strategy", ""))
        rows = own(request, memories_of(subject, wanted, rule, now=self.now))
        page = paging.by_key(keyed(rows, sort, rule, now=self.now), query, key="key", descending=sort in BY_NUMBER)
        found = paging.in_order(LongTermMemory.objects.select_related("container", "subject"), page)
        return Response({"items": rendering.explained(found, subject, now=self.now), "next": page.next})

    @extend_schema(request=inputs.NewMemory, responses={201: shapes.MemoryDetail, 202: shapes.SetAside})
    def post(self, request: Request, cid: str) -> Response:
        """Store a long-term memory, with an entry in its history. One with the same `id` of the same user is a conflict.

        202: it was erased before and waits for a person to release it.
        """
        container, given = container_of(request, cid), valid(inputs.NewMemory, request.data)
        return answer_once(
            request, lambda: self._add(request, container, given), lambda uid: self._show(request, container, uid), now=self.now
        )

    @transaction.atomic
    def _add(self, request: Request, container: Container, given: dict[str, Any]) -> Done:
        principal, user_id, external_id = principal_of(request), given.get("user_id"), given.get("id")
        uid = item_uid(container.uid, ItemType.LONG_TERM, user_id, external_id) if external_id else uuid.uuid4()
        item = IncomingMemory(
            uid=uid,
            external_id=external_id,
            user_id=user_id,
            owner=principal.name,
            text=given["text"],
            created_at=given.get("created_at", self.now),
            **{name: given[name] for name in OPTIONAL if name in given},
        )
        check(item)
        # Of two requests at once with one id, the second must see what the first has stored.
        ingest.hold_users(container, [user_id], actor=principal.actor, now=self.now)
        if external_id and LongTermMemory.objects.filter(uid=uid).exists():
            raise Conflict("This user has a memory with this id already. Change that one, or leave the id out.", code="id_taken")
        added = writing.add_memory(container, item, actor=principal.actor, now=self.now)
        return Done(202 if added.pk is None else 201, str(added.uid))

    def _show(self, request: Request, container: Container, uid: str) -> dict[str, Any]:
        return set_aside(container, uid) or shown(reachable(request, container), UUID(uid), self)


def set_aside(container: Container, uid: str) -> dict[str, Any] | None:
    """Return what is said of something that waits for a person, because it was erased before."""
    waits = Returned.objects.filter(container=container, uid=uid, outcome=Outcome.QUARANTINED).exists()
    return {"uid": uid, "status": "set_aside"} if waits else None


def shown(rows: QuerySet[LongTermMemory], uid: UUID, view: ApiView) -> dict[str, Any]:
    found = rows.filter(uid=uid).first()
    if found is None:
        raise exceptions.NotFound
    return rendering.memory_detail(found, now=view.now)


class Memory(ApiView):
    scopes = {"GET": Scope.MEMORY_READ, "PATCH": Scope.MEMORY_WRITE, "DELETE": Scope.MEMORY_DELETE}

    @extend_schema(responses=shapes.MemoryDetail)
    def get(self, request: Request, cid: str, uid: UUID) -> Response:
        """Read one memory with its pin, its score and why it stays or goes. Not counted as a recall."""
        return Response(rendering.memory_detail(memory_of(request, cid, uid), now=self.now))

    @extend_schema(request=inputs.MemoryChange, responses={200: shapes.MemoryDetail})
    def patch(self, request: Request, cid: str, uid: UUID) -> Response:
        """Change text or tags. Where somebody changed it since `revision`, nothing happens, and both versions come back."""
        memory, given = memory_of(request, cid, uid), valid(inputs.MemoryChange, request.data)
        return answer_once(
            request, lambda: self._change(request, memory, given), lambda _: shown(self._rows(request, memory), uid, self), now=self.now
        )

    @transaction.atomic
    def _change(self, request: Request, memory: LongTermMemory, given: dict[str, Any]) -> Done:
        counters.lock([memory.subject_id])
        current = LongTermMemory.objects.select_related("container", "subject").select_for_update(of=("self",)).filter(pk=memory.pk).first()
        if current is None:
            raise exceptions.NotFound
        changes: dict[str, Any] = {name: given[name] for name in ("text", "tags") if name in given}
        if current.revision != given["revision"]:
            words = (
                f"This memory is at revision {current.revision} by now, not {given['revision']}. Look at both, and send the change again."
            )
            raise Conflict(words, yours=given, current=rendering.memory(current))
        if changes:
            editing.edit_memory(current, changes, actor=principal_of(request).actor, now=self.now)
        return Done(200, str(memory.uid))

    @extend_schema(parameters=[inputs.DeleteQuery], responses={204: None})
    def delete(self, request: Request, cid: str, uid: UUID) -> Response:
        """Delete a memory for good. A pinned one needs `force` and a reason; a held one stays."""
        query = valid(inputs.DeleteQuery, request.query_params)

        def act() -> Done:
            said = {"force": query["force"], "reason": query.get("reason", "")}
            deleting.delete_memory(memory_of(request, cid, uid), actor=principal_of(request).actor, now=self.now, **said)
            return Done(204, str(uid))

        return answer_once(request, act, lambda _: None, now=self.now)

    def _rows(self, request: Request, memory: LongTermMemory) -> QuerySet[LongTermMemory]:
        return reachable(request, memory.container)


class MemoryPin(ApiView):
    scopes = {"PUT": Scope.MEMORY_PIN, "DELETE": Scope.MEMORY_PIN}

    @extend_schema(request=inputs.NewPin, responses={200: shapes.MemoryDetail})
    def put(self, request: Request, cid: str, uid: UUID) -> Response:
        """Pin a memory with a reason: no run evicts it until it is unpinned."""
        memory, given = memory_of(request, cid, uid), valid(inputs.NewPin, request.data)

        def act() -> Done:
            review_on = inputs.coming(given.get("review_on"), now=self.now)
            pinning.pin(memory, reason=given["reason"], review_on=review_on, actor=principal_of(request).actor, now=self.now)
            return Done(200, str(uid))

        return answer_once(request, act, lambda _: shown(reachable(request, memory.container), uid, self), now=self.now)

    @extend_schema(responses={200: shapes.MemoryDetail})
    def delete(self, request: Request, cid: str, uid: UUID) -> Response:
        """Take the pin away: the memory may go at the next run."""
        memory = memory_of(request, cid, uid)

        def act() -> Done:
            pinning.unpin(memory, actor=principal_of(request).actor, now=self.now)
            return Done(200, str(uid))

        return answer_once(request, act, lambda _: shown(reachable(request, memory.container), uid, self), now=self.now)


class HistoryEntries(ApiView):
    scopes = {"GET": Scope.MEMORY_READ}

    @extend_schema(parameters=[inputs.ListQuery], responses=shapes.page_of(shapes.History))
    def get(self, request: Request, cid: str, uid: UUID) -> Response:
        """List the history of a memory, the newest entry first. It is kept after the memory has gone."""
        container, query = container_of(request, cid), valid(inputs.ListQuery, request.query_params)
        rows = self._entries(request, container).filter(memory_uid=uid)
        page = paging.by_id(rows, query, descending=True)
        return paging.listed(paging.in_order(rows, page), page, rendering.history)

    def _entries(self, request: Request, container: Container) -> QuerySet[HistoryEntry]:
        rows: QuerySet[HistoryEntry] = HistoryEntry.objects.filter(container=container).select_related("subject")
        return own(request, rows)


class NewHistory(HistoryEntries):
    scopes = {"POST": Scope.MEMORY_WRITE}

    @extend_schema(request=inputs.NewHistory, responses={201: shapes.History, 202: shapes.SetAside})
    def post(self, request: Request, cid: str) -> Response:
        """Add an entry to the history of a memory, as another system saw it change. It need not be here, so its uid is taken as it is.

        202: it is about something that was erased before, and waits for a person to release it.
        """
        container, given = container_of(request, cid), valid(inputs.NewHistory, request.data)

        def act() -> Done:
            principal = principal_of(request)
            item = IncomingHistory(
                uid=uuid.uuid4(), actor=principal.actor, owner=principal.name, **{"user_id": None, "created_at": self.now, **given}
            )
            check(item)
            written = ingest.write(container, [item], actor=principal.actor, now=self.now)
            return Done(202 if item.uid in written.aside else 201, str(item.uid))

        def show(uid: str) -> dict[str, Any]:
            return set_aside(container, uid) or rendering.history(self._entries(request, container).get(uid=UUID(uid)))

        return answer_once(request, act, show, now=self.now)


class Recall(ApiView):
    answers_once = False
    scopes = {"POST": Scope.MEMORY_READ}

    @extend_schema(request=inputs.Question, responses={200: shapes.Recall})
    def post(self, request: Request, cid: str) -> Response:
        """Recall what is known of a user, best first. Each memory that comes back counts as recalled once in an invocation."""
        container, given = container_of(request, cid), valid(inputs.Question, request.data)
        principal = principal_of(request)
        question = Question(
            given.get("query", ""),
            given["user_id"],
            limit=given["limit"],
            owner=None if principal.all_access else principal.name,
            occasion=Occasion(session=given.get("session_id"), invocation=given.get("invocation_id")),
        )
        found = recall(container, question, now=self.now)
        items = [{**rendering.memory(one.memory), "words": one.words, "score": one.score / rendering.MILLION} for one in found]
        return Response({"items": items})
