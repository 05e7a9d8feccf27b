"""The audit log, for programs that watch it. It shows everybody's acts, so all of it needs a token of the whole installation."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django.db.models import F
from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from memadmin.access.scopes import Scope
from memadmin.api.v1 import inputs, paging, shapes
from memadmin.api.v1.base import ApiView, check_reaches_all, principal_of, valid
from memadmin.api.v1.streams import Csv, NdJson
from memadmin.audit import listing
from memadmin.audit.listing import Wanted
from memadmin.audit.models import AuditEntry
from memadmin.transfer import sheets


class AuditEntries(ApiView):
    scopes = {"GET": Scope.AUDIT_READ}

    @extend_schema(parameters=[inputs.AuditQuery], responses=shapes.page_of(shapes.AuditEntryShape))
    def get(self, request: Request) -> Response:
        """List entries of the audit log, the newest first, without what people wrote beside them. Needs all access to all containers."""
        check_reaches_all(request)
        query = valid(inputs.AuditQuery, request.query_params)
        rows = _wanted(query).entries()
        page = paging.by_key(rows.annotate(key=F("seq"), id=F("seq")), query, key="key", descending=True)
        found = AuditEntry.objects.in_stream(query["stream"]).filter(seq__in=page.ids).newest_first()
        return paging.listed(list(found), page, listing.record)


class AuditExport(ApiView):
    scopes = {"GET": Scope.AUDIT_READ}
    renderer_classes = [NdJson, Csv]  # what is sent, `form` says

    @extend_schema(parameters=[inputs.AuditExportQuery], responses={(200, each.media_type): OpenApiTypes.STR for each in (NdJson, Csv)})
    def get(self, request: Request) -> StreamingHttpResponse:
        """Send all entries that the filters find, the oldest first, as JSON lines or CSV. Audited. Needs all access to all containers."""
        check_reaches_all(request)
        query = valid(inputs.AuditExportQuery, request.query_params)
        entries = listing.export(_wanted(query), actor=principal_of(request).actor, now=self.now)
        if query["form"] == "csv":
            return StreamingHttpResponse(sheets.table(listing.FIELDS, map(_row, entries)), content_type=Csv.media_type)
        lines = (json.dumps(listing.record(entry), separators=(",", ":")) + "\n" for entry in entries)
        return StreamingHttpResponse(lines, content_type=NdJson.media_type)


def _row(entry: AuditEntry) -> Mapping[str, Any]:
    return listing.record(entry) | {"counts": json.dumps(entry.counts)}


def _wanted(query: Mapping[str, Any]) -> Wanted:
    given = {name: query[name] for name in ("outcome", "actor", "target", "request_id", "since", "until") if query.get(name)}
    return Wanted(stream=query["stream"], actions=query.get("action", ()), **given)
