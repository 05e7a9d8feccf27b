"""The second person of a large run, by a token: it counts as whoever made it."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from memadmin.access.scopes import Scope
from memadmin.api.v1 import inputs, rendering, shapes
from memadmin.api.v1.base import ApiView, principal_of, valid
from memadmin.api.v1.governing import run_of
from memadmin.api.v1.idempotency import Done, answer_once
from memadmin.lifecycle import approval


class RunApprove(ApiView):
    scopes = {"POST": Scope.RETENTION_APPROVE}

    @extend_schema(request=inputs.Approval, responses={202: shapes.RunShape})
    def post(self, request: Request, number: int) -> Response:
        """Approve a run that waits for a second person, and have a worker carry it out.

        `digest` is the one of its `approval`: of the very list of victims. Whoever caused the run is refused, by any token of theirs.
        """
        run, given = run_of(request, number), valid(inputs.Approval, request.data)

        def act() -> Done:
            approval.approve(run, digest=given["digest"], actor=principal_of(request).actor, now=self.now)
            return Done(202, str(number))

        return answer_once(request, act, lambda _: rendering.run(run_of(request, number)), now=self.now)


class RunRefuse(ApiView):
    scopes = {"POST": Scope.RETENTION_APPROVE}

    @extend_schema(request=inputs.Refusal, responses={200: shapes.RunShape})
    def post(self, request: Request, number: int) -> Response:
        """Refuse a run that waits for a second person. It ends, and nothing is evicted."""
        run, given = run_of(request, number), valid(inputs.Refusal, request.data)

        def act() -> Done:
            approval.refuse(run, reason=given["reason"], actor=principal_of(request).actor, now=self.now)
            return Done(200, str(number))

        return answer_once(request, act, lambda _: rendering.run(run_of(request, number)), now=self.now)
