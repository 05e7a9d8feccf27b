"""Which container the records of a file go to: the one that is named, or the one that the file describes."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from memadmin.store import ingest, policies
from memadmin.store.identity import MAX_ID_LENGTH
from memadmin.store.models import Container, PolicyVersion
from memadmin.store.text import clean
from memadmin.transfer.outcomes import CopiedFrom, FoundContainer, FoundPolicy
from memadmin.transfer.problems import Refused, UnusableFile
from memadmin.transfer.values import uid_in
from retention.policy import InvalidPolicy, digest, parse_policy


def find_by_name(name: str) -> Container | None:
    """Return the one container of this name, or None. Raises UnusableFile where there are several."""
    found = list(Container.objects.standing().filter(name=name)[:2])
    if len(found) > 1:
        raise UnusableFile(f"There are several containers named {name!r}; rename one of them first.")
    return found[0] if found else None


class Target:
    """The container of the moment, made when the first record needs it."""

    def __init__(self, name: str | None, *, actor: str, now: datetime) -> None:
        """Raises UnusableFile for a name that no container can have."""
        if name is not None and (not name.strip() or len(name) > MAX_ID_LENGTH or clean(name) != name):
            raise UnusableFile(f"The name of a container has 1 to {MAX_ID_LENGTH} characters.")
        self.name = name
        self.actor = actor
        self.now = now
        self.used: dict[int, Container] = {}
        self.drafts: list[PolicyVersion] = []  # what policies of the file became
        self.source: Container | None = None  # the container of ours that the records were copied from
        self._current: Container | None = None

    @property
    def container(self) -> Container:
        if self._current is None:
            if self.name is None:
                raise UnusableFile("The file does not say which container it belongs to. Name one with --container.")
            self.use(find_by_name(self.name) or self._create(FoundContainer(name=self.name)))
        assert self._current is not None
        return self._current

    @property
    def origin(self) -> Container | None:
        """The container of ours that the records were copied from, where it is another than the one that they go to."""
        return None if self.source == self.container else self.source

    def copied_from(self, source: CopiedFrom) -> None:
        """Note whose copy the records are that follow: what was erased there is not taken here either."""
        self.source = _known(source)

    def use(self, container: Container) -> Container:
        self._current = container
        self.used[container.pk] = container
        return container

    def open(self, found: FoundContainer) -> Container:
        """Go on with the container that the file describes, under the name that was asked for if there is one."""
        self.copied_from(CopiedFrom(uid=found.uid, external_id=found.external_id))
        if self.name is not None:
            return self.use(find_by_name(self.name) or self._create(found))
        if container := self.same(found):
            return self.use(container)
        if find_by_name(found.name):
            raise UnusableFile(f"There is another container named {found.name!r} already. To import into it, say --container.")
        return self.use(self._create(found))

    def same(self, found: FoundContainer) -> Container | None:
        """Return the container that an earlier import of the same source has made."""
        if found.uid:
            return Container.objects.filter(uid=found.uid).first()
        return Container.objects.filter(external_id=found.external_id).first() if found.external_id else None

    def _create(self, found: FoundContainer) -> Container:
        details: dict[str, Any] = dict(found.details)
        if found.uid and is_free(uid=found.uid):
            details["uid"] = found.uid
        if found.external_id and is_free(external_id=found.external_id):
            details["external_id"] = found.external_id
        return ingest.create_container(name=self.name or found.name, actor=self.actor, now=self.now, **details)

    def draft(self, found: FoundPolicy) -> PolicyVersion | None:
        """Keep the policy as a draft, unless the container has had it already. Raises Refused."""
        try:
            policy = parse_policy(found.document)
        except InvalidPolicy as error:
            raise Refused("policy_unusable", str(error), field=f"{found.field}.{error.field}".rstrip(".")) from None
        with transaction.atomic():
            if PolicyVersion.objects.filter(container=self.container, digest=digest(policy)).exists():
                return None
            made = policies.save_draft(self.container, policy, actor=self.actor, now=self.now, note=found.note)
        self.drafts.append(made)
        return made


def _known(source: CopiedFrom) -> Container | None:
    """Return the container of ours that is meant, one that was deleted too. Our API names containers by either of their ids."""
    if source.uid is not None:
        return Container.objects.filter(uid=source.uid).first()
    if source.external_id is None:
        return None
    return Container.objects.filter(Q(external_id=source.external_id) | Q(uid=uid_in(source.external_id))).first()


def is_free(**condition: UUID | str) -> bool:
    return not Container.objects.filter(**condition).exists()
