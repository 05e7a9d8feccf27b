"""Times at both ends of the calendar, and the longest and shortest limits: every page stands, and nothing goes that should not."""

from datetime import UTC, datetime, timedelta

import pytest

from memadmin.jobs.runner import run_inline
from memadmin.lifecycle import runs
from memadmin.store.models import Archived, LongTermMemory
from tests.cases.governing import under
from tests.cases.seen import look, pages_about
from tests.factories import ACTOR, NOON, a_change, a_memory, a_message, a_session, store, subject_of
from tests.runs import a_policy, assert_store_agrees, carry_out, preview
from tests.transfer.running import export_memories, import_memories

pytestmark = pytest.mark.django_db
FIRST = datetime.min.replace(tzinfo=UTC)
LAST = datetime.max.replace(tzinfo=UTC)
EDGES = [FIRST, FIRST + timedelta(microseconds=1), datetime(1899, 12, 31, 23, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC), LAST]
LONGEST = {"ttl_days": 3_650, "half_life_hours": 87_600}
SHORTEST = {"ttl_days": 1, "half_life_hours": 1 / 3_600}


@pytest.fixture(autouse=True)
def _at_noon(time_machine):
    time_machine.move_to(NOON, tick=False)


def container_of(limits, *times):
    """A container in which everything bears each of these times in turn."""
    rule = {"retention_days": limits["ttl_days"], "max_count": 10_000}
    weights = {"recency": 0.998, "frequency": 0.001, "importance": 0.001}
    container = under(a_policy(sessions=rule, long_term=rule, relevance={**limits, "weights": weights, "max_records": len(times)}))
    for n, when in enumerate(times):
        same = {"created_at": when, "last_updated_at": when}
        store(
            container,
            a_session(f"s-{n}", **same),
            a_message(f"said {n}", session_ref=f"s-{n}", created_at=when),
            a_change(f"fact {n}", created_at=when),
        )
        store(
            container,
            a_memory(f"fact {n}", external_id=f"m-{n}", last_accessed_at=when, hits=1, **same),
            a_memory(f"unread {n}", external_id=f"u-{n}", **same),
        )
    return container


@pytest.mark.parametrize("limits", [LONGEST, SHORTEST], ids=["longest", "shortest"])
@pytest.mark.parametrize("when", EDGES, ids=lambda when: f"year {when.year:04}")
def test_every_page_about_a_time_at_the_edge_stands(reader, boss, limits, when):
    container = container_of(limits, when)

    run = preview(container)
    pages = dict(pages_about(reader, subject_of(container)))
    pages |= {view: look(boss, view, *arguments) for view, arguments in (("policy-detail", [container.uid]), ("run-detail", [run.number]))}

    assert not [view for view, page in pages.items() if page.status != 200]
    assert f"{when:%m-%d %H:%M:%S} UTC" in pages["memory-detail"].words


@pytest.mark.parametrize("sort", ["score", "created", "accessed"])
def test_times_at_the_edges_stand_in_their_order(reader, sort):
    subject = subject_of(container_of(LONGEST, *EDGES))

    listed = look(reader, "user-memories", subject.uid, sort=sort)

    read = [words for words in listed.words_in("excerpt") if words.startswith("fact")]
    assert read == sorted(read)


def test_what_is_long_past_goes_and_what_is_to_come_stays_and_all_of_it_comes_back():
    container = container_of(LONGEST, *EDGES)

    run = carry_out(preview(container))
    left = set(LongTermMemory.objects.values_list("created_at", flat=True))
    run_inline(runs.restore_run(run, actor=ACTOR, now=NOON), now=NOON)

    assert left == {when for when in EDGES if when > NOON}
    assert set(LongTermMemory.objects.values_list("created_at", flat=True)) == set(EDGES)
    assert Archived.objects.count() == 0
    assert_store_agrees()


def test_a_backup_keeps_them_to_the_microsecond(tmp_path):
    container_of(LONGEST, *EDGES)

    exported = export_memories(tmp_path / "all.jsonl", "--container", "pharmacy")
    done = import_memories("jsonl", tmp_path / "all.jsonl", container="again")

    assert done.code == 0, done.answer
    again = LongTermMemory.objects.filter(container__name="again")
    assert set(again.values_list("created_at", flat=True)) == set(EDGES)
    assert len([line for line in exported if line.get("type") == "long-term"]) == again.count() == 2 * len(EDGES)


def test_numbers_at_their_ends_are_added_up_drawn_and_judged(reader, boss):
    most = 2**31 - 1
    container = under(max_tokens=10, max_records=1)
    store(container, *(a_memory(f"fact {n}", hits=most, tokens=most, importance=n % 2, last_accessed_at=NOON) for n in range(4)))
    store(container, a_memory("nothing", hits=0, tokens=0, importance=0.0))
    subject = subject_of(container)

    run = preview(container)
    pages = [*pages_about(reader, subject), ("run-detail", look(boss, "run-detail", run.number))]
    carry_out(run)

    assert not [view for view, page in pages if page.status != 200]
    assert run.summary.tokens == 4 * most
    assert f"{4 * most:,} of 10" in dict(pages)["user-memories"].flat
    assert list(LongTermMemory.objects.values_list("text", flat=True)) == ["nothing"]
    assert_store_agrees()
