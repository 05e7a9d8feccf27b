"""Reports on what an agent forgot or got wrong. A person matches them with evictions, on a page."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import exceptions, serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memadmin.access.principals import Principal
from memadmin.access.scopes import Scope
from memadmin.api.v1 import paging, shapes
from memadmin.api.v1.base import ApiView, container_of, principal_of, valid, whole_container
from memadmin.api.v1.idempotency import Done, answer_once
from memadmin.api.v1.inputs import Choice, Id, Input, Text, Time, UserQuery
from memadmin.lifecycle.feedback import LONGEST, BadReport, Report, record
from memadmin.store.models import Container, Feedback, FeedbackKind, FeedbackState, Subject
from memadmin.store.writers import has_written

NOTHING = "Nothing is stored of a user with this id."
NOTHING_OF_YOURS = "Nothing is stored of a user with this id that this token has written. With all access it may report on every user."
COLUMNS = (
    *("uid", "kind", "state", "words", "noticed_at", "created_at", "memory_uid", "session_uid"),
    *("matched_uid", "evicted_at", "reason", "run_number", "decided_at"),
)


class NewFeedback(Input):
    """`noticed_at`: when the agent's answer was noticed, now unless said. `memory_uid`, `session_uid`: what it is about, if known."""

    user_id = Id(allow_null=True, allow_blank=True)
    kind = Choice(FeedbackKind.choices)
    words = Text(longest=LONGEST)
    noticed_at = Time(required=False)
    memory_uid = serializers.UUIDField(required=False, allow_null=True)
    session_uid = serializers.UUIDField(required=False, allow_null=True)


class FeedbackQuery(UserQuery):
    state = Choice(FeedbackState.choices, required=False)


class FeedbackShape(serializers.Serializer[Any]):
    """A report. What stands from `matched_uid` on is the eviction that a person found to be the cause."""

    uid = serializers.UUIDField()
    user_id = serializers.CharField(allow_null=True)
    kind = serializers.CharField()
    state = serializers.CharField()
    words = serializers.CharField()
    noticed_at = serializers.DateTimeField()
    created_at = serializers.DateTimeField()
    memory_uid = shapes.NullableUuid()
    session_uid = shapes.NullableUuid()
    matched_uid = shapes.NullableUuid()
    evicted_at = shapes.Moment()
    reason = serializers.CharField()
    run_number = serializers.IntegerField(allow_null=True)
    policy_version = serializers.IntegerField(allow_null=True)
    decided_at = shapes.Moment()


class FeedbackReports(ApiView):
    scopes = {"GET": Scope.MEMORY_READ, "POST": Scope.FEEDBACK_WRITE}

    @extend_schema(parameters=[FeedbackQuery], responses=shapes.page_of(FeedbackShape))
    def get(self, request: Request, cid: str) -> Response:
        """List what was reported, the latest first. Needs all access."""
        container, query = whole_container(request, cid), valid(FeedbackQuery, request.query_params)
        rows = _rows(container)
        rows = rows.filter(subject__user_id=query["user_id"]) if "user_id" in query else rows
        rows = rows.filter(state=query["state"]) if "state" in query else rows
        page = paging.by_id(rows, query, descending=True)
        return paging.listed(paging.in_order(rows, page), page, shown)

    @extend_schema(request=NewFeedback, responses={201: FeedbackShape})
    def post(self, request: Request, cid: str) -> Response:
        """Report what the agent forgot of a user, or got wrong. Without all access: of a user of whom the token has written something."""
        container, given = container_of(request, cid), valid(NewFeedback, request.data)
        return answer_once(
            request, lambda: self._record(request, container, given), lambda uid: shown(_rows(container).get(uid=UUID(uid))), now=self.now
        )

    def _record(self, request: Request, container: Container, given: dict[str, Any]) -> Done:
        principal = principal_of(request)
        subject = _subject_of(principal, container, given["user_id"])
        report = Report(
            kind=FeedbackKind(given["kind"]),
            words=given["words"],
            noticed_at=given.get("noticed_at", self.now),
            memory_uid=given.get("memory_uid"),
            session_uid=given.get("session_uid"),
        )
        try:
            owner = None if principal.all_access else principal.name
            made = record(subject, report, actor=principal.actor, now=self.now, owner=owner)
        except BadReport as error:
            raise exceptions.ValidationError({error.field or "user_id": [str(error)]}) from None
        return Done(201, str(made.uid))


def _subject_of(principal: Principal, container: Container, user_id: str | None) -> Subject:
    """Return the user. Without all access one of others and one that is not there answer alike. Raises ValidationError."""
    subject = Subject.objects.filter(container=container, user_id=user_id).first()
    if subject is None or not (principal.all_access or has_written(principal.name, subject)):
        raise exceptions.ValidationError({"user_id": [NOTHING if principal.all_access else NOTHING_OF_YOURS]})
    return subject


def shown(row: Feedback) -> dict[str, Any]:
    version = row.policy_version.number if row.policy_version else None
    return {**{name: getattr(row, name) for name in COLUMNS}, "user_id": row.subject.user_id, "policy_version": version}


def _rows(container: Container) -> QuerySet[Feedback]:
    return Feedback.objects.filter(container=container).select_related("subject", "policy_version")
