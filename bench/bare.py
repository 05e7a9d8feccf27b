"""The least that a web service can do with a message: a view that reads JSON and inserts one row. Routed by `bench.bare_urls` alone."""

from __future__ import annotations

import json

from django.http import HttpRequest, JsonResponse
from django.urls import path
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from memadmin.store.models import WorkingMemory
from memadmin.urls import urlpatterns as product


@csrf_exempt
def insert_one(request: HttpRequest) -> JsonResponse:
    body = json.loads(request.body)
    now = timezone.now()
    row = WorkingMemory.objects.create(
        container_id=1, subject_id=1, messages=body["messages"], namespace=body["namespace"], message_count=1, created_at=now, stored_at=now
    )
    return JsonResponse({"working_memory_id": str(row.uid)})


urlpatterns = [path("bare/", insert_one), *product]
