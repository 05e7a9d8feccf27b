"""Exports for the people of requests: made and followed by a program. The link is a person's to make: whoever has it gets everything."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import exceptions, serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memadmin.access.scopes import Scope
from memadmin.api.v1.base import ApiView, check_all_access, principal_of, valid
from memadmin.api.v1.erasing import found_of
from memadmin.api.v1.idempotency import Done, NotedRefusal, answer_once
from memadmin.api.v1.inputs import Nothing
from memadmin.api.v1.problems import Unprocessable
from memadmin.erasure.access_exports import starting
from memadmin.erasure.models import AccessExport
from memadmin.erasure.moves import Refusal


class AccessExportShape(serializers.Serializer[Any]):
    """How far the newest export of a request is. `included` and `left_out` count things by place; neither says what they are."""

    uid = serializers.UUIDField()
    state = serializers.CharField()
    started_at = serializers.DateTimeField()
    made_at = serializers.DateTimeField(allow_null=True)
    handed_at = serializers.DateTimeField(allow_null=True)
    expires_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)
    included = serializers.DictField(child=serializers.IntegerField())
    left_out = serializers.DictField(child=serializers.IntegerField())
    error_code = serializers.CharField()


class AccessExports(ApiView):
    scopes = {"GET": Scope.ERASURE_INTAKE, "POST": Scope.ERASURE_EXPORT}

    @extend_schema(responses=AccessExportShape)
    def get(self, request: Request, number: int) -> Response:
        """Say how far the newest export of a request is; 404 where there is none. Needs all access."""
        check_all_access(request)
        export = found_of(request, number).access_exports.order_by("-pk").first()
        if export is None:
            raise exceptions.NotFound
        return Response(shown(export))

    @extend_schema(request=Nothing, responses={202: AccessExportShape})
    def post(self, request: Request, number: int) -> Response:
        """Make an export for the person of a request that is in review. An earlier one then opens nothing. Needs all access."""
        check_all_access(request)
        valid(Nothing, request.data)
        found = found_of(request, number)

        def act() -> Done:
            try:
                export = starting.start(found, actor=principal_of(request).actor, now=self.now)
            except Refusal as refusal:
                raise NotedRefusal(Unprocessable(str(refusal), refusal.code)) from None
            return Done(202, str(export.uid))

        return answer_once(request, act, lambda uid: shown(found.access_exports.get(uid=uid)), now=self.now)


def shown(export: AccessExport) -> dict[str, Any]:
    shape: dict[str, Any] = AccessExportShape(export).data
    return shape
