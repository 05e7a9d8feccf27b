"""Requests and answers of one JSON object a line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer


class NdJson(BaseRenderer):
    """For answers that are streamed; what is rendered here is only a refusal."""

    media_type = "application/x-ndjson"
    format = "ndjson"
    charset = "utf-8"

    def render(self, data: Any, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None) -> bytes:
        return json.dumps(data, default=str).encode() + b"\n"


class Csv(NdJson):
    """The same, for a table."""

    media_type = "text/csv"
    format = "csv"


class Unread(BaseParser):
    """Leaves the body to the view."""

    media_type = "application/x-ndjson"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None) -> Any:
        return stream
