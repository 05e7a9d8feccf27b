"""Summarise before evicting: seed row A53."""

from dataclasses import replace

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memadmin.audit.models import AuditEntry
from memadmin.jobs.runner import run_inline
from memadmin.lifecycle import explain, planning, runs
from memadmin.lifecycle.drift import drift_of
from memadmin.lifecycle.models import RunCluster, RunVictim
from memadmin.lifecycle.summarising.switch import OutOfRange, switch
from memadmin.store import configuration, embeddings, pinning
from memadmin.store.models import Archived, HistoryEntry, LongTermMemory, Provenance
from retention.victims import relevance_victims
from tests.factories import ACTOR, NOON, a_memory, a_pin, days, store, subject_of
from tests.runs import a_policy, assert_store_agrees, carry_out, governed, keep, preview
from tests.summaries import CAP, HOURS, SUMMARY, a_container, fill, texts_of

pytestmark = pytest.mark.django_db


def test_a53_a_cluster_becomes_one_summary_with_provenance_to_every_source(model):
    container = a_container()
    fill(container)
    sources = set(LongTermMemory.objects.filter(text__in=HOURS).values_list("uid", flat=True))

    run = carry_out(preview(container))

    summary = LongTermMemory.objects.get(text=SUMMARY)
    assert set(Provenance.objects.filter(derived_uid=summary.uid).values_list("source_uid", flat=True)) == sources
    assert set(Archived.objects.filter(reason="summarised").values_list("uid", flat=True)) == sources
    assert (run.state, run.outcome["summaries"]) == ("finished", {"written": 1, "sources": 3})
    assert subject_of(container).long_term == 4  # the summary has a place of its own under the cap
    assert len(model.requests) == 1
    assert_store_agrees()


def test_what_goes_by_way_of_a_summary_has_been_dealt_with_once_the_run_came_to_it(model):
    container = a_container()
    fill(container)
    run = preview(container)
    victims = RunVictim.objects.of_run(run)

    assert not victims.dealt_with().exists()
    carry_out(run)

    assert set(victims.dealt_with()) == set(victims.all())
    assert run.removed == run.planned == 4


def test_a53_a_single_memory_is_never_summarised(model):
    container = a_container(at_least=2)
    fill(container, texts=HOURS[:1])

    run = carry_out(preview(container))

    assert (RunCluster.objects.count(), model.requests, run.removed) == (0, [], 1)
    assert Archived.objects.get().reason == "max_records"


def test_what_a_summary_counts_follows_from_its_sources(model):
    container = a_container()
    fill(container, hits=2, importance=0.2, last_accessed_at=NOON - days(250), tags={"topic": "hours"})

    carry_out(preview(container))

    summary = LongTermMemory.objects.get(text=SUMMARY)
    assert summary.importance == pytest.approx(1 - 0.8**3)
    assert (summary.hits, summary.last_accessed_at, summary.created_at) == (6, NOON - days(250), NOON - days(300))
    assert (summary.tags, summary.strategy_type, summary.metadata["summary_of"]) == ({"topic": "hours"}, "SUMMARY", 3)
    assert summary.tokens < 3 * 40


def test_history_says_where_each_source_went_and_the_log_has_no_text(model):
    container = a_container()
    fill(container)

    carry_out(preview(container))

    summary = LongTermMemory.objects.get(text=SUMMARY)
    assert HistoryEntry.objects.get(memory_uid=summary.uid).after == {"memory": SUMMARY}
    gone = HistoryEntry.objects.filter(action="DELETE")
    assert {entry.before["memory"] for entry in gone} == set(HOURS)
    assert {entry.after["summary"] for entry in gone} == {str(summary.uid)}
    entry = AuditEntry.objects.get(action="memory.summarised")
    assert (entry.target, entry.counts["sources"], entry.counts["tokens_before"]) == (f"long-term/{summary.uid}", 3, 120)
    assert not any(text in each.leaf for each in AuditEntry.objects.all() for text in [*HOURS, SUMMARY])
    finished = AuditEntry.objects.get(action="run.finished")
    assert finished.counts["summaries.written"] == 1


