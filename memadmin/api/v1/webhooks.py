"""Subscriptions to events: who is told, and what became of what was sent. All of it needs all access."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import exceptions
from rest_framework.request import Request
from rest_framework.response import Response

from memadmin.access.scopes import Scope
from memadmin.access.visibility import visible_containers
from memadmin.api.opensearch.documents import wire_id
from memadmin.api.v1 import inputs, paging, shapes
from memadmin.api.v1.base import ApiView, check_all_access, container_of, principal_of, valid
from memadmin.api.v1.idempotency import Done, answer_once
from memadmin.store.models import Container
from memadmin.webhooks import subscriptions
from memadmin.webhooks.models import Delivery, Subscription
from memadmin.webhooks.subscriptions import SubscriptionSpec

DELIVERY_FIELDS = ("uid", "event", "state", "attempts", "status", "error_code", "created_at", "due_at", "ended_at")


class Webhooks(ApiView):
    scopes = {"GET": Scope.WEBHOOK_MANAGE, "POST": Scope.WEBHOOK_MANAGE}

    @extend_schema(parameters=[inputs.ListQuery], responses=shapes.page_of(shapes.WebhookShape))
    def get(self, request: Request) -> Response:
        """List the subscriptions that the token may see."""
        check_all_access(request)
        query, rows = valid(inputs.ListQuery, request.query_params), _reached(request)
        page = paging.by_id(rows, query)
        return paging.listed(paging.in_order(rows, page), page, _shown)

    @extend_schema(request=inputs.NewWebhook, responses={201: shapes.NewWebhookShape})
    def post(self, request: Request) -> Response:
        """Subscribe an address. The answer holds the secret that signs what is sent, this once."""
        check_all_access(request)
        given = valid(inputs.NewWebhook, request.data)
        spec = SubscriptionSpec(url=given["url"], events=given["events"], containers=_containers(request, given.get("containers")))
        secrets: dict[str, str] = {}

        def act() -> Done:
            made, secret = subscriptions.subscribe(spec, actor=principal_of(request).actor, now=self.now)
            secrets[str(made.uid)] = secret
            return Done(201, str(made.uid))

        def show(uid: str) -> dict[str, Any]:
            return {**_shown(_reached(request).get(uid=uid)), "secret": secrets.get(uid)}

        return answer_once(request, act, show, now=self.now)


class OneWebhook(ApiView):
    answers_once = False
    scopes = dict.fromkeys(("GET", "PATCH", "DELETE"), Scope.WEBHOOK_MANAGE)

    @extend_schema(responses=shapes.WebhookShape)
    def get(self, request: Request, uid: UUID) -> Response:
        """Read one subscription."""
        return Response(_shown(_subscription(request, uid)))

    @extend_schema(request=inputs.WebhookChange, responses=shapes.WebhookShape)
    def patch(self, request: Request, uid: UUID) -> Response:
        """Pause a subscription, or let it go on where it stopped."""
        subscription, given = _subscription(request, uid), valid(inputs.WebhookChange, request.data)
        subscriptions.switch(subscription, enabled=given["enabled"], actor=principal_of(request).actor, now=self.now)
        return Response(_shown(subscription))

    @extend_schema(responses={204: None})
    def delete(self, request: Request, uid: UUID) -> Response:
        """End a subscription, and what is on its way to it."""
        subscriptions.unsubscribe(_subscription(request, uid), actor=principal_of(request).actor, now=self.now)
        return Response(status=204)


class Deliveries(ApiView):
    scopes = {"GET": Scope.WEBHOOK_MANAGE}

    @extend_schema(parameters=[inputs.ListQuery], responses=shapes.page_of(shapes.DeliveryShape))
    def get(self, request: Request, uid: UUID) -> Response:
        """List what was sent to an address in the last 30 days and what is on its way, the newest first."""
        rows = Delivery.objects.filter(subscription=_subscription(request, uid)).defer("body")
        page = paging.by_id(rows, valid(inputs.ListQuery, request.query_params), descending=True)
        return paging.listed(paging.in_order(rows, page), page, lambda row: {name: getattr(row, name) for name in DELIVERY_FIELDS})


def _reached(request: Request) -> QuerySet[Subscription]:
    """Return the subscriptions whose containers the token may all use; only one that sees every container sees those that are for all."""
    principal = principal_of(request)
    return subscriptions.within(None if principal.sees_everything else visible_containers(principal))


def _subscription(request: Request, uid: UUID) -> Subscription:
    check_all_access(request)
    found = _reached(request).filter(uid=uid).first()
    if found is None:
        raise exceptions.NotFound
    return found


def _containers(request: Request, names: Sequence[str] | None) -> list[Container] | None:
    if names is None and not principal_of(request).sees_everything:
        raise exceptions.ValidationError({"containers": ["This token is for some containers only. Name those to be told of."]})
    return None if names is None else [container_of(request, name) for name in dict.fromkeys(names)]


def _shown(row: Subscription) -> dict[str, Any]:
    containers = None if row.all_containers else sorted(wire_id(container) for container in row.containers.all())
    values = {"uid": row.uid, "url": row.url, "events": row.events, "enabled": row.enabled, "created_at": row.created_at}
    return {**values, "containers": containers}
