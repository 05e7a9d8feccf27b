"""Containers, their users, and everything in them as a file."""

from __future__ import annotations

import tempfile
from pathlib import Path

from django.http import FileResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from memadmin.access.scopes import Scope
from memadmin.access.visibility import visible_containers
from memadmin.api.v1 import inputs, paging, rendering, shapes
from memadmin.api.v1.base import ApiView, container_of, principal_of, valid, whole_container
from memadmin.api.v1.streams import NdJson
from memadmin.store import policies
from memadmin.store.hard_limits import set_limit
from memadmin.store.models import Container, PolicyStatus, PolicyVersion, Subject
from memadmin.transfer.exporting import export_containers, export_user

LINES = OpenApiResponse(OpenApiTypes.STR, description="One JSON object a line; see docs/transfer.md.")


class Containers(ApiView):
    scopes = {"GET": Scope.CONTAINER_READ}

    @extend_schema(parameters=[inputs.ListQuery], responses=shapes.page_of(shapes.ContainerShape))
    def get(self, request: Request) -> Response:
        """List the containers that the token may use, in the order of their making."""
        query, rows = valid(inputs.ListQuery, request.query_params), visible_containers(principal_of(request))
        page = paging.by_id(rows, query)
        found = paging.in_order(rows, page)
        in_force = PolicyVersion.objects.filter(container__in=found, status=PolicyStatus.PUBLISHED)
        versions = {version.container_id: version for version in in_force}
        return paging.listed(found, page, lambda row: rendering.container(row, versions.get(row.pk)))


class OneContainer(ApiView):
    scopes = {"GET": Scope.CONTAINER_READ}

    @extend_schema(responses=shapes.ContainerShape)
    def get(self, request: Request, cid: str) -> Response:
        """Read one container, by its id or its uid."""
        container = container_of(request, cid)
        return Response(rendering.container(container, policies.published(container)))


class HardLimit(ApiView):
    answers_once = False  # the same again changes nothing more
    scopes = {"PUT": Scope.POLICY_WRITE}

    @extend_schema(request=inputs.HardLimit, responses=shapes.ContainerShape)
    def put(self, request: Request, cid: str) -> Response:
        """Say after how many days nothing of a container may be kept. What is older is gathered into a request for erasure at night,
        which people review and approve; no run looks at it. Needs all access.
        """
        container, given = whole_container(request, cid), valid(inputs.HardLimit, request.data)
        set_limit(container, given["days"], actor=principal_of(request).actor, now=self.now)
        return Response(rendering.container(container, policies.published(container)))


class Users(ApiView):
    scopes = {"GET": Scope.MEMORY_READ}

    @extend_schema(parameters=[inputs.UserQuery], responses=shapes.page_of(shapes.UserShape))
    def get(self, request: Request, cid: str) -> Response:
        """List the users of a container by their ids, with live counters. Needs all access."""
        container, query = whole_container(request, cid), valid(inputs.UserQuery, request.query_params)
        rows = Subject.objects.of_container(container).attributed()
        if "user_id" in query:
            rows = rows.filter(user_id=query["user_id"])
        page = paging.by_key(rows, query, key="user_id")
        return paging.listed(paging.in_order(rows, page), page, rendering.user)


class Export(ApiView):
    scopes = {"GET": Scope.EXPORT_MAKE}
    renderer_classes = [NdJson]

    @extend_schema(parameters=[inputs.ExportQuery], responses={(200, "application/x-ndjson"): OpenApiTypes.STR})
    def get(self, request: Request, cid: str) -> FileResponse:
        """Send everything of the container, or of one user in it, in our own format. Audited. Needs all access."""
        container, query = whole_container(request, cid), valid(inputs.ExportQuery, request.query_params)
        only = Container.objects.filter(pk=container.pk)
        actor = principal_of(request).actor
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "export.jsonl"
            if "user_id" in query:
                export_user(path, query["user_id"], only, actor=actor, now=self.now)
            else:
                export_containers(path, only, actor=actor, now=self.now)
            content = path.open("rb")  # an open file outlives its name
        return FileResponse(content, as_attachment=True, filename="export.jsonl", content_type=NdJson.media_type)