def test_the_preview_names_what_would_be_summarised_and_what_makes_room(model):
    container = a_container()
    fill(container)

    run = preview(container)

    [cluster] = RunCluster.objects.filter(run=run)
    named = RunVictim.objects.of_run(run).in_order()
    in_cluster = [victim.item_id for victim in named if cluster.first <= victim.seq <= cluster.last]
    assert set(LongTermMemory.objects.filter(pk__in=in_cluster).values_list("text", flat=True)) == set(HOURS)
    assert (run.planned, cluster.room - cluster.last, model.requests) == (4, 1, [])
    assert [victim.seq for victim in named] == [1, 2, 3, 4]
    assert run.summary.items == 4


def test_pinned_held_recalled_and_changed_memories_are_no_sources(model):
    container = a_container(at_least=2)
    fill(container, texts=[*HOURS, f"{HOURS[0]} again", f"{HOURS[1]} again", f"{HOURS[2]} again"])
    run = preview(container)
    names = {memory.text: memory for memory in LongTermMemory.objects.all()}
    pinning.pin(names[HOURS[0]], reason="allergy", actor=ACTOR, now=NOON)
    keep(names[HOURS[1]])
    LongTermMemory.objects.filter(pk=names[HOURS[2]].pk).update(last_accessed_at=NOON)

    run = carry_out(run)

    shown = {each["text"] for each in model.material(0)["memories"]}
    assert shown == {f"{text} again" for text in HOURS}
    assert texts_of(container) >= set(HOURS)
    assert (drift_of(run).pinned, drift_of(run).held, drift_of(run).read, run.removed + run.kept) == (1, 1, 1, run.planned)
    assert_store_agrees()


def test_what_is_pinned_from_the_beginning_is_in_no_cluster(model):
    container = a_container()
    fill(container)
    store(container, *(a_memory(f"{HOURS[0]} {n}", importance=0.0, days_old=300, pin=a_pin()) for n in range(2)))

    run = preview(container)

    [cluster] = RunCluster.objects.filter(run=run)
    seen = RunVictim.objects.of_run(run).filter(seq__lte=cluster.last).values_list("item_id", flat=True)
    assert not LongTermMemory.objects.filter(pk__in=seen, pinned=True).exists()


def test_too_few_that_are_left_go_one_by_one_and_what_was_to_make_room_stays(model):
    container = a_container()
    fill(container)
    run = preview(container)
    pinning.pin(LongTermMemory.objects.get(text=HOURS[0]), reason="allergy", actor=ACTOR, now=NOON)

    run = carry_out(run)

    assert RunCluster.objects.get().state == "dissolved"
    assert (run.removed, model.requests) == (2, [])
    assert set(Archived.objects.values_list("reason", flat=True)) == {"max_records"}
    assert len(texts_of(container)) == 5
    assert_store_agrees()


def test_clusters_never_cross_users_owners_or_namespaces(model):
    container = a_container(at_least=2)
    for number, text in enumerate(HOURS):
        fill(container, user_id=f"user {number}", texts=[text], kept=4)
    fill(container, texts=HOURS[:1], owner="bot a")
    fill(container, texts=HOURS[1:2], owner="bot b", kept=0)
    fill(container, texts=HOURS[2:], namespace={"room": "1"}, kept=0)

    preview(container)

    assert RunCluster.objects.count() == 0


def test_what_is_past_a_ttl_or_an_age_goes_without_a_summary(model):
    container = a_container({"ttl_days": 100, "max_records": 4})
    fill(container)

    run = carry_out(preview(container))

    assert RunCluster.objects.count() == 0
    assert set(Archived.objects.filter(run_number=run.number).values_list("reason", flat=True)) == {"ttl"}


def test_a_cap_of_tokens_holds_with_the_summary_in_it(model):
    container = a_container({"max_tokens": 60})
    fill(container, kept=6)

    run = carry_out(preview(container))

    assert RunCluster.objects.get().state == "written"
    assert subject_of(container).tokens <= 60
    assert run.removed + run.kept == run.planned
    assert_store_agrees()


