"""Noting of whom a recipient was given data, by the program that gave it. What is noted is read on pages, and in notices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import exceptions, serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memadmin.access.scopes import Scope
from memadmin.api.opensearch.documents import wire_id
from memadmin.api.v1.base import ApiView, principal_of, valid, whole_container
from memadmin.api.v1.idempotency import Done, answer_once
from memadmin.api.v1.inputs import Id, Input, ShortList, Time
from memadmin.erasure import disclosures
from memadmin.erasure.disclosures import BadDisclosure, Given, NoSuchUser, NotRecorded
from memadmin.erasure.models import Disclosure, Recipient
from memadmin.store.models import Container, Subject

AT_ONCE = 500  # people
NOTHING_STORED = "Nothing is stored of a user with this id."


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
        recipient = _recipient(given["recipient"])
        subject = Subject.objects.filter(container=container, user_id=given["user_id"]).first()
        try:
            if subject is None:
                raise NoSuchUser
            said = {"own_id": given.get("own_id"), "at": given.get("at", self.now)}
            made, is_new = disclosures.record(recipient, subject, **said, actor=principal_of(request).actor, now=self.now)
        except NoSuchUser:
            raise exceptions.ValidationError({"user_id": [NOTHING_STORED]}) from None
        except BadDisclosure as error:
            raise exceptions.ValidationError({error.field: [str(error)]}) from None
        return Done(201 if is_new else 200, str(made.uid))


class OnePerson(Input):
    """As in `NewDisclosure`."""

    user_id = Id(allow_blank=True)
    own_id = Id(required=False, allow_null=True)
    at = Time(required=False)


class NewDisclosures(Input):
    """`recipient`: the uid on its page. `people`: of whom it was given data."""

    recipient = serializers.UUIDField()
    people = ShortList(child=OnePerson(), min_length=1, max_length=AT_ONCE)


class DisclosuresShape(serializers.Serializer[Any]):
    """How many were noted, and how many of them for the first time. It repeats no id of a person."""

    noted = serializers.IntegerField()
    new = serializers.IntegerField()


class DisclosuresAtOnce(ApiView):
    scopes = {"POST": Scope.DISCLOSURE_WRITE}

    @extend_schema(request=NewDisclosures, responses={200: DisclosuresShape})
    def post(self, request: Request, cid: str) -> Response:
        """Note that a recipient was given data of several users at once: of all of them, or of none. Needs all access."""
        container, given = whole_container(request, cid), valid(NewDisclosures, request.data)
        return answer_once(request, lambda: self._record(request, container, given), _counts, now=self.now)

    def _record(self, request: Request, container: Container, said: dict[str, Any]) -> Done:
        recipient = _recipient(said["recipient"])
        people = [(each["user_id"], each.get("own_id"), each.get("at", self.now)) for each in said["people"]]
        known = {row.user_id: row for row in Subject.objects.filter(container=container, user_id__in={user_id for user_id, _, _ in people})}
        strangers = [at for at, (user_id, _, _) in enumerate(people) if user_id not in known]
        if strangers:
            raise _refused(dict.fromkeys(strangers, NoSuchUser()))
        given = [Given(known[user_id], own_id, at) for user_id, own_id, at in people]
        try:
            made = disclosures.record_all(recipient, given, actor=principal_of(request).actor, now=self.now)
        except NotRecorded as refused:
            raise _refused(refused.problems) from None
        return Done(200, f"{len(made)}/{sum(is_new for _, is_new in made)}")


def _counts(identity: str) -> dict[str, int]:
    noted, new = identity.split("/")
    return {"noted": int(noted), "new": int(new)}


def _recipient(uid: UUID) -> Recipient:
    recipient = Recipient.objects.filter(uid=uid).first()
    if recipient is None:
        raise exceptions.ValidationError({"recipient": ["They are not registered as getting data of this container."]})
    return recipient


def _refused(problems: Mapping[int, BadDisclosure | NoSuchUser]) -> exceptions.ValidationError:
    """Return the answer that names what is wrong by its place in the list, as no answer repeats an id."""
    errors: dict[str, list[str]] = {}
    for at, wrong in problems.items():
        if isinstance(wrong, BadDisclosure):
            errors["recipient" if wrong.field == "recipient" else f"people.{at}.{wrong.field}"] = [str(wrong)]
        else:
            errors[f"people.{at}.user_id"] = [NOTHING_STORED]
    return exceptions.ValidationError(errors)


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
