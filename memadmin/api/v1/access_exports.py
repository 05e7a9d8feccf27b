"""Exports for the people of requests: made and followed by a program. The link is a person's to make: whoever has it gets everything."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import exceptions, serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memadmin.access.scopes import Scope
from memadmin.api.v1.base import ApiView, check_all_access, principal_of
from memadmin.api.v1.problems import Unprocessable
from memadmin.erasure.access_exports import starting
from memadmin.erasure.models import AccessExport, ErasureRequest
from memadmin.erasure.moves import Refusal
from memadmin.erasure.visibility import visible_requests


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
        export = _request(request, number).access_exports.order_by("-pk").first()
        if export is None:
            raise exceptions.NotFound
        return Response(shown(export))

    @extend_schema(request=None, responses={202: AccessExportShape})
    def post(self, request: Request, number: int) -> Response:
        """Make an export for the person of a request that is in review. An earlier one then opens nothing. Needs all access."""
        found = _request(request, number)
        try:
            export = starting.start(found, actor=principal_of(request).actor, now=self.now)
        except Refusal as refusal:
            raise Unprocessable(str(refusal), refusal.code) from None
        return Response(shown(export), status=202)


def shown(export: AccessExport) -> dict[str, Any]:
    shape: dict[str, Any] = AccessExportShape(export).data
    return shape


def _request(request: Request, number: int) -> ErasureRequest:
    check_all_access(request)
    found = visible_requests(principal_of(request)).filter(number=number).first() if number < 2**63 else None
    if found is None:
        raise exceptions.NotFound
    return found
