"""One summary in the place of several victims of a run.

Invariant: the summary is written, its sources go to the archive and the cluster changes its state in one transaction, or nothing of
it happens. Whatever goes wrong with the model, the sources stay and the run says so; what was pinned, held, recalled or changed is
no source. The model is asked while no transaction is open.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID, uuid5

from django.db import connection, transaction

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.lifecycle import embedding
from memadmin.lifecycle.enforcement import archive_note, chosen_of, count, may_go_on, must_run
from memadmin.lifecycle.exceptions import Stretch, differing_sql, record_kept
from memadmin.lifecycle.inference import answers, prompts
from memadmin.lifecycle.models import ClusterState, ItemKind, Kept, Run, RunCluster, RunKept, RunVictim
from memadmin.llm.client import BadAnswer, Refused, Unreachable, chat
from memadmin.llm.endpoints import chat_endpoint
from memadmin.store import arrivals, counters, ingest, removal, tokens
from memadmin.store.intake import IncomingHistory, IncomingMemory, Source
from memadmin.store.models import HistoryAction, ItemType, LongTermMemory, Subject
from memadmin.store.opening import Suppressed
from memadmin.store.removal import Chosen, Removed

ACTOR = "job/run"
SUMMARISED = "summarised"
STRATEGY = "SUMMARY"
LONGEST_WAIT = 12.0  # seconds for one answer: it is asked for twice, and a step stays below half a minute
WORDS_PER_TOKEN = 0.6
# What is wrong with the endpoint and not with an answer: the other clusters of this run would only wait for it too.
OF_ALL = ("no_endpoint", "unreachable")


class SourcesChanged(Exception):
    """The sources are not as they were when the model was asked."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The sources as the model saw them, and what it made of them; `why` says why there is no text."""

    sources: Sequence[LongTermMemory]
    epoch: int = 0
    text: str = ""
    why: str = ""


def merge_next(run: Run, *, now: datetime) -> bool:
    """Take the next cluster of a run, and return False when there is none. Raises WrongState and `enforcement.Stopped`."""
    cluster = RunCluster.objects.filter(run=run, state=ClusterState.PLANNED).order_by("number").first()
    if cluster is None:
        return False
    must_run(run)
    may_go_on(run)
    asked = _ask(run, cluster)
    try:
        _settle(run, cluster, asked, now=now)
    except Suppressed:
        arrivals.note_refused(run.container, arrivals.Way.MODEL, 1, actor=ACTOR, now=now)
        _settle(run, cluster, replace(asked, text="", why="suppressed"), now=now)
    except SourcesChanged:
        return True  # the next step looks at them again
    return True


def _ask(run: Run, cluster: RunCluster) -> Asked:
    """Ask the model for a summary of what is unchanged of a cluster."""
    sources = _unchanged(run, cluster)
    subject = Subject.objects.get(pk=cluster.subject_id)
    if len(sources) < max(2, run.container.summarise_from or 2):
        return Asked(sources, subject.epoch, why="too_few")
    failed = RunCluster.objects.filter(run=run, state=ClusterState.KEPT, why__in=OF_ALL).first()
    if failed is not None:
        return Asked(sources, subject.epoch, why=failed.why)
    text, why = _answer([source.text for source in sources], most_tokens=_most_tokens(cluster, sources))
    return Asked(sources, subject.epoch, text, why)


def _unchanged(run: Run, cluster: RunCluster) -> list[LongTermMemory]:
    """Return the sources that are as they were when the run was planned, and may be used."""
    differing = differing_sql(run, ItemKind.LONG_TERM, behind=cluster.first - 1, last=cluster.last)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT seq FROM ({differing}) d")
        out = {row[0] for row in cursor.fetchall()}
    victims = RunVictim.objects.of_run(run).filter(seq__gte=cluster.first, seq__lte=cluster.last).exclude(seq__in=out)
    keys = list(victims.values_list("item_id", flat=True))
    return list(LongTermMemory.objects.filter(pk__in=keys, restricted=False, subject_id=cluster.subject_id).order_by("created_at", "pk"))


