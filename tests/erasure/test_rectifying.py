"""Following a request to correct: the right words are there, and the wrong ones are nowhere."""

import pytest

from memadmin.access.actors import actor_of
from memadmin.audit.models import AuditEntry
from memadmin.erasure import rectifying, workflow
from memadmin.erasure.intake import NotForThisKind, NothingWritten
from memadmin.erasure.models import ErasureRequest, Kind, Status
from memadmin.erasure.rectifying import NotCorrected, NotIdentified
from memadmin.erasure.workflow import NotSoEnded
from memadmin.jobs.models import Job
from memadmin.jobs.runner import run_inline
from memadmin.store import editing
from memadmin.store.check import check
from memadmin.store.intake import Source
from memadmin.store.models import Archived, HistoryEntry, ItemType, LongTermMemory, Session, WorkingMemory
from tests.erasure.execution.test_execution import everything
from tests.erasure.workflow import discovered, officer, opened
from tests.factories import ACTOR, NOON, a_memory, a_message, a_session, days, make_container, make_memory, store, subject_of
from tests.holds import hold, restrict

pytestmark = pytest.mark.django_db
WRONG = "quokkafarm4711"


@pytest.fixture
def container():
    return make_container()


@pytest.fixture
def memory(container):
    return make_memory(container, f"works at the {WRONG}")


def asked(**details):
    return opened(kind=Kind.RECTIFY, others=[], **details)


def correct(request, item, text="works at the museum", **details):
    return rectifying.correct(request, item, text, actor=actor_of(officer()), now=NOON, **details)


@pytest.mark.django_db(transaction=True)
def test_the_wrong_value_is_nowhere_afterwards_in_no_row_and_no_byte(container, memory):
    editing.edit_memory(memory, {"text": f"worked at {WRONG} until May"}, actor=ACTOR, now=NOON)
    source = Source(item_type=ItemType.LONG_TERM, uid=memory.uid)
    summary = make_memory(container, f"a life at {WRONG}", sources=[source], strategy_type="SUMMARY")
    again = make_memory(
        container, f"briefly: {WRONG}", sources=[Source(item_type=ItemType.LONG_TERM, uid=summary.uid)], strategy_type="SUMMARY"
    )
    subject = subject_of(container)
    Archived.objects.create(
        uid=memory.uid, container=container, subject=subject, item_type="long-term", payload=WRONG.encode(), reason="ttl", archived_at=NOON
    )
    type(subject).objects.filter(pk=subject.pk).update(archived=1)
    neighbour = make_memory(container, "likes quokkas", user_id="bob")
    LongTermMemory.objects.filter(pk=memory.pk).update(embedding=WRONG.encode(), embedding_model="m")
    assert WRONG.encode() in everything()
    memory.refresh_from_db()
    request = asked()

    done = correct(request, memory)
    run_inline(Job.objects.get(kind=rectifying.FORGET), now=NOON)

    assert (done.copies, done.derived) == (1, 2)
    assert WRONG.encode() not in everything()
    memory.refresh_from_db()
    assert memory.text == "works at the museum"
    for row in (summary, again):
        row.refresh_from_db()
        assert (row.text, row.metadata) == ("", {"rederivation": "pending"})
    neighbour.refresh_from_db()
    assert neighbour.text == "likes quokkas"
    assert list(check()) == []


def test_the_history_says_that_it_was_corrected_and_the_log_names_the_field_only(memory):
    request = asked()

    correct(request, memory)

    entry = HistoryEntry.objects.latest("pk")
    assert (entry.before, entry.after) == ({"memory": "[corrected]"}, {"memory": "works at the museum"})
    logged = AuditEntry.objects.filter(action="item.corrected").get()
    assert logged.target == f"long-term/{memory.uid}"
    assert rectifying.corrections(request) == 1


def test_a_message_is_corrected_and_the_summary_of_its_session_goes(container):
    store(container, a_session("s-1", summary=f"spoke of {WRONG}"), a_message(f"I work at {WRONG}", session_ref="s-1"))
    working = WorkingMemory.objects.get()

    correct(asked(), working, "I work at the museum")

    working.refresh_from_db()
    assert working.messages[0]["content"] == "I work at the museum"
    assert Session.objects.get().summary is None


def test_what_is_restricted_can_be_corrected_and_what_is_held_cannot(container, memory):
    request = asked(freeze=True)
    correct(request, memory)
    hold(memory)
    memory.refresh_from_db()

    with pytest.raises(NotCorrected, match="hold"):
        correct(request, memory, "works at the zoo")

    memory.refresh_from_db()
    assert memory.text == "works at the museum"


def test_a_hold_on_what_was_made_from_it_stops_it_too(container, memory):
    summary = make_memory(container, f"a life at {WRONG}", sources=[Source(item_type=ItemType.LONG_TERM, uid=memory.uid)])
    hold(summary)

    with pytest.raises(NotCorrected):
        correct(asked(), memory)

    memory.refresh_from_db()
    assert WRONG in memory.text


def test_only_items_of_who_is_meant_for_a_request_of_this_kind_from_a_known_person(container, memory):
    bobs = make_memory(container, "likes tea", user_id="bob")
    with pytest.raises(NotCorrected, match="somebody"):
        correct(asked(), bobs)
    with pytest.raises(NotForThisKind):
        correct(opened(others=[]), memory)
    with pytest.raises(NotIdentified):
        correct(asked(identity=None), memory)
    with pytest.raises(NothingWritten):
        correct(asked(), memory, "  ")
    with pytest.raises(NotCorrected, match="already"):
        correct(asked(), memory, memory.text)

    memory.refresh_from_db()
    assert WRONG in memory.text
    assert AuditEntry.objects.filter(action="erasure.item_corrected", outcome="refused").count() == 5


def test_it_is_answered_only_after_something_was_corrected(memory):
    request = asked()
    discovered(request)
    answer = {"letter": "It is corrected.", "actor": actor_of(officer()), "now": NOON}
    with pytest.raises(NotSoEnded, match="Nothing was corrected"):
        workflow.answer(request, "done", **answer)

    correct(request, memory)
    workflow.answer(request, "done", **answer)

    assert request.state == Status.COMPLETED
    correct(request, memory, "works at the zoo")  # where wrong words are left they are corrected after the answer too
    ErasureRequest.objects.filter(pk=request.pk).update(state=Status.CLOSED)
    request.refresh_from_db()
    with pytest.raises(rectifying.Refusal):
        correct(request, memory, "works at the circus")


def test_a_restriction_that_somebody_else_placed_stays(container, memory):
    restrict(subject_of(container))
    request = asked(now=NOON + days(1))

    correct(request, memory)

    memory.refresh_from_db()
    assert memory.restricted
    assert store(container, a_memory("new")) is not None
