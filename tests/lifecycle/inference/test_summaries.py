import pytest

from memadmin.jobs.models import Job, JobState
from memadmin.jobs.runner import run_inline
from memadmin.lifecycle.inference import summaries
from memadmin.llm.client import BadAnswer
from memadmin.store import editing
from memadmin.store.models import Session
from tests.bots import add, create
from tests.factories import ACTOR, NOON, make_container, make_session
from tests.model_server import ModelServer, says
from tests.tokens import api_of

pytestmark = pytest.mark.django_db


def summarise(session: Session) -> Job:
    summaries.request(session, actor=ACTOR, now=NOON)
    return run_inline(Job.objects.get(kind=summaries.SUMMARISE), now=NOON)


def test_a_conversation_that_begins_a_session_over_the_api_gets_its_summary(model: ModelServer):
    api = api_of("ana")
    cid = create(api, llm_id="m")
    answer = add(api, cid)
    model.answer(says("  Bob asks about tea. "))

    run_inline(Job.objects.get(kind=summaries.SUMMARISE))

    assert api.get(f"/{cid}/memories/sessions/{answer['session_id']}").json()["summary"] == "Bob asks about tea."
    add(api, cid, namespace={"user_id": "bob", "session_id": answer["session_id"]})
    assert Job.objects.filter(kind=summaries.SUMMARISE).count() == 1


def test_a_summary_that_somebody_wrote_meanwhile_stays(model: ModelServer):
    session = make_session(make_container(), messages=2)
    model.answer(says("The model's"))
    editing.edit_session(session, {"summary": "Ann's own"}, actor=ACTOR, now=NOON)

    assert summarise(session).state == JobState.DONE
    assert Session.objects.get().summary == "Ann's own"
    assert model.requests == []


def test_a_long_summary_is_cut_and_an_empty_one_tried_again(model: ModelServer):
    session = make_session(make_container(), messages=1)
    model.answer(says(" "))
    with pytest.raises(BadAnswer):
        summarise(session)
    model.answer(says("x" * 5_000))

    run_inline(Job.objects.get(), now=NOON)

    assert Session.objects.get().summary == "x" * summaries.LONGEST


def test_a_session_that_has_gone_ends_the_job(model: ModelServer):
    session = make_session(make_container())
    summaries.request(session, actor=ACTOR, now=NOON)
    Session.objects.all()._raw_delete("default")

    assert run_inline(Job.objects.get(), now=NOON).state == JobState.DONE


def test_without_an_endpoint_nothing_is_queued():
    summaries.request(make_session(make_container()), actor=ACTOR, now=NOON)

    assert not Job.objects.exists()
