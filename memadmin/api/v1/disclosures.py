"""Noting of whom a recipient was given data, by the program that gave it. What is noted is read on pages, and in notices."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import exceptions, serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memadmin.access.scopes import Scope
from memadmin.api.opensearch.documents import wire_id
from memadmin.api.v1.base import ApiView, principal_of, valid, whole_container
from memadmin.api.v1.idempotency import Done, answer_once
from memadmin.api.v1.inputs import Id, Input, Time
from memadmin.erasure import disclosures
from memadmin.erasure.disclosures import BadDisclosure, NoSuchUser
from memadmin.erasure.models import Disclosure, Recipient
from memadmin.store.models import Container, Subject


class NewDisclosure(Input):
    """`recipient`: the uid on its page. `own_id`: by which it knows the person itself, if known. `at`: when it was given the data, now
    unless said.
    """

    recipient = serializers.UUIDField()
    user_id = Id(allow_blank=True)
    own_id = Id(required=False, allow_null=True)
    at = Time(required=False)


class DisclosureShape(serializers.Serializer[Any]):
    """What is noted. It repeats no id of the person; `own_id_known`: whether the recipient's own one is noted."""

    uid = serializers.UUIDField()
    recipient = serializers.UUIDField()
    container = serializers.CharField()
    own_id_known = serializers.BooleanField()
    first_at = serializers.DateTimeField()
    last_at = serializers.DateTimeField()


class Disclosures(ApiView):
    scopes = {"POST": Scope.DISCLOSURE_WRITE}

    @extend_schema(request=NewDisclosure, responses={200: DisclosureShape, 201: DisclosureShape})
    def post(self, request: Request, cid: str) -> Response:
        """Note that a recipient was given data of a user. Said again it moves the times (200). Needs all access."""
        container, given = whole_container(request, cid), valid(NewDisclosure, request.data)
        return answer_once(request, lambda: self._record(request, container, given), lambda uid: _shown(container, uid), now=self.now)

    def _record(self, request: Request, container: Container, given: dict[str, Any]) -> Done:
        recipient = Recipient.objects.filter(uid=given["recipient"]).first()
        subject = Subject.objects.filter(container=container, user_id=given["user_id"]).first()
        if recipient is None:
            raise exceptions.ValidationError({"recipient": ["They are not registered as getting data of this container."]})
        try:
            if subject is None:
                raise NoSuchUser
            said = {"own_id": given.get("own_id"), "at": given.get("at", self.now)}
            made, is_new = disclosures.record(recipient, subject, **said, actor=principal_of(request).actor, now=self.now)
        except NoSuchUser:
            raise exceptions.ValidationError({"user_id": ["Nothing is stored of a user with this id."]}) from None
        except BadDisclosure as error:
            raise exceptions.ValidationError({error.field: [str(error)]}) from None
        return Done(201 if is_new else 200, str(made.uid))


def _shown(container: Container, uid: str) -> dict[str, Any]:
    made = Disclosure.objects.select_related("recipient").get(container=container, uid=uid)
    return {
        "uid": made.uid,
        "recipient": made.recipient.uid,
        "container": wire_id(container),
        "own_id_known": made.own_id is not None,
        "first_at": made.first_at,
        "last_at": made.last_at,
    }
