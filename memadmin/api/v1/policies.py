"""Policies as documents: versions, drafts, how two differ, publishing at once or at a time, copies for other containers."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import exceptions
from rest_framework.request import Request
from rest_framework.response import Response

from memadmin.access.scopes import Scope
from memadmin.api.v1 import inputs, paging, shapes
from memadmin.api.v1.base import ApiView, container_of, principal_of, valid
from memadmin.api.v1.idempotency import Done, answer_once
from memadmin.api.v1.problems import Conflict
from memadmin.api.v1.rendering import policy_version
from memadmin.lifecycle.differences import differences
from memadmin.store import drafts, policies
from memadmin.store.models import Container, PolicyVersion
from retention.policy import parse_policy
from retention.rules import RetentionPolicy

HIGHEST = 2**31


def version_of(container: Container, number: int) -> PolicyVersion:
    """Raises NotFound."""
    found = PolicyVersion.objects.filter(container=container, number=number).first() if number < HIGHEST else None
    if found is None:
        raise exceptions.NotFound
    return found


def readable(version: PolicyVersion | None) -> RetentionPolicy | None:
    """Return what a version says, None for none. Raises Conflict when it cannot be read."""
    policy = policies.readable(version)
    if version is not None and policy is None:
        raise Conflict(f"Version {version.number} says something that this program does not know.", code="unreadable")
    return policy


class Policies(ApiView):
    scopes = {"GET": Scope.CONTAINER_READ, "POST": Scope.POLICY_WRITE}

    @extend_schema(parameters=[inputs.ListQuery], responses=shapes.page_of(shapes.PolicyVersionShape))
    def get(self, request: Request, cid: str) -> Response:
        """List the versions of a container's policy, drafts among them, the newest first."""
        container, query = container_of(request, cid), valid(inputs.ListQuery, request.query_params)
        rows = PolicyVersion.objects.filter(container=container)
        page = paging.by_id(rows, query, descending=True)
        return paging.listed(paging.in_order(rows, page), page, policy_version)

    @extend_schema(request=inputs.NewDraft, responses={201: shapes.PolicyVersionShape})
    def post(self, request: Request, cid: str) -> Response:
        """Keep a policy as a draft. It evicts nothing. A draft of the same content that is there already is the answer."""
        container, given = container_of(request, cid), valid(inputs.NewDraft, request.data)

        def act() -> Done:
            policy = parse_policy(given["policy"])
            draft = policies.save_draft(container, policy, actor=principal_of(request).actor, now=self.now, note=given["note"])
            return Done(201, str(draft.number))

        return answer_once(request, act, lambda number: policy_version(version_of(container, int(number))), now=self.now)


class OnePolicy(ApiView):
    answers_once = False  # an edit names the revision it was made from, and a draft is dropped once
    scopes = {"GET": Scope.CONTAINER_READ, "PATCH": Scope.POLICY_WRITE, "DELETE": Scope.POLICY_WRITE}

    @extend_schema(responses=shapes.PolicyVersionShape)
    def get(self, request: Request, cid: str, number: int) -> Response:
        """Read one version."""
        return Response(policy_version(version_of(container_of(request, cid), number)))

    @extend_schema(request=inputs.DraftChange, responses=shapes.PolicyVersionShape)
    def patch(self, request: Request, cid: str, number: int) -> Response:
        """Give a draft another content. Where it was edited since `revision`, the answer has both versions, and nothing is changed."""
        container, given = container_of(request, cid), valid(inputs.DraftChange, request.data)
        draft = version_of(container, number)
        policy, note = parse_policy(given["policy"]), given.get("note", draft.note)
        values = {"revision": given["revision"], "actor": principal_of(request).actor, "now": self.now, "note": note}
        try:
            return Response(policy_version(drafts.edit(container, number, policy, **values)))
        except policies.DraftChanged as changed:
            yours = {"policy": given["policy"], "note": note, "revision": given["revision"]}
            raise Conflict(str(changed), code="draft_changed", yours=yours, current=policy_version(changed.draft)) from None

    @extend_schema(responses={204: None})
    def delete(self, request: Request, cid: str, number: int) -> Response:
        """Drop a draft. Its number stays taken."""
        container = container_of(request, cid)
        version_of(container, number)
        drafts.drop(container, number, actor=principal_of(request).actor, now=self.now)
        return Response(status=204)