def _most_tokens(cluster: RunCluster, sources: Sequence[LongTermMemory]) -> int:
    return min(cluster.most_tokens, sum(source.tokens for source in sources) - 1)


def _answer(texts: Sequence[str], *, most_tokens: int) -> tuple[str, str]:
    """Return the text, or why there is none."""
    endpoint = chat_endpoint()
    if endpoint is None:
        return "", "no_endpoint"
    wanted = prompts.merged(texts, most_words=max(5, math.floor(most_tokens * WORDS_PER_TOKEN)))
    try:
        answer = chat(replace(endpoint, timeout=min(endpoint.timeout, LONGEST_WAIT)), wanted, max_tokens=most_tokens * 2 + 100)
        text = answers.read_merged(answer, texts)
    except Unreachable:
        return "", "unreachable"
    except Refused:
        return "", "refused"
    except BadAnswer:
        return "", "bad_answer"
    return (text, "") if tokens.estimate(text) <= most_tokens else ("", "not_shorter")


@transaction.atomic
def _settle(run: Run, cluster: RunCluster, asked: Asked, *, now: datetime) -> None:
    """Decide what becomes of a cluster. Somebody else may have done so: then nothing happens. Raises SourcesChanged and Suppressed."""
    found = RunCluster.objects.filter(run=run, number=cluster.number, state=ClusterState.PLANNED).select_for_update().first()
    if found is None:
        return
    counters.lock([cluster.subject_id])
    stretch = Stretch(run, ItemKind.LONG_TERM, behind=cluster.first - 1, last=cluster.room)
    differing = record_kept(stretch)
    same_person = Subject.objects.filter(pk=cluster.subject_id, epoch=asked.epoch, restricted=False).exists()
    present = {source.pk for source in _unchanged(run, cluster)}
    if not same_person or present != {source.pk for source in asked.sources}:
        raise SourcesChanged
    if asked.text:
        _write(run, cluster, asked, stretch, differing, now=now)
    elif asked.why == "too_few":
        kept = differing + _keep(run, first=cluster.last + 1, last=cluster.room)
        removed = removal.remove_long_term(chosen_of(stretch_of(run, cluster)), archive=archive_note(run, now=now))
        _close(run, cluster, ClusterState.DISSOLVED, removed, kept)
    else:
        kept = differing + _keep(run, first=cluster.first, last=cluster.room)
        _close(run, cluster, ClusterState.KEPT, Removed(items=0), kept, why=asked.why)


def stretch_of(run: Run, cluster: RunCluster) -> Stretch:
    """Return the sources of a cluster, without what makes room for their summary."""
    return Stretch(run, ItemKind.LONG_TERM, behind=cluster.first - 1, last=cluster.last)


def _keep(run: Run, *, first: int, last: int) -> int:
    """Note that victims stay because there is no summary; return how many are noted that were not."""
    noted = set(RunKept.objects.filter(run=run, seq__gte=first, seq__lte=last).values_list("seq", flat=True))
    rows = [RunKept(run=run, seq=seq, why=Kept.UNSUMMARISED) for seq in range(first, last + 1) if seq not in noted]
    return len(RunKept.objects.bulk_create(rows))


def _write(run: Run, cluster: RunCluster, asked: Asked, stretch: Stretch, differing: int, *, now: datetime) -> None:
    summary = _summary_of(run, cluster, asked, now=now)
    ingest.write(run.container, [summary], actor=ACTOR, now=now)
    removed = removal.remove_long_term(_chosen(stretch, asked.sources), archive=archive_note(run, now=now))
    if removed.items + differing != stretch.length:
        raise SourcesChanged
    if run.container.history_enabled:
        ingest.write(run.container, list(_history(summary, asked.sources, now=now)), actor=ACTOR, now=now)
    embedding.request(actor=ACTOR, now=now)
    written = {"summary_uid": summary.uid, "summary_tokens": summary.tokens}
    _close(run, cluster, ClusterState.WRITTEN, removed, differing, sources=len(asked.sources), **written)
    counts = {
        "sources": len(asked.sources),
        "tokens_before": sum(source.tokens for source in asked.sources),
        "tokens_after": summary.tokens or 0,
        "run": run.number,
    }
    log.append(Action.MEMORY_SUMMARISED, actor=ACTOR, target=f"{ItemType.LONG_TERM}/{summary.uid}", at=now, counts=counts)


