"""What the page of a request says of what binds those whom it is about, and of what follows an answer."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memadmin.access.roles import Role
from memadmin.erasure.models import ErasureRequest, Status, WrongLeft
from memadmin.jobs.models import Job
from memadmin.jobs.runner import run_inline
from memadmin.store import editing, suppression
from memadmin.store.models import LongTermMemory, Mode
from memadmin.store.suppression import Terms
from tests.erasure.workflow import opened_for
from tests.factories import a_memory, make_container, make_memory, store, subject_of
from tests.holds import hold, restrict
from tests.pages.test_erasure import do, look, taken_in
from tests.people import a_browser_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def cora() -> Client:
    return a_browser_of(Role.COMPLIANCE, login="cora")


class TestWhatBindsThem:
    def page(self, cora: Client, request: ErasureRequest) -> str:
        return cora.get(reverse("pages:erasure-detail", args=[request.uid])).content.decode()

    def test_a_freeze_says_since_when_and_by_whom(self, cora: Client):
        store(make_container(), a_memory(), now=timezone.now())
        request = taken_in(cora, freeze="on")

        page = self.page(cora, request)

        assert "What binds them now" in page
        assert "the user: a request of the person is being looked at (this request)" in page
        assert "by cora" in page

    def test_holds_are_summed_up_by_kind_and_word(self, cora: Client):
        container = make_container()
        store(container, *(a_memory(f"likes tea {n}") for n in range(3)), now=timezone.now())
        for memory in LongTermMemory.objects.all():
            hold(memory)
        restrict(container)
        request = taken_in(cora)

        page = self.page(cora, request)

        assert "3 memories: " in page
        assert "their whole container: " in page
        assert page.count('class="list-unstyled m-0"') >= 1

    def test_nothing_is_said_where_nothing_binds(self, cora: Client):
        store(make_container(), a_memory(), a_memory(user_id="bob"), now=timezone.now())
        hold(subject_of(LongTermMemory.objects.first().container, "bob"))  # type: ignore[union-attr]

        assert "What binds them now" not in self.page(cora, taken_in(cora))

    def test_the_fence_and_what_follows_it(self, cora: Client):
        container = make_container()
        store(container, a_memory(), now=timezone.now())
        request = taken_in(cora)
        ErasureRequest.objects.filter(pk=request.pk).update(attempt=1)
        suppression.fence(["ann"], container=container, request_ref=request.target, actor="job/x", now=timezone.now())
        assert "nobody writes about them while the erasure runs" in self.page(cora, request)

        until = timezone.now() + timedelta(days=30)
        terms = Terms(mode=Mode.BLOCK, block_until=until)
        suppression.settle(request.target, terms=terms, user_ids=["ann"], actor="job/x", now=timezone.now())

        page = self.page(cora, request)
        assert "refused when they come again" in page
        assert ", until " in page

    def test_a_request_for_items_shows_what_binds_them_and_their_user(self, cora: Client):
        container = make_container()
        store(container, a_memory(), a_memory("likes mate"), now=timezone.now())
        memory = LongTermMemory.objects.order_by("pk")[0]
        hold(memory)
        restrict(subject_of(container))
        request = opened_for(memory, now=timezone.now())

        page = self.page(cora, request)

        assert "a memory: " in page
        assert "the user: " in page


class TestAfterTheAnswer:
    def asked(self, browser: Client, kind: str) -> ErasureRequest:
        store(make_container(), a_memory("works at the quokka farm"), now=timezone.now())
        request = taken_in(browser, kind=kind, ground="other")
        look(browser, request)
        return request

    def test_a_restriction_is_lifted_on_the_page_with_a_letter_and_the_request_is_closed(self, cora: Client):
        request = self.asked(cora, "restrict")
        do(cora, "answer", request, code="done", letter="It is restricted.")
        page = cora.get(reverse("pages:erasure-detail", args=[request.uid])).content.decode()
        assert ("1 user is restricted" in page, "Lift the restriction" in page, 'class="due ' in page) == (True, True, False)

        lift = {"letter": "It is lifted.", "reason": "it was right"}
        assert do(cora, "lift", request, **lift).status_code == 422
        assert do(cora, "lift", request, told_on=timezone.now().date().isoformat(), **lift).status_code == 302

        assert request.state == Status.CLOSED
        assert "nothing is restricted for it any more" in cora.get(reverse("pages:erasure-detail", args=[request.uid])).content.decode()

    def test_where_wrong_words_stand_is_listed_and_taken_out(self, cora: Client):
        request = self.asked(cora, "rectify")
        memory = LongTermMemory.objects.get()
        twin = make_memory(memory.container, "works at the quokka farm")
        editing.edit_memory(twin, {"text": "likes tea"}, actor="job/x", now=timezone.now())
        address = reverse("pages:erasure-correct-save", args=[request.uid, "long-term", memory.uid])
        assert cora.post(address, {"text": "works at the museum"}).status_code == 302
        do(cora, "answer", request, code="done", letter="It is corrected.")
        run_inline(Job.objects.get(kind="erasure.check_corrections"))

        page = cora.get(reverse("pages:erasure-correct", args=[request.uid])).content.decode()
        overview = cora.get(reverse("pages:overview")).content.decode()
        assert ("still stand here" in page, "the wrong words still stand somewhere: 1" in overview) == (True, True)
        left = WrongLeft.objects.get()
        assert cora.post(reverse("pages:erasure-correct-take-out", args=[request.uid, left.pk])).status_code == 302

        assert "still stand here" not in cora.get(reverse("pages:erasure-correct", args=[request.uid])).content.decode()
        assert not WrongLeft.objects.exists()

    def test_words_inside_a_longer_text_are_shown_with_it_and_left_where_they_are_right(self, cora: Client):
        request = self.asked(cora, "rectify")
        memory = LongTermMemory.objects.get()
        make_memory(memory.container, "Ann <b>no longer</b> works at the quokka farm, says bob")
        address = reverse("pages:erasure-correct-save", args=[request.uid, "long-term", memory.uid])
        assert cora.post(address, {"text": "works at the museum"}).status_code == 302
        do(cora, "answer", request, code="done", letter="It is corrected.")
        run_inline(Job.objects.get(kind="erasure.check_corrections"))
        left = WrongLeft.objects.get()

        page = cora.get(reverse("pages:erasure-correct", args=[request.uid])).content.decode()
        refused = a_browser_of(Role.AUDITOR, login="aud").post(reverse("pages:erasure-correct-leave", args=[request.uid, left.pk]))
        done = cora.post(reverse("pages:erasure-correct-leave", args=[request.uid, left.pk]))

        assert "Among other words: it may be right" in page
        assert "&lt;b&gt;no longer&lt;/b&gt; works at the quokka farm, says bob" in page
        assert (refused.status_code, done.status_code) == (403, 302)
        assert "still stand here" not in cora.get(reverse("pages:erasure-correct", args=[request.uid])).content.decode()

    def test_a_stranger_to_the_rights_lifts_and_takes_out_nothing(self, cora: Client):
        request = self.asked(cora, "restrict")
        do(cora, "answer", request, code="done", letter="It is restricted.")
        auditor = a_browser_of(Role.AUDITOR, login="aud")

        for name, args in (("lift", [request.uid]), ("correct-take-out", [request.uid, 1])):
            assert auditor.post(reverse(f"pages:erasure-{name}", args=args)).status_code == 403

        request.refresh_from_db()
        assert request.state == Status.COMPLETED
