"""Summarising before evicting: the switch of a container, and the clusters of a run."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memadmin.access.scopes import Scope
from memadmin.api.v1 import inputs, paging, rendering, shapes
from memadmin.api.v1.base import ApiView, container_of, principal_of, valid
from memadmin.api.v1.governing import run_of, user_uids
from memadmin.api.v1.inputs import Input
from memadmin.lifecycle.models import RunCluster
from memadmin.lifecycle.summarising import switch
from memadmin.store import policies

COLUMNS = ("number", "state", "why", "summary_uid", "summary_tokens")


class SummariseFrom(Input):
    """How many alike memories become one summary instead of going one by one; null: none do."""

    summarise_from = serializers.IntegerField(min_value=switch.LEAST, max_value=switch.MOST, allow_null=True)


class ClusterShape(serializers.Serializer[Any]):
    """Victims side by side in the run's list, `first` to `last`. Those up to `room` go only if the summary takes their place."""

    number = serializers.IntegerField()
    state = serializers.CharField()
    why = serializers.CharField()
    user_uid = serializers.UUIDField()
    first = serializers.IntegerField()
    last = serializers.IntegerField()
    room = serializers.IntegerField()
    summary_uid = shapes.NullableUuid()
    summary_tokens = serializers.IntegerField(allow_null=True)


class Summarising(ApiView):
    answers_once = False  # the same again changes nothing more
    scopes = {"PUT": Scope.POLICY_WRITE}

    @extend_schema(request=SummariseFrom, responses=shapes.ContainerShape)
    def put(self, request: Request, cid: str) -> Response:
        """Let runs put clusters of alike memories into one summary before evicting them, or not any more (null). Needs a model endpoint."""
        container, given = container_of(request, cid), valid(SummariseFrom, request.data)
        switch.switch(container, given["summarise_from"], actor=principal_of(request).actor, now=self.now)
        return Response(rendering.container(container, policies.published(container)))


class Clusters(ApiView):
    scopes = {"GET": Scope.RETENTION_PREVIEW}

    @extend_schema(parameters=[inputs.ListQuery], responses=shapes.page_of(ClusterShape))
    def get(self, request: Request, number: int) -> Response:
        """List which victims of a run would become one summary, or have. Which memories they are the list of victims says."""
        run, query = run_of(request, number), valid(inputs.ListQuery, request.query_params)
        rows = RunCluster.objects.filter(run=run)
        page = paging.by_id(rows, query, id_field="number")
        found = list(rows.filter(number__in=page.ids).order_by("number"))
        uids = user_uids(cluster.subject_id for cluster in found)
        return paging.listed(found, page, lambda row: _shown(row, uids[row.subject_id]))


def _shown(row: RunCluster, user_uid: Any) -> dict[str, Any]:
    places = {"first": row.first, "last": row.last, "room": row.room}
    return {**{name: getattr(row, name) for name in COLUMNS}, "user_uid": user_uid, **places}
