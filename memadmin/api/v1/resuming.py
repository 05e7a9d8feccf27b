"""An erasure that stopped goes on, by a token of somebody who may review erasures."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework import exceptions
from rest_framework.request import Request
from rest_framework.response import Response

from memadmin.access.actors import actor_of
from memadmin.access.humans import human_of
from memadmin.access.models import Person
from memadmin.access.rights import Right
from memadmin.access.roles import roles_with
from memadmin.access.scopes import Scope
from memadmin.api.v1.base import ApiView, check_all_access, principal_of, valid
from memadmin.api.v1.erasing import ErasureRequestShape, found_of, shown
from memadmin.api.v1.idempotency import Done, NotedRefusal, answer_once
from memadmin.api.v1.inputs import Nothing
from memadmin.api.v1.problems import Conflict
from memadmin.erasure.execution import resuming
from memadmin.erasure.moves import Refusal


class ErasureGoOn(ApiView):
    scopes = {"POST": Scope.ERASURE_RESUME}

    @extend_schema(request=Nothing, responses={202: ErasureRequestShape})
    def post(self, request: Request, number: int) -> Response:
        """Let an erasure go on that stalled with an error, or of which a verification found something left. Needs all access.

        Nothing is erased that was not approved. The token counts as whoever made it, who has to hold the right to review today.
        """
        check_all_access(request)
        actor = principal_of(request).actor
        _check_reviewer(actor)
        valid(Nothing, request.data)
        found = found_of(request, number)

        def act() -> Done:
            try:
                resuming.go_on(found, actor=actor, now=self.now)
            except Refusal as refusal:
                raise NotedRefusal(Conflict(str(refusal), code=refusal.code)) from None
            return Done(202, str(number))

        return answer_once(request, act, lambda _: shown(found_of(request, number)), now=self.now)


def _check_reviewer(actor: str) -> None:
    roles = {role.value for role in roles_with(Right.ERASURE_REVIEW)}
    people = [person for person in Person.objects.filter(is_active=True) if roles & set(person.roles)]
    if human_of(actor) not in {human_of(actor_of(person)) for person in people}:
        raise exceptions.PermissionDenied("Whoever made this token may not review erasures.")
