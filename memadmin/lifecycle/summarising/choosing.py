"""Which victims of a run become summaries, and which more have to go so that these fit into their users' caps.

Only what goes for a cap of the relevance rule is looked at: what is past an age, a number or a TTL has had its time, and one memory
that is larger than the whole cap is nothing to be made shorter with others. All is bounded, so that planning takes seconds.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from django.db import connection
from django.db.models import Count, F, Sum

from memadmin.lifecycle.models import ItemKind, Run, RunCluster, RunVictim
from memadmin.lifecycle.querysets import VictimQuerySet
from memadmin.lifecycle.selection import COLUMNS, NOT_OVERSIZED, ranked_sql
from memadmin.lifecycle.summarising.likeness import ALIKE, Profile, likeness
from memadmin.lifecycle.summarising.switch import MOST, is_active
from memadmin.store import configuration
from memadmin.store.models import LongTermMemory, Subject
from retention.clusters import clusters
from retention.rules import RelevanceRule, RetentionPolicy
from retention.victims import Reason

LOOKED_AT = 4_000  # victims of one run, of the users with most
OF_USER = 150  # victims of one user, the lowest scores first
LONGEST = 4_000  # characters of a memory that is summarised with others
FEWEST_TOKENS = 40  # of a cluster: less can hardly be said shorter
FOR_A_CAP = Reason.MAX_RECORDS.bit | Reason.MAX_TOKENS.bit
BEFORE_CAPS = Reason.AGE.bit | Reason.COUNT.bit | Reason.TTL.bit | Reason.OVERSIZED.bit


@dataclass(frozen=True, slots=True)
class _Cluster:
    subject: Subject
    victims: tuple[RunVictim, ...]
    most_tokens: int
    room: tuple[int, ...] = ()  # the numbers of further victims, which go only if the summary is written

    @property
    def tokens(self) -> int:
        return sum(victim.tokens for victim in self.victims)


def choose(run: Run, policy: RetentionPolicy, *, behind: int, planned: int) -> int:
    """Record the clusters among the run's long-term victims, which are numbered from `behind` + 1 to `planned`, at the beginning of them.

    Returns how many more victims that takes: a summary needs a place of its own under the caps, so what is next to go makes room.
    """
    RunCluster.objects.filter(run=run)._raw_delete(connection.alias)
    if policy.relevance is None or not is_active(run.container, policy):
        return 0
    left, found, more = configuration.value("summaries_per_run"), list[_Cluster](), 0
    for subject in _users(run):
        of_user = _clusters_of(run, subject, at_least=run.container.summarise_from or MOST)[:left]
        if of_user:
            fitting = _fitting(run, subject, of_user, policy.relevance)
            rooms = _make_room(run, subject, fitting, policy.relevance, behind=planned + more)
            for cluster, number in zip(fitting, rooms, strict=True):
                found.append(replace(cluster, room=tuple(range(planned + more + 1, planned + more + number + 1))))
                more += number
            left -= len(fitting)
        if not left:
            break
    _record(run, found, behind=behind)
    return more


def _users(run: Run) -> Iterator[Subject]:
    """Yield the users with most victims for a cap, until enough victims were looked at."""
    victims = _candidates(run).values("subject_id").annotate(n=Count("seq")).filter(n__gte=run.container.summarise_from)
    looked_at = 0
    for row in list(victims.order_by("-n", "subject_id")[:LOOKED_AT]):
        if looked_at >= LOOKED_AT:
            return
        looked_at += min(row["n"], OF_USER)
        subject = Subject.objects.filter(pk=row["subject_id"], restricted=False).first()
        if subject is not None:
            yield subject


def _candidates(run: Run) -> VictimQuerySet:
    chosen = RunVictim.objects.of_run(run).of_kind(ItemKind.LONG_TERM)
    return chosen.annotate(caps=F("reasons").bitand(FOR_A_CAP), others=F("reasons").bitand(BEFORE_CAPS)).filter(caps__gt=0, others=0)


def _clusters_of(run: Run, subject: Subject, *, at_least: int) -> list[_Cluster]:
    victims = {victim.item_id: victim for victim in _candidates(run).of_subject(subject).order_by("score", "seq")[:OF_USER]}
    memories = LongTermMemory.objects.filter(pk__in=victims, superseded_by__isnull=True, restricted=False).exclude(text="")
    by_place: defaultdict[str, dict[int, Profile]] = defaultdict(dict)
    for memory in memories.defer("parts", "metadata", "tags"):
        if len(memory.text) <= LONGEST:
            by_place[_place_of(memory)][memory.pk] = Profile.of(memory)
    return [cluster for place in sorted(by_place) for cluster in _grouped(subject, victims, by_place[place], at_least=at_least)]


def _grouped(subject: Subject, victims: dict[int, RunVictim], profiles: dict[int, Profile], *, at_least: int) -> Iterator[_Cluster]:
    weakest_first = [key for key in victims if key in profiles]
    alike = clusters(
        weakest_first, lambda one, other: likeness(profiles[one], profiles[other]), threshold=ALIKE, at_least=at_least, at_most=MOST
    )
    for keys in alike:
        members = tuple(victims[key] for key in keys)
        tokens = sum(member.tokens for member in members)
        if tokens >= FEWEST_TOKENS:
            yield _Cluster(subject, members, most_tokens=tokens - 1)


def _place_of(memory: LongTermMemory) -> str:
    """Only what one writer keeps of one user under one namespace and strategy is told together: who reads one may read all."""
    return json.dumps([memory.owner, memory.namespace, memory.strategy_id], sort_keys=True)


def _fitting(run: Run, subject: Subject, found: Sequence[_Cluster], rule: RelevanceRule) -> list[_Cluster]:
    """Let summaries be at most a quarter of their sources where the cap of tokens is full: what makes room for them is worth more."""
    _, tokens = _left(run, subject)
    if rule.max_tokens is None or tokens + sum(cluster.most_tokens for cluster in found) <= rule.max_tokens:
        return list(found)
    return [replace(cluster, most_tokens=cluster.tokens // 4) for cluster in found]


def _make_room(run: Run, subject: Subject, found: Sequence[_Cluster], rule: RelevanceRule, *, behind: int) -> list[int]:
    """Record as victims what is next to go under caps that are lower by what the summaries take; return how many that are for each.

    What makes room for one summary does so for the next as well, so all of it is found by one ranking of what the user has, however
    many summaries there are.
    """
    caps = [_lowered(rule, found[:place]) for place in range(1, len(found) + 1)]
    bits = [_over_caps(cap) for cap in caps]
    place = " ".join(f"WHEN {over} > 0 THEN {number}" for number, over in enumerate(bits, 1))
    reasons = " ".join(f"WHEN {over} > 0 THEN {over}" for over in bits)
    stays = f"m.id NOT IN (SELECT item_id FROM lifecycle_runvictim WHERE run_id = {run.pk} AND item_kind = {ItemKind.LONG_TERM.value})"
    ranked = ranked_sql(run.container, caps[-1], of_subject=f"= {subject.pk}", spared=stays, now=run.as_of)
    chosen = (
        f"SELECT r.item_id, r.item_uid, r.subject_id, CASE {reasons} END AS reasons, r.rank & {NOT_OVERSIZED - 1} AS score, r.tokens, "
        f"r.revision, r.last_accessed_at, r.created_at AS dated_at, CASE {place} END AS place FROM ({ranked}) r "
        f"WHERE NOT r.exempt AND {bits[-1]} > 0"
    )
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT s.place, COUNT(*) FROM ({chosen}) s GROUP BY s.place")
        numbers = dict(cursor.fetchall())
        cursor.execute(
            f"INSERT INTO lifecycle_runvictim (run_id, seq, item_kind, {COLUMNS}) SELECT {run.pk}, "
            f"{behind} + row_number() OVER (ORDER BY s.place, s.item_id), {ItemKind.LONG_TERM.value}, {COLUMNS} FROM ({chosen}) s"
        )
    return [numbers.get(number, 0) for number in range(1, len(found) + 1)]


def _lowered(rule: RelevanceRule, found: Sequence[_Cluster]) -> RelevanceRule:
    """Return the rule with caps that leave places for these summaries."""
    return replace(
        rule,
        max_records=None if rule.max_records is None else max(0, rule.max_records - len(found)),
        max_tokens=None if rule.max_tokens is None else max(0, rule.max_tokens - sum(cluster.most_tokens for cluster in found)),
    )


def _over_caps(rule: RelevanceRule) -> str:
    """Return SQL for the reasons why a ranked row exceeds the caps, 0 where it does not."""
    records = "0" if rule.max_records is None else f"CASE WHEN r.remaining > {rule.max_records} THEN {Reason.MAX_RECORDS.bit} ELSE 0 END"
    weight = "0" if rule.max_tokens is None else f"CASE WHEN r.weight > {rule.max_tokens} THEN {Reason.MAX_TOKENS.bit} ELSE 0 END"
    return f"({records} + {weight})"


def _left(run: Run, subject: Subject) -> tuple[int, int]:
    """Return how many memories and tokens the user keeps when all victims have gone."""
    going = RunVictim.objects.of_run(run).of_kind(ItemKind.LONG_TERM).of_subject(subject).aggregate(n=Count("seq"), tokens=Sum("tokens"))
    return subject.long_term - going["n"], subject.tokens - int(going["tokens"] or 0)


def _record(run: Run, found: Sequence[_Cluster], *, behind: int) -> None:
    """Number the victims of clusters first: each changes its number with whoever has it."""
    wanted: dict[int, int] = {}
    rows = []
    at = behind
    for number, cluster in enumerate(found, 1):
        sources = [victim.seq for victim in cluster.victims]
        seqs = [*sources, *cluster.room]
        wanted |= {seq: at + place for place, seq in enumerate(seqs, 1)}
        numbered = {"first": at + 1, "last": at + len(sources), "room": at + len(seqs)}
        rows.append(RunCluster(run=run, number=number, **numbered, subject=cluster.subject, most_tokens=cluster.most_tokens))
        at += len(seqs)
    _renumber(run, wanted, first=behind + 1, last=at)
    RunCluster.objects.bulk_create(rows)


def _renumber(run: Run, wanted: dict[int, int], *, first: int, last: int) -> None:
    """Give victims their new numbers, and those who had these the numbers that become free."""
    free = sorted(seq for seq in wanted if not first <= seq <= last)
    displaced = [seq for seq in range(first, last + 1) if seq not in wanted]
    moves = {seq: to for seq, to in {**wanted, **dict(zip(displaced, free, strict=True))}.items() if seq != to}
    with connection.cursor() as cursor:
        change = "UPDATE lifecycle_runvictim SET seq = %s WHERE run_id = %s AND seq = %s"
        cursor.executemany(change, [(-to, run.pk, seq) for seq, to in moves.items()])  # a number stands for one victim at any moment
        cursor.executemany(change, [(to, run.pk, -to) for to in moves.values()])
