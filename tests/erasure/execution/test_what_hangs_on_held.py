"""What hangs on something that a hold binds stays with it: its pin, when it was recalled, what people reported, its links."""

from typing import Any

import pytest

from memadmin.access.actors import actor_of
from memadmin.erasure import deciding
from memadmin.erasure.deciding import Verdict
from memadmin.erasure.execution import steps
from memadmin.erasure.models import ErasureRequest, Status
from memadmin.jobs.models import Job
from memadmin.jobs.runner import run_inline
from memadmin.store.check import check
from memadmin.store.intake import Source
from memadmin.store.locations import Act
from memadmin.store.models import Container, Feedback, ItemType, LongTermMemory, Pin, Provenance, RecallEvent, Session
from tests.erasure.executing import execute
from tests.erasure.workflow import approved, discovered, officer, opened
from tests.factories import ACTOR, NOON, a_memory, a_pin, a_session, days, make_container, store, subject_of
from tests.holds import hold

pytestmark = pytest.mark.django_db(transaction=True)
HANGING: tuple[Any, ...] = (Pin, RecallEvent, Feedback, Provenance)


@pytest.fixture
def container() -> Container:
    """Ann has two memories of one session; each was pinned, recalled and reported."""
    made = make_container()
    store(made, a_session(external_id="talk"), now=NOON)
    session = Session.objects.get()
    sources = (Source(item_type=ItemType.SESSION, uid=session.uid),)
    store(made, *(a_memory(text, pin=a_pin(), sources=sources) for text in ("in court", "tea")), now=NOON)
    for memory in LongTermMemory.objects.order_by("pk"):
        whose = {"container": made, "subject": memory.subject, "memory_uid": memory.uid}
        RecallEvent.objects.create(**whose, at=NOON)
        Feedback.objects.create(**whose, kind="forgot", words="asked again", noticed_at=NOON, created_at=NOON, actor=ACTOR)
    return made


def left() -> list[int]:
    return [model.objects.count() for model in HANGING]


def ended(request: ErasureRequest) -> list[tuple[str, str, str]]:
    assert request.verifications.exists(), request.state
    return list(request.verifications.latest("number").findings.values_list("kind", "table", "column"))


def kept_memory() -> LongTermMemory:
    return LongTermMemory.objects.get(text="in court")


def test_a_hold_on_a_memory_keeps_its_pin_and_recalls_and_reports_and_those_of_others_go(container: Container):
    kept = kept_memory()
    hold(kept)
    request = opened()
    approved(request)

    execute(request)

    assert request.state == Status.COMPLETED, ended(request)
    assert Pin.objects.get().target_uid == RecallEvent.objects.get().memory_uid == Feedback.objects.get().memory_uid == kept.uid
    assert not Provenance.objects.exists()  # it would name the session, which is erased
    assert list(check()) == []


def test_a_hold_on_the_session_too_keeps_the_link_between_them(container: Container):
    hold(kept_memory())
    hold(Session.objects.get())
    request = opened()
    approved(request)

    execute(request)

    assert request.state == Status.COMPLETED, ended(request)
    assert left() == [1, 1, 1, 1]
    assert list(check()) == []


def test_a_hold_on_a_user_keeps_everything_about_them(container: Container):
    hold(subject_of(container))
    request = opened()
    approved(request)

    execute(request)

    assert request.state == Status.COMPLETED, ended(request)
    assert left() == [2, 2, 2, 2]
    assert list(check()) == []


def test_a_hold_that_comes_while_it_is_carried_out_keeps_what_hangs_on_it(container: Container):
    request = opened()
    approved(request)
    steps.begin_approved(now=NOON)
    hold(kept_memory())

    run_inline(Job.objects.get(kind=steps.EXECUTE), now=NOON)
    request.refresh_from_db()

    assert request.state == Status.COMPLETED, ended(request)
    assert left() == [1, 1, 1, 0]
    assert list(check()) == []


def decide(request: ErasureRequest, memory: LongTermMemory, verdict: Verdict) -> None:
    line = request.manifests.get().items.get(location="store.long_term", row_uid=memory.uid)
    deciding.decide(request, [line.pk], verdict, actor=actor_of(officer()), now=NOON)


WITHHELD = Verdict(act=Act.WITHHOLD, code="art_17_3_b", review_on=(NOON + days(30)).date())


def test_what_a_reviewer_withholds_keeps_its_pin(container: Container):
    request = opened()
    discovered(request)
    decide(request, kept_memory(), WITHHELD)

    lines = request.manifests.get().items.filter(location="store.pins").order_by("pk")

    assert [(line.act, line.reason_code, line.review_on) for line in lines] == [
        ("withhold", "art_17_3_b", WITHHELD.review_on),
        ("delete", "", None),
    ]


def test_the_pin_goes_where_the_reviewer_thinks_better_of_it(container: Container):
    request = opened()
    discovered(request)
    decide(request, kept_memory(), WITHHELD)

    decide(request, kept_memory(), Verdict(act=Act.DELETE))

    assert set(request.manifests.get().items.filter(location="store.pins").values_list("act", "review_on")) == {("delete", None)}


def test_the_page_counts_as_pinned_only_what_goes(container: Container):
    hold(kept_memory())

    manifest = discovered(opened())

    assert manifest.pinned == 1
