"""The register of pins of one container, and the review of several at once. It needs all access."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from memadmin.access.scopes import Scope
from memadmin.api.v1 import inputs, paging, shapes
from memadmin.api.v1.base import ApiView, principal_of, valid, whole_container
from memadmin.lifecycle import pinned
from memadmin.lifecycle.pinned import PinFilter, PinSort, PinState
from memadmin.lifecycle.spared import limits_past
from memadmin.store import pinning, policies
from memadmin.store.models import Pin


class Pins(ApiView):
    scopes = {"GET": Scope.MEMORY_READ}

    @extend_schema(parameters=[inputs.PinQuery], responses=shapes.page_of(shapes.RegisteredPin))
    def get(self, request: Request, cid: str) -> Response:
        """List the pins of a container, the newest first: who, why, cost in tokens, which limits the item is past, and the next review."""
        container, query = whole_container(request, cid), valid(inputs.PinQuery, request.query_params)
        policy = policies.current(container)
        in_force = {} if policy is None else {container.pk: policy}
        wanted = PinFilter(state=PinState(query["state"]) if "state" in query else None, item_type=query.get("type", ""))
        pins = pinned.matching(Pin.objects.filter(container=container), wanted, in_force, now=self.now)
        page = paging.by_key(pinned.keyed(pins, PinSort.NEWEST), query, key="key", descending=True)
        found = paging.in_order(Pin.objects.select_related("subject").weighed(), page)
        items = pinned.items_of(found)
        past = {key: limits_past(item, policy, as_of=self.now) if policy else [] for key, item in items.items()}
        return paging.listed(found, page, lambda pin: _pin(pin, past.get(pin.pk)))


def _pin(pin: Pin, past: list[Any] | None) -> dict[str, Any]:
    columns = ("reason", "actor", "created_at", "review_on", "reviewed_at", "reviewed_by", "revision", "tokens")
    return {
        **{name: getattr(pin, name) for name in columns},
        "type": pin.target_type,
        "uid": pin.target_uid,
        "user_id": pin.subject.user_id,
        "user_uid": pin.subject.uid,
        "present": past is not None,
        "past": [str(reason) for reason in past or ()],
    }


class PinReview(ApiView):
    answers_once = False
    scopes = {"POST": Scope.MEMORY_PIN}

    @extend_schema(request=inputs.PinReview, responses={200: shapes.PinsReviewed})
    def post(self, request: Request, cid: str) -> Response:
        """Keep pins, with a new day of review, or take them away. One that changed since its `revision` was read is left and named."""
        container, given = whole_container(request, cid), valid(inputs.PinReview, request.data)
        inputs.coming(given.get("review_on"), now=self.now)
        asked = {each["uid"]: each["revision"] for each in given["pins"]}
        pins = {pin.target_uid: pin for pin in Pin.objects.filter(container=container, target_uid__in=asked)}
        done: list[UUID] = []
        changed: list[UUID] = []
        for uid, revision in asked.items():
            pin = pins.get(uid)
            kept = pin is not None and pin.revision == revision and self._review(request, pin, given)
            (done if kept else changed).append(uid)
        return Response({"done": done, "changed": changed})

    def _review(self, request: Request, pin: Pin, given: dict[str, Any]) -> bool:
        said = {"reason": given["reason"], "actor": principal_of(request).actor, "now": self.now}
        try:
            if given["action"] == "keep":
                pinning.keep(pin, **said, review_on=given.get("review_on"))
            else:
                pinning.unpin_reviewed(pin, **said)
        except (pinning.Changed, pinning.Gone):
            return False
        return True
