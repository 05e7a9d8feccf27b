"""Retention: what a policy would evict, numbered runs and their victims, the archive and the way back. All of it needs all access."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import exceptions
from rest_framework.request import Request
from rest_framework.response import Response

from memadmin.access.scopes import Scope
from memadmin.access.visibility import visible_containers
from memadmin.api.v1 import inputs, paging, rendering, shapes
from memadmin.api.v1.base import ApiView, check_all_access, principal_of, valid, whole_container
from memadmin.api.v1.idempotency import Done, answer_once
from memadmin.api.v1.problems import Conflict
from memadmin.lifecycle import comeback, planning, restoring, runs
from memadmin.lifecycle.models import Run, RunKept, RunVictim, Trigger
from memadmin.store import policies
from memadmin.store.models import Archived, Container, PolicyVersion, Subject
from retention.policy import RetentionPolicy, parse_policy


def policy_to_judge(container: Container, given: dict[str, Any]) -> tuple[RetentionPolicy, PolicyVersion | None]:
    """Return the policy of the request, or the one in force, with its version. Raises InvalidPolicy and Conflict."""
    in_force = policies.published(container)
    if given.get("policy") is None:
        if in_force is None:
            raise Conflict("No policy is in force for this container. Give one in `policy`.", code="no_policy")
        return policies.parse(in_force), in_force
    policy = parse_policy(given["policy"])
    if in_force and policies.means(in_force, policy):
        return policies.parse(in_force), in_force  # as the version spells it, which a run must go by
    return policy, None


ERASURE_ASKED = "erasure_asked"  # or carried out


class Preview(ApiView):
    answers_once = False
    scopes = {"POST": Scope.RETENTION_PREVIEW}

    @extend_schema(request=inputs.PolicyToTry, responses={200: shapes.Preview})
    def post(self, request: Request, cid: str) -> Response:
        """Say what a policy, saved or not, would evict now, with the first victims. Nothing is stored or evicted."""
        container, given = whole_container(request, cid), valid(inputs.PolicyToTry, request.data)
        policy, _ = policy_to_judge(container, given)
        estimate = planning.estimate(container, policy, now=self.now, limit=given["limit"])
        uids = user_uids(victim.subject_id for victim in estimate.first)
        return Response(
            {
                "totals": estimate.totals.as_json(),
                "warnings": [{"code": one.code, "text": one.text, "loud": one.loud} for one in estimate.warnings],
                "items": [rendering.victim(victim, uids[victim.subject_id]) for victim in estimate.first],
            }
        )


class Runs(ApiView):
    scopes = {"GET": Scope.RETENTION_PREVIEW, "POST": Scope.RETENTION_PREVIEW}

    @extend_schema(parameters=[inputs.ListQuery], responses=shapes.page_of(shapes.RunShape))
    def get(self, request: Request, cid: str) -> Response:
        """List the previews and runs of a container, the newest first."""
        container, query = whole_container(request, cid), valid(inputs.ListQuery, request.query_params)
        rows = Run.objects.of_container(container).select_related("container", "policy_version", "approval")
        page = paging.by_id(rows, query, descending=True, id_field="number")
        return paging.listed(paging.in_order(rows, page), page, rendering.run)

    @extend_schema(request=inputs.NewRun, responses={201: shapes.RunShape})
    def post(self, request: Request, cid: str) -> Response:
        """Record a numbered preview: which items a policy evicts, one by one. It evicts nothing until it is started."""
        container, given = whole_container(request, cid), valid(inputs.NewRun, request.data)
        opened: list[Run] = []

        def act() -> Done:
            policy, version = policy_to_judge(container, given)
            actor = principal_of(request).actor
            opened.append(planning.open_run(container, policy, now=self.now, trigger=Trigger.PREVIEW, actor=actor, policy_version=version))
            return Done(201, str(opened[0].number))

        def show(number: str) -> dict[str, Any]:
            if opened:  # outside the transaction of the key: a plan reads the store as at one moment, and may take long
                planning.record(opened[0], now=self.now)
            return rendering.run(run_of(request, int(number)))

        return answer_once(request, act, show, now=self.now)


def run_of(request: Request, number: int) -> Run:
    """Return a run of a container that the token may use. Raises NotFound and PermissionDenied."""
    rows = Run.objects.of_containers(visible_containers(principal_of(request))).select_related("container", "policy_version", "approval")
    run: Run | None = rows.filter(pk=number).first() if number < 2**63 else None
    if run is None:
        raise exceptions.NotFound
    check_all_access(request)
    return run


class OneRun(ApiView):
    scopes = {"GET": Scope.RETENTION_PREVIEW}

    @extend_schema(responses=shapes.RunShape)
    def get(self, request: Request, number: int) -> Response:
        """Read one run: its state, what it was going to evict and what has gone."""
        return Response(rendering.run(run_of(request, number)))


class Victims(ApiView):
    scopes = {"GET": Scope.RETENTION_PREVIEW}

    @extend_schema(parameters=[inputs.ListQuery], responses=shapes.page_of(shapes.Victim))
    def get(self, request: Request, number: int) -> Response:
        """List the victims of a run in the order in which they go. It holds no text."""
        run, query = run_of(request, number), valid(inputs.ListQuery, request.query_params)
        victims = RunVictim.objects.of_run(run)
        page = paging.by_id(victims, query, id_field="seq")
        found = list(victims.filter(seq__in=page.ids).in_order())
        uids = user_uids(victim.subject_id for victim in found)
        kept = dict(RunKept.objects.filter(run=run, seq__in=page.ids).values_list("seq", "why"))
        return paging.listed(found, page, lambda row: rendering.victim(row, uids[row.subject_id], kept.get(row.seq)))


class RunStart(ApiView):
    scopes = {"POST": Scope.RETENTION_RUN}

    @extend_schema(request=inputs.Nothing, responses={202: shapes.RunShape})
    def post(self, request: Request, number: int) -> Response:
        """Have a worker carry out a preview, exactly as it was recorded. A large one waits for a second person first (`waiting`)."""
        run = run_of(request, number)
        valid(inputs.Nothing, request.data)

        def act() -> Done:
            runs.start(run, actor=principal_of(request).actor, now=self.now)
            return Done(202, str(number))

        return answer_once(request, act, lambda _: rendering.run(run_of(request, number)), now=self.now)


class RunRestore(ApiView):
    scopes = {"POST": Scope.RETENTION_RESTORE}

    @extend_schema(request=inputs.Forced, responses={202: shapes.RunShape})
    def post(self, request: Request, number: int) -> Response:
        """Have a worker put back what a run evicted, as far as the archive has it.

        Where the next run would evict items again, or a user gets over a cap, nothing happens without `force`: the answer has the numbers.
        """
        run = run_of(request, number)
        given = valid(inputs.Forced, request.data)

        def act() -> Done:
            _ahead(Archived.objects.of_run(number, run.container), force=given["force"], now=self.now)
            runs.restore_run(run, actor=principal_of(request).actor, now=self.now)
            return Done(202, str(number))

        return answer_once(request, act, lambda _: rendering.run(run_of(request, number)), now=self.now)


def _ahead(copies: QuerySet[Archived], *, force: bool, now: datetime) -> comeback.Comeback:
    """Return what comes of putting copies back.

    Raises Conflict where none of them may come, and without `force` where the next run would evict again.
    """
    found = comeback.look_ahead(copies, now=now)
    if found.items and not found.coming and found.barred:
        raise Conflict(comeback.why_nothing_comes(found), code=ERASURE_ASKED)
    if found.items and found.warns and not force:
        raise Conflict(comeback.in_words(found), code="over_limit")
    return found


class Archive(ApiView):
    scopes = {"GET": Scope.MEMORY_READ}

    @extend_schema(parameters=[inputs.UserQuery], responses=shapes.page_of(shapes.ArchivedShape))
    def get(self, request: Request, cid: str) -> Response:
        """List what was evicted and can still be restored, in the order of eviction. It holds no text."""
        container, query = whole_container(request, cid), valid(inputs.UserQuery, request.query_params)
        rows = Archived.objects.filter(container=container).restorable(self.now).select_related("subject").defer("payload")
        if "user_id" in query:
            rows = rows.filter(subject__user_id=query["user_id"])
        page = paging.by_id(rows, query)
        return paging.listed(paging.in_order(rows, page), page, rendering.archived)


class ArchiveRestoreSeveral(ApiView):
    answers_once = False
    scopes = {"POST": Scope.RETENTION_RESTORE}

    @extend_schema(request=inputs.RestoreSeveral, responses={200: shapes.RestoredSeveral})
    def post(self, request: Request, cid: str) -> Response:
        """Put back named items at once, or have a worker put back all that a user has in the archive (`since` a time).

        Where the next run would evict items again, or a user gets over a cap, nothing happens without `force`: the answer has the numbers.
        """
        container, given = whole_container(request, cid), valid(inputs.RestoreSeveral, request.data)
        copies: QuerySet[Archived] = Archived.objects.filter(container=container)
        subject = None
        if "uids" in given:
            copies = copies.filter(uid__in=given["uids"])
        else:
            subject = Subject.objects.of_container(container).filter(user_id=given["user_id"]).first()
            copies = restoring.copies_of(subject, since=given.get("since")) if subject else copies.none()
        found = _ahead(copies, force=given["force"], now=self.now)
        if not found.items:
            raise exceptions.NotFound("The archive has nothing of that which can be restored.")
        return self._restore(request, subject, copies, found, since=given.get("since"))

    def _restore(
        self, request: Request, subject: Subject | None, copies: QuerySet[Archived], found: comeback.Comeback, *, since: datetime | None
    ) -> Response:
        actor = principal_of(request).actor
        numbers = {"coming": found.coming, "past_limits": found.past, "would_go_again": found.again, "expired": found.expired}
        if subject is not None:
            restoring.restore_user(subject, since=since, actor=actor, now=self.now)
            return Response({"queued": True, "items": 0, "already_there": found.there, "refused": 0, **numbers})
        restored = restoring.restore_items(list(copies), actor=actor, now=self.now)
        counted = {name: getattr(restored, name) for name in ("items", "already_there", "refused")}
        return Response({"queued": False, **counted, **numbers})


class ArchiveRestore(ApiView):
    answers_once = False
    scopes = {"POST": Scope.RETENTION_RESTORE}

    @extend_schema(request=inputs.Forced, responses={200: shapes.RestoredShape})
    def post(self, request: Request, cid: str, uid: UUID) -> Response:
        """Put one evicted item back, as it was. Where it has come back by itself meanwhile, its newer form stays.

        Where the next run would evict it again, or another one in its place, nothing happens without `force`.
        """
        container, given = whole_container(request, cid), valid(inputs.Forced, request.data)
        copies: QuerySet[Archived] = Archived.objects.filter(container=container, uid=uid).restorable(self.now)
        copy = copies.first()
        if copy is None:
            raise exceptions.NotFound
        _ahead(copies, force=given["force"], now=self.now)
        restored = restoring.restore_item(copy, actor=principal_of(request).actor, now=self.now)
        if restored.refused:
            raise Conflict("It is not restored: its erasure was asked for or has been carried out.", code=ERASURE_ASKED)
        return Response({"items": restored.items, "already_there": restored.already_there, "refused": restored.refused})


def user_uids(subjects: Any) -> dict[int, UUID]:
    return dict(Subject.objects.filter(pk__in=set(subjects)).values_list("pk", "uid"))
