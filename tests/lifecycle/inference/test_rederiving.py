"""Summaries that lost what they said with an erased person, and what becomes of them. The numbers are those of the list of attacks."""

from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse

from memadmin.access.roles import Role
from memadmin.jobs.models import Job
from memadmin.jobs.queue import enqueue
from memadmin.jobs.runner import run_inline
from memadmin.lifecycle.inference.rederiving import REDERIVE
from memadmin.store import embeddings, pinning, suppression
from memadmin.store.intake import Source
from memadmin.store.models import Container, ItemType, LongTermMemory, Provenance, Session
from tests.erasure.executing import execute
from tests.erasure.workflow import approved, opened
from tests.factories import ACTOR, NOON, make_container, make_memory, make_session, subject_of
from tests.holds import hold
from tests.model_server import ModelServer, fails, says_json
from tests.people import a_browser_of

pytestmark = pytest.mark.django_db(transaction=True)
MARK = {"rederivation": "pending"}
BOB, CAROL = "bob keeps two canaries in the kitchen", "carol keeps a parrot in the kitchen"
TOGETHER = {"summary": "bob keeps two canaries and carol a parrot in the kitchen", "covers": [0, 1]}


def rederive(*, minutes: int = 0) -> Job:
    now = NOON + timedelta(minutes=minutes)
    return run_inline(enqueue(REDERIVE, requested_by=ACTOR, now=now), now=now)


def a_summary(container: Container, *texts: str, user_id: str = "bob", text: str = "", metadata: Any = MARK) -> LongTermMemory:
    """Return a summary of memories of as many users, without the text that it had."""
    people = ("bob", "carol", "dora")
    made = [make_memory(container, said, user_id=person) for said, person in zip(texts, people, strict=False)]
    sources = tuple(Source(item_type=ItemType.LONG_TERM, uid=each.uid) for each in made)
    summary = make_memory(container, text or "to be emptied", user_id=user_id, strategy_type="SUMMARY", sources=sources)
    LongTermMemory.objects.filter(pk=summary.pk).update(text=text, metadata=metadata)
    summary.refresh_from_db()
    return summary


def test_35_a_summary_of_three_is_written_anew_from_the_two_that_survive(model: ModelServer):
    container = make_container()
    theirs = make_memory(container, "alice hides zebrafinch7 in the attic", user_id="alice")
    others = [make_memory(container, BOB, user_id="bob"), make_memory(container, CAROL, user_id="carol")]
    sources = tuple(Source(item_type=ItemType.LONG_TERM, uid=each.uid) for each in (theirs, *others))
    whole = "alice hides zebrafinch7, bob and carol keep birds"
    summary = make_memory(container, whole, user_id="bob", strategy_type="SUMMARY", sources=sources)
    request = opened("alice")
    approved(request)
    execute(request)
    model.answer(says_json(TOGETHER))

    rederive()

    summary.refresh_from_db()
    assert request.state == "completed"
    assert (summary.text, summary.metadata) == (TOGETHER["summary"], {})
    assert "zebrafinch7" not in str(model.requests)
    assert "canaries" in summary.text
    assert subject_of(container, "bob").tokens == sum(
        LongTermMemory.objects.filter(subject__user_id="bob").values_list("tokens", flat=True)
    )


def test_41_without_a_model_content_and_vector_of_what_several_said_go_all_the_same_and_its_page_says_that_it_waits(settings: Any):
    settings.EMBEDDING_URL, settings.LLM_URL = "http://127.0.0.1:9/v1", ""
    container = make_container()
    made = [make_memory(container, text, user_id=who) for who, text in (("alice", "hides zebrafinch7"), ("bob", BOB), ("carol", CAROL))]
    sources = tuple(Source(item_type=ItemType.LONG_TERM, uid=each.uid) for each in made)
    summary = make_memory(container, "zebrafinch7 and birds", user_id="bob", strategy_type="SUMMARY", sources=sources)
    LongTermMemory.objects.filter(pk=summary.pk).update(embedding=bytes(range(64)) * 8, embedding_model="m")
    request = opened("alice")
    approved(request)

    execute(request)
    rederive()

    summary.refresh_from_db()
    assert request.state == "completed"
    assert (summary.text, summary.embedding, summary.metadata) == ("", None, MARK)
    page = a_browser_of(Role.SUPPORT, login="eve").get(reverse("pages:memory-detail", args=[summary.uid]))
    assert "It is summed up again from the sources that are left" in page.content.decode()