class PolicyDifferences(ApiView):
    scopes = {"GET": Scope.CONTAINER_READ}

    @extend_schema(parameters=[inputs.TwoVersions], responses=shapes.DifferencesShape)
    def get(self, request: Request, cid: str) -> Response:
        """Say limit by limit, and in sentences, how version `new` differs from version `old`; without `old` from what is in force."""
        container, query = container_of(request, cid), valid(inputs.TwoVersions, request.query_params)
        old = version_of(container, query["old"]) if "old" in query else policies.published(container)
        new = version_of(container, query["new"])
        found = differences(readable(old), readable(new))
        return Response(
            {
                "old": old.number if old else None,
                "new": new.number,
                "changes": [
                    {
                        "field": each.change.field,
                        "before": each.change.before,
                        "after": each.change.after,
                        "effect": str(each.effect),
                        "sentence": each.sentence,
                    }
                    for each in found
                ],
            }
        )


class PolicyPublish(ApiView):
    scopes = {"POST": Scope.POLICY_WRITE}

    @extend_schema(request=inputs.Publication, responses={200: shapes.PolicyVersionShape})
    def post(self, request: Request, cid: str, number: int) -> Response:
        """Put a draft in force, or with `publish_at` at that time.

        `base` is the number of the version in force that was seen, null for none; `digest` that of the draft. Large runs that come of it
        wait for a second person.
        """
        container, given = container_of(request, cid), valid(inputs.Publication, request.data)
        version_of(container, number)

        def act() -> Done:
            self._publish(container, number, given, actor=principal_of(request).actor, at=given.get("publish_at"))
            return Done(200, str(number))

        return answer_once(request, act, lambda _: policy_version(version_of(container, number)), now=self.now)

    def _publish(self, container: Container, number: int, given: dict[str, Any], *, actor: str, at: datetime | None) -> None:
        values = {"base": given["base"], "seen": given["digest"], "actor": actor, "now": self.now}
        if at is not None:
            drafts.schedule(container, number, at=at, **values)
        else:
            policies.publish_draft(container, number, **values)


class PolicyUnschedule(ApiView):
    scopes = {"POST": Scope.POLICY_WRITE}

    @extend_schema(request=inputs.Nothing, responses={200: shapes.PolicyVersionShape})
    def post(self, request: Request, cid: str, number: int) -> Response:
        """Make a scheduled version a draft again, before its time."""
        container = container_of(request, cid)
        valid(inputs.Nothing, request.data)
        version_of(container, number)

        def act() -> Done:
            drafts.unschedule(container, number, actor=principal_of(request).actor, now=self.now)
            return Done(200, str(number))

        return answer_once(request, act, lambda _: policy_version(version_of(container, number)), now=self.now)


class PolicyRollBack(ApiView):
    scopes = {"POST": Scope.POLICY_WRITE}

    @extend_schema(request=inputs.BaseSeen, responses={201: shapes.PolicyVersionShape})
    def post(self, request: Request, cid: str, number: int) -> Response:
        """Put the content of an earlier version in force again, as a new version. `base`: as when publishing."""
        container, given = container_of(request, cid), valid(inputs.BaseSeen, request.data)
        readable(version_of(container, number))

        def act() -> Done:
            actor = principal_of(request).actor
            version = policies.roll_back(container, number, actor=actor, now=self.now, base=given["base"])
            return Done(201, str(version.number))

        return answer_once(request, act, lambda made: policy_version(version_of(container, int(made))), now=self.now)


class PolicyCopy(ApiView):
    answers_once = False  # a container that has the draft already gets no second one
    scopes = {"POST": Scope.POLICY_WRITE}

    @extend_schema(request=inputs.CopyTo, responses={200: shapes.CopiedShape})
    def post(self, request: Request, cid: str, number: int) -> Response:
        """Bring a version to other containers, as a draft of each. One that the token may not use answers 404, and nothing is copied."""
        container, given = container_of(request, cid), valid(inputs.CopyTo, request.data)
        version = version_of(container, number)
        readable(version)
        targets = {target.pk: target for target in (container_of(request, name) for name in given["containers"])}
        made = drafts.copy(version, targets.values(), actor=principal_of(request).actor, now=self.now)
        return Response({"items": [policy_version(draft) for draft in made]})
