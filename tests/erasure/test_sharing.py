"""Mentions by what they share: a form of words is decided about once, and never together with what is somebody's own."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memadmin.access.actors import actor_of
from memadmin.access.roles import Role
from memadmin.audit.models import AuditEntry
from memadmin.erasure import deciding, mentions, sharing
from memadmin.erasure.deciding import NotDecidable, Verdict
from memadmin.erasure.models import ErasureRequest, Manifest
from memadmin.erasure.moves import WrongState
from memadmin.store.locations import Act
from memadmin.store.models import LongTermMemory
from tests.erasure.on_pages import do
from tests.erasure.workflow import discovered, officer, opened
from tests.factories import NOON, a_memory, a_message, make_container, store
from tests.people import a_browser_of

pytestmark = pytest.mark.django_db
SMALL_TALK = "thank you very much for your help"
OWN = "my blue bicycle was stolen near the harbour"
KEEP = Verdict(act=Act.KEEP, code="not_about_them")


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> tuple[ErasureRequest, Manifest]:
    """Four others use a form of words of the person, one of them also tells the person's story, and another one tells it too."""
    monkeypatch.setattr(mentions, "SAMPLED", 0)  # the sample would leave the form of words out
    shop = make_container()
    store(shop, a_memory(f"{SMALL_TALK}. {OWN}", user_id="annika-77"), now=timezone.now())
    for n in range(4):
        store(shop, a_memory(f"She said: {SMALL_TALK.upper()}!", user_id=f"bob-{n}"), a_message(SMALL_TALK, user_id=f"bob-{n}"))
    store(shop, a_memory(f"{SMALL_TALK}, and {OWN}", user_id="bob-0"), a_memory(f"as told: {OWN}", user_id="carl"))
    store(shop, a_memory("lent annika-77 a bike", user_id="dora"), a_memory("met Annika-77", user_id="ed"))
    request = opened("annika-77", now=timezone.now())
    return request, discovered(request, now=timezone.now())


def decide(request: ErasureRequest, matched: list[str], verdict: Verdict = KEEP) -> int:
    return sharing.decide_shared(request, matched, verdict, actor=actor_of(officer()), now=NOON)


def by_size(manifest: Manifest) -> list[tuple[str, int, int, bool]]:
    return [(group.why, group.items, group.users, group.is_common) for group in sharing.groups_of(manifest)]


def test_items_are_of_one_group_where_they_share_exactly_the_same(found: Any):
    _, manifest = found

    assert sorted(by_size(manifest)) == [
        ("copied_text", 1, 1, False),  # both of them
        ("copied_text", 1, 1, False),  # the story alone
        ("copied_text", 8, 4, True),
        ("identifier", 2, 2, False),
    ]


def test_a_form_of_words_is_left_to_its_users_at_once_and_what_has_more_of_the_person_waits(found: Any):
    request, manifest = found
    common = next(group for group in sharing.groups_of(manifest) if group.is_common)

    changed = decide(request, [common.matched])

    kept = manifest.items.filter(item_class="D", act="keep")
    assert (changed, kept.count(), set(kept.values_list("reason_code", flat=True))) == (8, 8, {"not_about_them"})
    both = LongTermMemory.objects.get(text__contains=", and")
    assert manifest.items.get(row_uid=both.uid).decision == "waiting"
    manifest.refresh_from_db()
    assert manifest.undecided == 4
    entry = AuditEntry.objects.filter(action="erasure.decided").latest("seq")
    assert (entry.reason_code, entry.outcome) == ("not_about_them", "ok")


def test_what_was_decided_one_by_one_stays_so(found: Any):
    request, manifest = found
    common = next(group for group in sharing.groups_of(manifest) if group.is_common)
    verdict = Verdict(act=Act.DELETE)
    deciding.decide(request, [common.first], verdict, actor=actor_of(officer()), now=NOON)

    assert decide(request, [common.matched]) == 7
    assert manifest.items.get(pk=common.first).act == "delete"
    with pytest.raises(NotDecidable):
        decide(request, [common.matched])


def test_all_others_are_accepted_at_once_and_what_many_share_is_not(found: Any):
    request, manifest = found

    changed = sharing.accept_uncommon(request, actor=actor_of(officer()), now=NOON)

    assert changed == 4
    assert [group.is_common for group in sharing.groups_of(manifest, waiting=True)] == [True]
    with pytest.raises(NotDecidable, match="shared by many"):
        sharing.accept_uncommon(request, actor=actor_of(officer()), now=NOON)


@pytest.mark.parametrize(
    "verdict", [Verdict(act=Act.KEEP), Verdict(act=Act.UNLINK, code="other_sources"), Verdict(act=Act.WITHHOLD, code="art_17_3_b")]
)
def test_a_verdict_that_does_not_fit_is_refused(found: Any, verdict: Verdict):
    request, manifest = found

    with pytest.raises(NotDecidable):
        decide(request, [group.matched for group in sharing.groups_of(manifest)], verdict)

    assert not manifest.items.filter(decision="made").exists()


def test_what_many_share_is_left_at_once_with_a_reason_and_the_rest_waits(found: Any):
    request, manifest = found

    changed = sharing.leave_common(request, actor=actor_of(officer()), now=NOON)

    left = manifest.items.filter(act=Act.KEEP)
    assert (changed, left.count(), set(left.values_list("reason_code", flat=True))) == (8, 8, {"not_about_them"})
    assert [group.items for group in sharing.groups_of(manifest, waiting=True)] == [2, 1, 1]
    with pytest.raises(NotDecidable):
        sharing.leave_common(request, actor=actor_of(officer()), now=NOON)


