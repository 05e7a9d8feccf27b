"""What a restricted person's memories are not used for, way by way: neither given to an agent, nor worked on, nor evicted, nor changed."""

import pytest

from memadmin.jobs.models import Job, JobState
from memadmin.jobs.runner import run_inline
from memadmin.lifecycle.inference import summaries
from memadmin.lifecycle.models import RunVictim
from memadmin.lifecycle.summarising import choosing
from memadmin.recall.search import Question, recall
from memadmin.store import editing, policies
from memadmin.store.held_copies import Restricted
from memadmin.store.models import HistoryEntry, LongTermMemory, RecallEvent, Session, WorkingMemory
from tests.api.v1.calls import caller_of, problem, said
from tests.factories import ACTOR, NOON, a_change, a_memory, days, make_memory, make_session, store, subject_of
from tests.holds import restrict
from tests.runs import a_policy, carry_out, governed, preview
from tests.tokens import api_of

pytestmark = pytest.mark.django_db
STRICT = a_policy(
    sessions={"retention_days": 10}, long_term={"retention_days": 10}, history={"max_count": 1}, relevance={"ttl_days": 5, "max_records": 1}
)


@pytest.fixture
def container():
    """Both users are past every limit; ann is restricted."""
    container = governed(STRICT, external_id="c1", owner={"name": "ana"})
    for user in ("ann", "bob"):
        memories = [a_memory(f"likes tea {number}", user_id=user, owner="ana", days_old=90) for number in range(3)]
        store(container, *memories, *(a_change(f"tea {number}", user_id=user) for number in range(3)))
        make_session(container, f"s-{user}", user_id=user, messages=1, days_old=90, owner="ana")
    restrict(subject_of(container))
    return container


def of(rows, user="ann"):
    return rows.objects.filter(subject__user_id=user)


def test_no_recall_finds_it_and_none_is_noted(container):
    api = caller_of("ana", all_access=True)

    answers = [said(api.post("/containers/c1/recall", {"user_id": user, "query": "tea"})) for user in ("ann", "bob")]

    assert recall(container, Question("tea", "ann"), now=NOON) == []
    assert [len(answer["items"]) > 0 for answer in answers][:1] == [False]
    assert not RecallEvent.objects.filter(subject=subject_of(container)).exists()


@pytest.mark.parametrize("kind", ["long-term", "sessions", "working", "history"])
def test_no_search_of_an_agent_finds_it(container, kind):
    api = api_of("ana", all_access=False)

    found = api.post(f"/c1/memories/{kind}/_search", {"query": {"match_all": {}}, "size": 100}).json()["hits"]["hits"]

    owners = {row["_source"].get("namespace", {}).get("user_id") for row in found}
    assert "ann" not in owners
    assert not {str(uid) for model in (LongTermMemory, Session, WorkingMemory) for uid in of(model).values_list("uid", flat=True)} & {
        row["_id"] for row in found
    }


def test_no_run_evicts_it_by_any_rule(container):
    run = carry_out(preview(container))

    assert run.removed > 0
    assert [of(model).count() for model in (LongTermMemory, Session, WorkingMemory, HistoryEntry)] == [3, 1, 1, 3]
    assert of(LongTermMemory, "bob").count() == 0


def test_no_preview_names_it(container):
    run = preview(container)

    assert run.planned > 0
    assert not RunVictim.objects.of_run(run).filter(subject_id=subject_of(container).pk).exists()


def test_no_summary_is_made_of_its_session(container, settings):
    settings.LLM_URL = "http://127.0.0.1:9/v1"  # nobody is there: asking would fail
    session = of(Session).get()
    summaries.request(session, actor=ACTOR, now=NOON)

    job = run_inline(Job.objects.get(kind=summaries.SUMMARISE), now=NOON)

    session.refresh_from_db()
    assert (job.state, session.summary) == (JobState.DONE, None)


def test_no_summary_takes_the_place_of_its_memories(container):
    container.summarise_from = 2
    container.save()
    run = preview(container)

    assert [user.user_id for user in choosing._users(run) if user.user_id == "ann"] == []


def test_no_change_and_no_deletion_by_hand(container):
    memory = of(LongTermMemory).first()
    with pytest.raises(Restricted):
        editing.edit_memory(memory, {"text": "likes mate"}, actor=ACTOR, now=NOON)

    answer = caller_of("root", all_access=True).call("PATCH", f"/containers/c1/memories/{memory.uid}", {"revision": 1, "text": "x"})
    deleted = caller_of("root", all_access=True).call("DELETE", f"/containers/c1/memories/{memory.uid}")

    assert problem(answer)[:2] == (409, "restricted")
    assert deleted.status_code == 409
    assert of(LongTermMemory).filter(text__startswith="likes tea").count() == 3


def test_what_arrives_later_is_taken_and_restricted_too(container):
    new = make_memory(container, "drinks mate")

    assert new.restricted
    assert recall(container, Question("mate", "ann"), now=NOON + days(1)) == []
    assert policies.current(container) is not None
