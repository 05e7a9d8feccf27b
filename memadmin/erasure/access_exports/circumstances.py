"""What else a person is told beside their data: for what it is kept, how long, where it comes from, and who else has it (GDPR 15(1), (2)).

Only what the product knows. What the operator must add (their name, the legal basis, the authority) is said to be theirs to add.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from django.db.models import Q, QuerySet

from memadmin.erasure import disclosures
from memadmin.erasure.models import Kind, Manifest, Recipient
from memadmin.erasure.scope import scope_of
from memadmin.store import configuration, locations, policies
from memadmin.store.locations import ItemClass
from memadmin.store.models import Container, PolicyState, Subject
from retention.rules import RULED, MemoryType, RelevanceRule, RetentionRule

NOUNS = {MemoryType.SESSIONS: "Conversations", MemoryType.LONG_TERM: "Memories", MemoryType.HISTORY: "Entries of the history"}
ORIGIN = (
    "From what you said to the agents, and from what they or other programs wrote about it. Each memory names the conversation or message "
    "that it came out of, where that is known."
)
DECISIONS = (
    "Agents look memories up to answer you. A score from how recently and how often a memory was used, and from its importance, "
    "decides which memories stay longer. It decides nothing else about you here."
)
OPERATOR = (
    "The one who runs this service has to tell you the legal basis, their contact, and the authority to which you may complain. "
    "You may ask for correction, erasure or restriction, and object."
)


def circumstances_of(manifest: Manifest) -> dict[str, Any]:
    """Return what goes beside the data, in words, one entry for each container that knows the person."""
    subjects = Subject.objects.filter(pk__in=scope_of(manifest).subjects)
    containers = Container.objects.filter(pk__in=subjects.values("container")).order_by("name", "pk")
    users = {
        container: sorted(user or "" for _, user in rows) for container, rows in _grouped(subjects.values_list("container", "user_id"))
    }
    return {
        "containers": [_of_container(container, users.get(container.pk, [])) for container in containers],
        "origin": ORIGIN,
        "decisions": DECISIONS,
        "recipients": list(_recipients(containers, list(subjects.values_list("pk", flat=True)))),
        "backups": _backups(),
        "rights": OPERATOR,
        "why": "You asked for access." if manifest.request.kind == Kind.ACCESS else "You asked for erasure, and for this export before it.",
    }


def _recipients(containers: QuerySet[Container], subjects: list[int]) -> Iterator[str]:
    """Who is registered as getting data of these containers, also those who do not any more; and what every subscriber is told."""
    found = Recipient.objects.filter(Q(all_containers=True) | Q(containers__in=containers.order_by().values("pk"))).distinct()
    for recipient in found.order_by("name", "pk"):
        until = f" (until {recipient.ended_at.date().isoformat()})" if recipient.ended_at else ""
        yield f"{recipient.name}{until}: {recipient.given}{_disclosed(recipient, containers, subjects)}"
    places = [place for place in locations.in_order() if place.item_class == ItemClass.RECIPIENT and place.app != "erasure"]
    yield from (place.goes for place in places)


def _disclosed(recipient: Recipient, containers: QuerySet[Container], subjects: list[int]) -> str:
    """Say when they were given data of the person, and as whom they know them."""
    counted = disclosures.counts_of(recipient, list(containers.values_list("pk", flat=True)), subjects=subjects)
    if counted.first_at is None or counted.last_at is None:
        return ". Nobody has noted when they were given data of you"
    first, last = counted.first_at.date().isoformat(), counted.last_at.date().isoformat()
    own = sorted({each for ids in disclosures.own_ids(recipient, subjects).values() for each in ids})
    known = f" They know you as {', '.join(f'“{each}”' for each in own)}." if own else " By which id they know you is not noted."
    return f". They were given data of you {f'on {first}' if first == last else f'from {first} to {last}'}.{known}"


def _grouped(rows: Iterable[tuple[int, str | None]]) -> Iterator[tuple[int, list[tuple[int, str | None]]]]:
    by_container: dict[int, list[tuple[int, str | None]]] = {}
    for row in rows:
        by_container.setdefault(row[0], []).append(row)
    yield from by_container.items()


def _of_container(container: Container, users: list[str]) -> dict[str, Any]:
    return {
        "name": container.name,
        "purpose": container.description or "The operator has not written down what this is for.",
        "known_as": users,
        "kept": kept(container),
    }


def kept(container: Container) -> list[str]:
    """Return how long a container keeps what, in sentences."""
    return [*_by_policy(container), *_beside_policy(container)]


def _by_policy(container: Container) -> Iterator[str]:
    version = policies.published(container)
    policy = policies.readable(version)
    if container.policy_state != PolicyState.SET or version is None:
        yield "No rule ends the time of what is kept here: it stays until somebody deletes or erases it."
        return
    if policy is None:
        yield "A rule decides how long things are kept, and cannot be read at the moment. Ask us about it."
        return
    if not configuration.value("retention_enabled"):
        yield "The following rules are written down and not carried out at the moment."
    yield from (_of_rule(kind, policy.rule(kind)) for kind in RULED)
    if policy.relevance is not None:
        yield _of_relevance(policy.relevance)
    yield "What somebody marked to be kept stays longer."


def _of_rule(kind: MemoryType, rule: RetentionRule) -> str:
    limits = []
    if rule.age_limit is not None:
        limits.append(f"for {rule.age_limit.days:,} days")
    if rule.count_limit is not None:
        limits.append(f"up to {rule.count_limit:,} of them for all users together, the oldest go first")
    return f"{NOUNS[kind]} are kept {', '.join(limits) if limits else 'without a limit'}."


def _of_relevance(rule: RelevanceRule) -> str:
    limits = [f"for {rule.ttl_days:,} days"] if rule.ttl_days is not None else []
    limits += [f"up to {rule.max_records:,} for each user"] if rule.max_records is not None else []
    limits += [f"up to {rule.max_tokens:,} tokens for each user"] if rule.max_tokens is not None else []
    return f"Memories are also kept {', '.join(limits)}, the least useful go first." if limits else "Usefulness ends no memory's time."


def _beside_policy(container: Container) -> Iterator[str]:
    if container.archive_days is not None and container.policy_state == PolicyState.SET:
        yield f"What has gone by such a rule stays in an archive, unused, for {container.archive_days:,} days."


def _backups() -> str:
    days = configuration.value("erasure_backup_days")
    until = f"They expire after {days:,} days." if days else "When they expire is not written down here: ask us."
    return f"Backups hold older copies of the same, are not searched, and are used after an accident only. {until}"