@pytest.mark.parametrize("caps", [{"max_records": 9}, {"max_tokens": 260}, {"max_records": 8, "max_tokens": 200}])
def test_what_makes_room_is_what_the_reference_takes_under_caps_lowered_by_the_summaries(model, caps):
    container = a_container(caps)
    topics = ("opening hours on", "delivery van from", "invoice number of")
    store(
        container,
        *(
            a_memory(f"asked about the {topic} {n}", importance=n / 100, days_old=200 + n, tokens=17 + n)
            for n in range(4)
            for topic in topics
        ),
        *(a_memory(f"{n} likes {n * 7}", importance=0.5 + n / 100, days_old=n + 1, tokens=11 + n) for n in range(9)),
    )

    run = preview(container)

    found = list(RunCluster.objects.filter(run=run))
    rule = planning.policy_of(run).relevance
    lowered = replace(
        rule,
        max_records=None if rule.max_records is None else max(0, rule.max_records - len(found)),
        max_tokens=None if rule.max_tokens is None else max(0, rule.max_tokens - sum(each.most_tokens for each in found)),
    )
    facts = [explain.facts_of(memory) for memory in LongTermMemory.objects.all()]
    assert found
    assert set(RunVictim.objects.of_run(run).values_list("item_id", flat=True)) == {
        victim.key for victim in relevance_victims(facts, lowered, now=NOON)
    }
    seqs = list(RunVictim.objects.of_run(run).order_by("seq").values_list("seq", flat=True))
    assert seqs == list(range(1, run.planned + 1))


def test_what_is_like_nothing_else_goes_one_by_one(model):
    container = a_container()
    fill(container, texts=["owns a blue bicycle", "prefers paper letters", "grandmother lives in Oslo"])

    carry_out(preview(container))

    assert (RunCluster.objects.count(), model.requests) == (0, [])


def test_vectors_decide_where_there_are_some(model):
    container = a_container()
    fill(container, texts=["owns a blue bicycle", "rides to work", "fond of cycling"])
    LongTermMemory.objects.filter(importance=0.1).update(embedding=embeddings.packed([1.0, 0.1]), embedding_model="m")

    preview(container)

    assert RunCluster.objects.count() == 1


def test_the_number_of_summaries_of_a_run_is_bounded(model):
    configuration.change("summaries_per_run", 1, actor=ACTOR, now=NOON)
    container = a_container()
    fill(container)
    fill(container, user_id="ben")

    run = carry_out(preview(container))

    assert RunCluster.objects.count() == 1
    assert (run.removed, run.outcome["summaries"]["written"]) == (7, 1)


@pytest.mark.parametrize("at_least", [0, 1, 13])
def test_a_cluster_is_of_two_to_twelve(at_least):
    container = governed(a_policy(relevance=CAP))

    with pytest.raises(OutOfRange):
        switch(container, at_least, actor=ACTOR, now=NOON)


def test_restoring_brings_the_sources_back_and_leaves_the_summary(model):
    container = a_container()
    fill(container)
    run = carry_out(preview(container))

    run_inline(runs.restore_run(run, actor=ACTOR, now=NOON), now=NOON)

    assert texts_of(container) >= {*HOURS, SUMMARY}
    assert_store_agrees()


def test_a_user_is_ranked_as_often_for_many_summaries_as_for_one(model):
    """Ranking a user of 100,000 memories takes a quarter of a second, and a run can have hundreds of clusters."""
    ranked, made = [], []
    for name, topics in (("one", 1), ("many", 4)):
        container = a_container({"max_records": 4}, name=name)
        matters = ("opening hours on", "delivery van from", "invoice number of", "parking lot behind")[:topics]
        texts = [f"asked about the {topic} {n}" for n in range(4) for topic in matters]
        store(container, *(a_memory(text, importance=0.1, days_old=200 + n, tokens=17) for n, text in enumerate(texts)))
        store(container, *(a_memory(f"{n} likes {n * 7}", importance=0.9, days_old=1, tokens=11) for n in range(4)))
        with CaptureQueriesContext(connection) as queries:
            run = preview(container)
        ranked.append(sum("row_number() OVER w" in query["sql"] for query in queries))
        made.append(RunCluster.objects.filter(run=run).count())

    assert 1 == made[0] < made[1]
    assert ranked[0] == ranked[1]
