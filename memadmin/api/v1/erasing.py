"""Requests of people, taken in by an agent's application and followed. Reviewing and approving are people's work, on pages."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import exceptions, serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memadmin.access.principals import Principal
from memadmin.access.scopes import Scope
from memadmin.access.visibility import visible_containers
from memadmin.api.v1.base import ApiView, check_all_access, principal_of, valid
from memadmin.api.v1.idempotency import Done, answer_once
from memadmin.api.v1.inputs import Id, Input
from memadmin.api.v1.problems import Unprocessable
from memadmin.erasure import intake
from memadmin.erasure.intake import Opening
from memadmin.erasure.look_alikes import candidates, says_whom
from memadmin.erasure.models import Channel, ErasureRequest, Ground, IdentityLevel, Kind, Origin, Profile
from memadmin.erasure.moves import Refusal
from memadmin.erasure.visibility import visible_requests

KINDS = [(kind.value, kind.label) for kind in Kind if kind.is_about_people]


class NewErasureRequest(Input):
    """`user_id` is compared whole, in all containers of the token. `vouched`: the application has identified the person itself."""

    user_id = Id()
    kind = serializers.ChoiceField(KINDS, default=Kind.SUBJECT.value)
    ground = serializers.ChoiceField(Ground.choices, default=Ground.CONSENT_WITHDRAWN.value)
    profile = serializers.ChoiceField(Profile.choices, default=Profile.GDPR.value)
    vouched = serializers.BooleanField(default=False)


class ErasureRequestShape(serializers.Serializer[Any]):
    """How far a request is. It names nobody; `look_alikes` ids wait for a person to say whether they are meant."""

    number = serializers.IntegerField()
    uid = serializers.UUIDField()
    kind = serializers.CharField()
    state = serializers.CharField()
    due_on = serializers.DateField()
    verified = serializers.BooleanField()
    users = serializers.IntegerField()
    look_alikes = serializers.IntegerField()


class ErasureRequests(ApiView):
    scopes = {"POST": Scope.ERASURE_INTAKE}

    @extend_schema(request=NewErasureRequest, responses={201: ErasureRequestShape})
    def post(self, request: Request) -> Response:
        """Take in a request about a user. Nothing is erased before people have reviewed and approved it. Needs all access."""
        check_all_access(request)
        given = valid(NewErasureRequest, request.data)
        principal = principal_of(request)

        def act() -> Done:
            try:
                made = intake.open_request(_opening(principal, given), actor=principal.actor, now=self.now)
            except Refusal as refusal:
                raise Unprocessable(str(refusal), refusal.code) from None
            return Done(201, str(made.number))

        return answer_once(request, act, lambda number: shown(ErasureRequest.objects.get(number=number)), now=self.now)


class OneErasureRequest(ApiView):
    scopes = {"GET": Scope.ERASURE_INTAKE}

    @extend_schema(responses=ErasureRequestShape)
    def get(self, request: Request, number: int) -> Response:
        """Say how far a request is. Needs all access."""
        check_all_access(request)
        return Response(shown(found_of(request, number)))


def found_of(request: Request, number: int) -> ErasureRequest:
    """Return a request that the token may know of, or answer 404."""
    found: ErasureRequest | None = visible_requests(principal_of(request)).filter(number=number).first() if number < 2**63 else None
    if found is None:
        raise exceptions.NotFound
    return found


def shown(found: ErasureRequest) -> dict[str, Any]:
    named = found.subjects.exclude(origin=Origin.ALIAS)
    return {
        "number": found.number,
        "uid": str(found.uid),
        "kind": found.kind,
        "state": found.state,
        "due_on": found.due_on.isoformat(),
        "verified": found.identity_level is not None,
        "users": named.filter(ticked=True).count(),
        "look_alikes": named.filter(ticked=None).count(),
    }


def _opening(principal: Principal, given: dict[str, Any]) -> Opening:
    if not says_whom(given["user_id"]):
        raise exceptions.ValidationError({"user_id": ["This names nobody: ids are compared whole, and there are no wildcards."]})
    found = candidates(given["user_id"], list(visible_containers(principal).values_list("pk", flat=True)))
    ticked = [each for each in found if each.origin == Origin.GIVEN]
    return Opening(
        kind=Kind(given["kind"]),
        ground=Ground(given["ground"]),
        profile=Profile(given["profile"]),
        channel=Channel.API,
        identity=IdentityLevel.APPLICATION if given["vouched"] else None,
        ticked=ticked,
        others=[(each, None) for each in found if each.origin != Origin.GIVEN],
        unknown=[] if ticked else [given["user_id"]],
    )
