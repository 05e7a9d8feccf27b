"""Noting that the person was told that their erasure is done: who sends the letters is often a program."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memadmin.access.scopes import Scope
from memadmin.api.v1.base import ApiView, check_all_access, principal_of, valid
from memadmin.api.v1.erasing import ErasureRequestShape, found_of, shown
from memadmin.api.v1.idempotency import Done, NotedRefusal, answer_once
from memadmin.api.v1.inputs import Input
from memadmin.api.v1.problems import Conflict, Unprocessable
from memadmin.erasure import telling
from memadmin.erasure.moves import Refusal, WrongState


class Told(Input):
    """`told_on`: the day on which the person was told, from the end of the erasure to today."""

    told_on = serializers.DateField()


class ErasureTold(ApiView):
    scopes = {"POST": Scope.ERASURE_INTAKE}

    @extend_schema(request=Told, responses={200: ErasureRequestShape})
    def post(self, request: Request, number: int) -> Response:
        """Note on which day the person was told that the erasure is done: once. Needs all access."""
        check_all_access(request)
        given = valid(Told, request.data)
        found = found_of(request, number)

        def act() -> Done:
            try:
                telling.note_told(found, told_on=given["told_on"], actor=principal_of(request).actor, now=self.now)
            except WrongState as wrong:
                raise NotedRefusal(Conflict(str(wrong), code=wrong.code)) from None
            except Refusal as refusal:
                raise NotedRefusal(Unprocessable(str(refusal), refusal.code)) from None
            return Done(200, str(number))

        return answer_once(request, act, lambda _: shown(found_of(request, number)), now=self.now)
