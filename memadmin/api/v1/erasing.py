"""Requests of people, taken in by an agent's application and followed. Reviewing and approving are people's work, on pages."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import exceptions, serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memadmin.access.principals import Principal, may_use
from memadmin.access.scopes import Scope
from memadmin.access.visibility import visible_containers
from memadmin.api.opensearch.reach import find_container
from memadmin.api.v1.base import ApiView, check_all_access, principal_of, valid
from memadmin.api.v1.idempotency import Done, answer_once
from memadmin.api.v1.inputs import Choice, Id, Input, ShortList, Text
from memadmin.api.v1.problems import Unprocessable
from memadmin.erasure import grounds, intake, naming
from memadmin.erasure.intake import Opening, Thing
from memadmin.erasure.look_alikes import NAMES_NOBODY, candidates, says_whom
from memadmin.erasure.models import Channel, ErasureRequest, Ground, IdentityLevel, Kind, Origin, Profile
from memadmin.erasure.moves import Refusal
from memadmin.erasure.visibility import visible_requests
from memadmin.store.models import ItemType, Subject
from memadmin.store.text import clean

KINDS = [(kind.value, kind.label) for kind in Kind if kind.is_taken_in]
ITEM_TYPES = {"session": ItemType.SESSION, "message": ItemType.WORKING, "memory": ItemType.LONG_TERM}


class NamedItem(Input):
    type = Choice(list(ITEM_TYPES))
    uid = serializers.UUIDField()


class Topic(Input):
    """Words, looked for now in a container, or in what is of one user in it. What has them is the list; nothing is added to it later."""

    words = Text(longest=500)
    container = Id()
    user_id = Id(required=False, allow_blank=True)


class NewErasureRequest(Input):
    """About a person `user_id`, compared whole in all containers of the token; about single things `items`, by uid, or a `topic`.

    `vouched`: the application has identified the person itself. `freeze`: restrict the users until the request has ended. `aliases`: names
    to look for in other people's items. `received_on`: the day on which the person asked, where that was earlier. `ground`: one of the
    right that is used; without it `17_1_b` to erase, `16_inaccurate` to correct, `15` to have access. A request to restrict has to say it.
    """

    kind = Choice(KINDS, default=Kind.SUBJECT.value)
    user_id = Id(required=False)
    items = ShortList(child=NamedItem(), required=False, min_length=1, max_length=intake.MOST_ITEMS)
    topic = Topic(required=False)
    ground = Choice([(ground.value, grounds.words(ground)) for ground in Ground], required=False)
    profile = Choice(Profile.choices, default=Profile.GDPR.value)
    vouched = serializers.BooleanField(default=False)
    freeze = serializers.BooleanField(default=False)
    aliases = ShortList(child=Id(), default=list, max_length=intake.MOST_ALIASES)
    received_on = serializers.DateField(required=False, allow_null=True)

    def validate(self, given: dict[str, Any]) -> dict[str, Any]:
        wanted = ("user_id",) if Kind(given["kind"]).is_about_people else ("items", "topic") if given["kind"] == Kind.TOPIC else ("items",)
        others = {"user_id", "items", "topic"} & given.keys() - set(wanted)
        if others:
            raise serializers.ValidationError({min(others): [f"A request to {Kind(given['kind']).label} names {' or '.join(wanted)}."]})
        if len(set(wanted) & given.keys()) != 1:
            raise serializers.ValidationError(
                {wanted[0]: [f"Give {' or '.join(wanted)}: a request to {Kind(given['kind']).label} needs it."]}
            )
        try:
            given["ground"] = grounds.given_or_usual(Kind(given["kind"]), given.get("ground"))
        except grounds.WrongGround as wrong:
            raise serializers.ValidationError({"ground": [str(wrong)]}) from None
        return given


class ErasureRequestShape(serializers.Serializer[Any]):
    """How far a request is. It names nobody; `look_alikes` ids wait for a person to say whether they are meant; `told_on`: when it was told
    that the erasure is done.
    """

    number = serializers.IntegerField()
    uid = serializers.UUIDField()
    kind = serializers.CharField()
    ground = serializers.CharField()
    state = serializers.CharField()
    due_on = serializers.DateField()
    verified = serializers.BooleanField()
    users = serializers.IntegerField()
    items = serializers.IntegerField()
    look_alikes = serializers.IntegerField()
    told_on = serializers.DateField(allow_null=True)


class ErasureRequests(ApiView):
    scopes = {"POST": Scope.ERASURE_INTAKE}

    @extend_schema(request=NewErasureRequest, responses={201: ErasureRequestShape})
    def post(self, request: Request) -> Response:
        """Take in a request about a user, single items or a topic. Nothing is erased before people have reviewed and approved it.
        Needs all access.
        """
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
        "ground": found.ground,
        "state": found.state,
        "due_on": found.due_on.isoformat(),
        "verified": found.identity_level is not None,
        "users": named.filter(ticked=True).count(),
        "items": found.items.count(),
        "look_alikes": named.filter(ticked=None).count(),
        "told_on": found.told_on.isoformat() if found.told_on else None,
    }


def _opening(principal: Principal, given: dict[str, Any]) -> Opening:
    """Return what the request says. Raises Refusal for what names nothing that the token may see."""
    named = _people(principal, given["user_id"]) if "user_id" in given else {"things": _things(principal, given)}
    return Opening(
        kind=Kind(given["kind"]),
        ground=given["ground"],
        profile=Profile(given["profile"]),
        channel=Channel.API,
        identity=IdentityLevel.APPLICATION if given["vouched"] else None,
        aliases=tuple(dict.fromkeys(given["aliases"])),
        received_on=given.get("received_on"),
        freeze=given["freeze"],
        **named,
    )


def _people(principal: Principal, user_id: str) -> dict[str, Any]:
    if not says_whom(user_id):
        raise exceptions.ValidationError({"user_id": [NAMES_NOBODY]})
    found = candidates(user_id, list(visible_containers(principal).values_list("pk", flat=True)))
    ticked = [each for each in found if each.origin == Origin.GIVEN]
    others = [(each, None) for each in found if each.origin != Origin.GIVEN]
    return {"ticked": ticked, "others": others, "unknown": [] if ticked else [user_id]}


def _things(principal: Principal, given: dict[str, Any]) -> list[Thing]:
    if "items" in given:
        return naming.things_named(principal, [f"{ITEM_TYPES[each['type']]}/{each['uid']}" for each in given["items"]])
    topic = given["topic"]
    container = find_container(clean(topic["container"]))
    if container is None or not may_use(principal, container):
        raise exceptions.ValidationError({"topic": {"container": ["There is no such container."]}})
    subject = None
    if "user_id" in topic:
        subject = Subject.objects.filter(container=container, user_id=topic["user_id"]).first()
        if subject is None:
            raise exceptions.ValidationError({"topic": {"user_id": ["The container has no such user."]}})
    return naming.things_about(principal, topic["words"], container, subject)
