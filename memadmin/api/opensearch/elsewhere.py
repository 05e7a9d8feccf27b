"""What OpenSearch has and we have not."""

from __future__ import annotations

from django.http import HttpResponse, JsonResponse

from memadmin.access.scopes import Scope
from memadmin.api.opensearch.endpoints import Call, endpoint


@endpoint(Scope.CONTAINER_READ)
def no_handler(call: Call, rest: str) -> HttpResponse:
    return JsonResponse({"error": f"no handler found for uri [/_{rest[:200]}] and method [{call.method}]"}, status=400)