def test_more_lines_than_are_decided_about_at_once_are_refused_and_none_is_cut_off(found: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sharing, "MOST_GROUPS", 2)
    request, manifest = found
    everything = [group.matched for group in sharing.groups_of(manifest)]

    with pytest.raises(NotDecidable, match="At most 2 lines"):
        decide(request, everything)

    assert decide(request, everything[:2]) + decide(request, everything[2:]) == 12


def test_a_reason_that_is_missing_is_asked_for_in_words(found: Any):
    request, manifest = found

    with pytest.raises(NotDecidable, match="a word, a namesake"):
        decide(request, [group.matched for group in sharing.groups_of(manifest)], Verdict(act=Act.KEEP))


def test_nothing_is_decided_once_the_manifest_is_frozen(found: Any):
    request, manifest = found
    groups = [group.matched for group in sharing.groups_of(manifest)]
    decide(request, groups)
    deciding.submit(request, actor=actor_of(officer()), now=timezone.now())

    with pytest.raises(WrongState):
        decide(request, groups)


def test_a_search_notes_that_forms_of_words_were_left_out():
    shop = make_container()
    store(shop, a_memory(SMALL_TALK, user_id="annika-77"), *(a_memory(SMALL_TALK, user_id=f"bob-{n}") for n in range(3)))

    manifest = discovered(opened("annika-77"))

    assert manifest.limits == ["common_words"]
    assert sharing.groups_of(manifest) == []


@pytest.mark.parametrize(
    ("text", "passage"),
    [
        (f"Well, {SMALL_TALK.title()}; bye", SMALL_TALK.title()),
        (f"İstanbul: {SMALL_TALK}", ""),  # folding parts the word: nothing is shown rather than something else
    ],
)
def test_where_the_passage_stands_is_told(text: str, passage: str):
    shop = make_container()
    store(shop, a_memory(SMALL_TALK, user_id="annika-77"), a_memory(text, user_id="bob"))

    item = discovered(opened("annika-77")).items.get(item_class="D")

    assert mentions.passage([text, None], item.matched_at) == passage


class TestThePage:
    def page(self, browser: Client, request: ErasureRequest, **query: str) -> str:
        return browser.get(reverse("pages:erasure-mentions", args=[request.uid]), query).content.decode()

    def test_it_shows_what_is_shared_by_how_many_and_warns(self, found: Any):
        request, _ = found
        cora = a_browser_of(Role.COMPLIANCE, login="una")

        page = self.page(cora, request)

        assert f'<q class="excerpt" dir="auto">{SMALL_TALK}</q>' in page.replace(SMALL_TALK.upper(), SMALL_TALK)
        assert '<q class="excerpt" dir="auto">annika-77</q>' in page
        assert page.count("many share it") == 1
        assert 'data-label="Items" class="number">8<' in page
        assert "4 lines; 12 items to decide" in page
        assert "These containers have 8 users." in page

    def test_who_may_not_read_sees_numbers_alone_and_who_may_not_review_decides_nothing(self, found: Any):
        request, manifest = found
        group = sharing.groups_of(manifest)[0]

        page = self.page(a_browser_of(Role.ADMINISTRATOR, login="adam"), request)
        refused = a_browser_of(Role.AUDITOR, login="ada").post(
            reverse("pages:erasure-mentions-decide", args=[request.uid]), {"group": group.matched, "act": "redact"}
        )

        assert ("thank you" in page.lower(), "annika" in page.lower(), 'name="group"' in page) == (False, False, False)
        assert refused.status_code == 403
        assert not manifest.items.filter(decision="made").exists()

    def test_ticked_lines_are_decided_and_gone_from_the_list(self, found: Any):
        request, manifest = found
        cora = a_browser_of(Role.COMPLIANCE, login="una")
        group = sharing.groups_of(manifest)[0]

        refused = do(cora, "mentions-decide", request, group=group.matched, act="keep")
        done = do(cora, "mentions-decide", request, group=group.matched, act="keep", code="not_about_them")

        assert (refused.status_code, done.status_code) == (422, 302)
        assert f'value="{group.matched}" checked' in refused.content.decode()
        assert '<option value="keep" selected>' in refused.content.decode()
        assert "many share it" not in self.page(cora, request)
        assert "decided" in self.page(cora, request, all="yes")
        assert cora.get(reverse("pages:erasure-mentions-decide", args=[request.uid])).status_code == 405

    def test_the_button_for_all_leaves_what_many_share(self, found: Any):
        request, manifest = found
        cora = a_browser_of(Role.COMPLIANCE, login="una")

        answer = cora.post(reverse("pages:erasure-accept", args=[request.uid]), {"item_class": "D"}, follow=True).content.decode()

        assert "What many users share waits" in answer
        assert reverse("pages:erasure-mentions", args=[request.uid]) in answer
        assert manifest.items.filter(decision="waiting").count() == 8

    def test_one_button_leaves_what_many_share_and_is_gone_then(self, found: Any):
        request, manifest = found
        cora = a_browser_of(Role.COMPLIANCE, login="una")
        assert "8 items in 1 line are noted as forms of words" in self.page(cora, request)

        refused = a_browser_of(Role.AUDITOR, login="ada").post(reverse("pages:erasure-mentions-leave", args=[request.uid]))
        done, again = do(cora, "mentions-leave", request), do(cora, "mentions-leave", request)

        assert (refused.status_code, done.status_code, again.status_code) == (403, 302, 422)
        assert "Leave what many" not in self.page(cora, request)
        assert manifest.items.filter(decision="waiting").count() == 4
        assert cora.get(reverse("pages:erasure-mentions-leave", args=[request.uid])).status_code == 405

    def test_a_request_without_a_manifest_says_that_nothing_waits(self):
        store(make_container(), a_memory())
        request = opened()

        assert "Nothing waits" in self.page(a_browser_of(Role.COMPLIANCE, login="una"), request)