def test_41_without_a_model_the_mark_stays_and_nothing_comes_back():
    container = make_container()
    summary = a_summary(container, BOB, CAROL)

    rederive()

    summary.refresh_from_db()
    assert (summary.text, summary.metadata) == ("", MARK)


@pytest.mark.parametrize("texts", [(), (BOB,)])
def test_35_of_no_source_or_one_the_summary_goes(model: ModelServer, texts: tuple[str, ...]):
    container = make_container()
    summary = a_summary(container, *texts)

    rederive()

    assert not LongTermMemory.objects.filter(pk=summary.pk).exists()
    assert LongTermMemory.objects.count() == len(texts)
    assert model.requests == []


def test_41_a_model_that_fails_or_makes_things_up_leaves_the_mark_for_the_next_time(model: ModelServer):
    container = make_container()
    summary = a_summary(container, BOB, CAROL)
    for answer in (fails(500), says_json({"summary": "alice hides zebrafinch7", "covers": [0, 1]})):
        model.answer(answer)
        rederive()
        summary.refresh_from_db()
        assert (summary.text, summary.metadata) == ("", MARK)

    model.answer(says_json(TOGETHER))
    rederive()

    summary.refresh_from_db()
    assert summary.text == TOGETHER["summary"]


def test_7_what_the_model_read_before_a_fence_is_thrown_away(model: ModelServer):
    container = make_container()
    summary = a_summary(container, BOB, CAROL)

    def fencing(body: dict[str, Any]) -> tuple[int, bytes]:
        suppression.fence(["carol"], container=container, request_ref="erasure/1", actor=ACTOR, now=NOON)
        return says_json(TOGETHER)(body)

    model.answer(fencing)
    rederive()

    summary.refresh_from_db()
    assert (summary.text, summary.metadata) == ("", MARK)


@pytest.mark.parametrize("bound", ["pinned", "held"])
def test_what_is_pinned_or_held_is_left_as_it_is(model: ModelServer, bound: str):
    container = make_container()
    summary = a_summary(container)
    if bound == "pinned":
        pinning.pin(summary, reason="safety", actor=ACTOR, now=NOON)
    else:
        hold(summary)

    rederive()

    summary.refresh_from_db()
    assert (summary.text, summary.metadata) == ("", MARK)


def test_other_metadata_stays_and_only_the_mark_goes(model: ModelServer):
    container = make_container()
    summary = a_summary(container, BOB, CAROL, metadata={**MARK, "colour": "blue"})
    model.answer(says_json(TOGETHER))

    rederive()

    summary.refresh_from_db()
    assert summary.metadata == {"colour": "blue"}
    assert Provenance.objects.filter(derived_uid=summary.uid).count() == 2


@pytest.mark.parametrize(("messages", "summary"), [(3, "about tea"), (0, None)])
def test_a_session_is_summed_up_again_from_its_messages_and_never_deleted(model: ModelServer, messages: int, summary: str | None):
    session = make_session(make_container(), messages=messages)
    Session.objects.filter(pk=session.pk).update(summary=None, metadata=MARK)
    model.answer(lambda body: (200, b'{"choices": [{"message": {"role": "assistant", "content": "about tea"}}]}'))

    rederive()

    session.refresh_from_db()
    assert (session.summary, session.metadata) == (summary, {})


def test_43_a_redacted_memory_has_no_vector_until_it_is_computed_from_what_is_left(settings: Any):
    settings.EMBEDDING_URL = "http://127.0.0.1:9/v1"
    container = make_container()
    make_memory(container, "likes tea", user_id="annika-77")
    theirs = make_memory(container, "met annika-77 at noon", user_id="bob")
    vector = bytes(range(64)) * 8
    LongTermMemory.objects.filter(pk=theirs.pk).update(embedding=vector, embedding_model="m")
    request = opened("annika-77")
    approved(request)

    execute(request)

    theirs.refresh_from_db()
    assert request.state == "completed"
    assert (theirs.text, theirs.embedding) == ("met [erased] at noon", None)
    assert list(embeddings.waiting()) == [theirs]