def _chosen(stretch: Stretch, sources: Sequence[LongTermMemory]) -> Chosen:
    """Return the victims of a stretch, the sources among them with a reason of their own."""
    all_of_it = chosen_of(stretch)
    keys = ", ".join(str(source.pk) for source in sources)
    reason = f"CASE WHEN v.id IN ({keys}) THEN '{SUMMARISED}' ELSE v.reason END AS reason"
    return Chosen(f"SELECT v.id, v.subject_id, v.revision, v.last_accessed_at, {reason} FROM ({all_of_it.sql}) v", all_of_it.params)


def _close(run: Run, cluster: RunCluster, state: ClusterState, removed: Removed, kept: int, *, sources: int = 0, **values: Any) -> None:
    RunCluster.objects.filter(run=run, number=cluster.number).update(state=state, **values)
    numbers = {state.value: 1, "sources": sources, "kept_victims": kept if state is ClusterState.KEPT else 0}
    count(run, ItemKind.LONG_TERM, removed, kept=kept, summaries={name: number for name, number in numbers.items() if number})


def _summary_of(run: Run, cluster: RunCluster, asked: Asked, *, now: datetime) -> IncomingMemory:
    """Return the memory that takes the place of its sources.

    It is as old as the oldest of them, so that no time limit is stretched, and was recalled when the last of them was, as often as all.
    Its importance is the chance that at least one of them matters: 1 - (1 - i₁)(1 - i₂)….
    """
    sources = asked.sources
    first = sources[0]
    return IncomingMemory(
        user_id=Subject.objects.values_list("user_id", flat=True).get(pk=cluster.subject_id),
        uid=uuid5(run.uid, f"summary/{cluster.number}"),
        owner=first.owner,
        namespace=first.namespace,
        created_at=min((source.created_at for source in sources if source.created_at), default=None),
        last_updated_at=min((source.last_updated_at for source in sources if source.last_updated_at), default=None),
        last_accessed_at=max((source.last_accessed_at for source in sources if source.last_accessed_at), default=None),
        text=asked.text,
        strategy_id=first.strategy_id,
        strategy_type=STRATEGY,
        tags=_common([source.tags for source in sources]),
        metadata={"summary_of": len(sources), "run": run.number},
        tokens=tokens.estimate(asked.text),
        tokens_method=tokens.METHOD,
        importance=min(1.0, 1.0 - math.prod(1.0 - source.importance for source in sources)),
        importance_source=SUMMARISED,
        hits=sum(source.hits for source in sources),
        sources=tuple(Source(item_type=ItemType.LONG_TERM, uid=source.uid) for source in sources),
    )


def _common(tags: Sequence[Any]) -> dict[str, Any]:
    """Return the tags that all sources have."""
    if not all(isinstance(each, dict) for each in tags):
        return {}
    return {name: value for name, value in tags[0].items() if all(name in each and each[name] == value for each in tags[1:])}


def _history(summary: IncomingMemory, sources: Sequence[LongTermMemory], *, now: datetime) -> list[IncomingHistory]:
    """Return an entry for the summary, and one for each source that says where it has gone."""

    def entry(uid: UUID | None, action: HistoryAction, *, before: object = None, after: object = None) -> IncomingHistory:
        return IncomingHistory(
            user_id=summary.user_id,
            owner=summary.owner,
            namespace=summary.namespace,
            memory_uid=uid,
            action=action,
            before=before,
            after=after,
            actor=ACTOR,
            created_at=now,
        )

    gone = {"summary": str(summary.uid)}
    return [
        entry(summary.uid, HistoryAction.ADD, after={"memory": summary.text}),
        *(entry(source.uid, HistoryAction.DELETE, before={"memory": source.text}, after=gone) for source in sources),
    ]
