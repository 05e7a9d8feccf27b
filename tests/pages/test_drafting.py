import html
import re

import pytest
from django.urls import reverse

from memadmin.access.roles import Role
from memadmin.lifecycle.models import Run
from memadmin.store import configuration, drafts, policies
from memadmin.store.models import PolicyStatus, PolicyVersion
from retention.policy import parse_policy
from tests.cases.governing import form
from tests.factories import ACTOR, NOON, days, make_container
from tests.people import HTMX, a_browser_of, auditor
from tests.runs import a_policy, fill, preview, publish, switch_on

pytestmark = pytest.mark.django_db
SURE = {"sure": "yes"}


@pytest.fixture(autouse=True)
def _at_noon(time_machine):
    time_machine.move_to(NOON, tick=False)


@pytest.fixture
def container(db):
    switch_on()
    container = make_container()
    fill(container, 10)
    publish(container, a_policy(relevance={"max_records": 9}))
    return container


@pytest.fixture
def pia(db):
    return a_browser_of(Role.POLICY_EDITOR, login="pia")


@pytest.fixture
def piet(db):
    return a_browser_of(Role.POLICY_EDITOR, login="piet")


def url(view, *args):
    return reverse(f"pages:{view}", args=args)


def words(response):
    return " ".join(html.unescape(response.content.decode()).split())


def fields_of(response):
    """What a browser would send from the form of the policy, as it was given out."""
    page = response.content.decode()
    inside = page[page.index('<form id="policy-form"') : page.index("</form>", page.index('<form id="policy-form"'))]
    named = re.findall(r'<input[^>]*? name="([a-z_]+)"[^>]*? value="([^"]*)"', inside)
    ticked = re.findall(r'type="checkbox" name="([a-z_]+)" checked', inside)
    return {name: html.unescape(value) for name, value in named if name != "csrfmiddlewaretoken"} | dict.fromkeys(ticked, "on")


def a_draft(container, most=5):
    return policies.save_draft(container, a_policy(relevance={"max_records": most}), actor=ACTOR, now=NOON)


def test_a_draft_is_opened_changed_and_kept_under_its_number(container, pia):
    draft = a_draft(container)

    opened = fields_of(pia.get(url("policy-detail", container.uid), {"draft": draft.number}))
    kept = words(pia.post(url("policy-draft", container.uid), {**opened, "max_records": "7", "note": "seven"}, follow=True))

    draft.refresh_from_db()
    assert (opened["max_records"], opened["draft"], opened["revision"]) == ("5", "2", "1")
    assert (policies.parse(draft).relevance.max_records, draft.revision, draft.note) == (7, 2, "seven")
    assert "A user keeps at most 7 memories instead of 9." in kept
    assert "more goes" in kept


def test_the_second_of_two_editors_sees_theirs_mine_and_the_beginning_and_loses_nothing(container, pia, piet):
    draft = a_draft(container)
    first = fields_of(pia.get(url("policy-detail", container.uid), {"draft": draft.number}))
    second = fields_of(piet.get(url("policy-detail", container.uid), {"draft": draft.number}))
    pia.post(url("policy-draft", container.uid), {**first, "max_records": "7"})

    changed = {**second, "max_tokens": "900", "note": "tokens too"}
    del changed["max_tokens_none"]
    late = piet.post(url("policy-draft", container.uid), changed)

    page = words(late)
    assert late.status_code == 409
    assert "Somebody else has kept other values in draft 2 while you were editing: pia." in page
    assert "Before (as you opened it)" in page
    assert re.search(r"Each user: memories.*5 memories.*<strong>7 memories</strong>", page)
    assert fields_of(late)["max_tokens"] == "900"
    assert fields_of(late)["note"] == "tokens too"
    again = piet.post(url("policy-draft", container.uid), fields_of(late), follow=True)
    draft.refresh_from_db()
    assert (again.status_code, draft.revision, policies.parse(draft).relevance.max_records) == (200, 3, 5)


@pytest.mark.parametrize(("note", "said"), [("x" * 1_001, "at most 1000 characters"), ("a\x00b", "Null characters are not allowed")])
def test_a_note_that_cannot_be_kept_says_so_beside_it(container, pia, note, said):
    given = fields_of(pia.get(url("policy-detail", container.uid)))

    refused = pia.post(url("policy-draft", container.uid), {**given, "note": note})

    beside = words(refused).partition('id="error_note">')[2].partition("</div>")[0]
    assert refused.status_code == 422
    assert said in beside
    assert 'aria-describedby="error_note"' in words(refused)


def test_both_changes_can_be_put_together(container, pia, piet):
    draft = a_draft(container)
    first = fields_of(pia.get(url("policy-detail", container.uid), {"draft": draft.number}))
    second = fields_of(piet.get(url("policy-detail", container.uid), {"draft": draft.number}))
    pia.post(url("policy-draft", container.uid), {**first, "max_records": "7"})
    mine = {**second, "max_tokens": "900"}
    del mine["max_tokens_none"]
    late = words(piet.post(url("policy-draft", container.uid), mine))

    together = piet.get(re.search(r'<a href="([^"]*)">Put your changes', late)[1])
    piet.post(url("policy-draft", container.uid), fields_of(together))

    draft.refresh_from_db()
    rule = policies.parse(draft).relevance
    assert (rule.max_records, rule.max_tokens) == (7, 900)


def test_publishing_over_somebody_elses_version_shows_both_and_puts_them_together(container, pia):
    publish(container, a_policy(relevance={"max_records": 9}, sessions={"retention_days": 30}))

    late = pia.post(url("policy-publish", container.uid), form(base="1", max_records="400", note="mine"))
    page = words(late)
    together = fields_of(pia.get(re.search(r'<a href="([^"]*)">Put your changes', page)[1]))

    assert late.status_code == 409
    assert re.search(r"Sessions: age.*no limit.*<strong>30 days</strong>.*no limit", page)
    assert (together["base"], together["sessions_days"], together["max_records"], together["note"]) == ("2", "30", "400", "mine")


def test_a_conflict_after_an_opting_out_says_so(container, pia):
    policies.opt_out(container, actor=ACTOR, now=NOON, base=1)

    page = words(pia.post(url("policy-publish", container.uid), form(base="1", max_records="400"), follow=True))

    assert "took this container out of retention while you were editing" in page
    assert "Theirs (opted out)" in page
    assert "Publish over the opting out…" in page


def test_a_preview_of_a_draft_belongs_to_what_it_said_then(container, pia):
    draft = a_draft(container)
    pia.post(url("policy-version-preview", container.uid, draft.number))
    run = Run.objects.get()

    drafts.edit(container, draft.number, a_policy(relevance={"max_records": 7}), revision=1, actor=ACTOR, now=NOON)

    page = words(pia.get(url("policy-version", container.uid, draft.number)))
    assert (run.policy_version, run.policy_digest, run.planned) == (draft, draft.digest, 5)
    assert "before the draft was edited" in page


def test_publishing_a_draft_is_bound_to_what_was_shown(container, pia):
    draft = a_draft(container)
    asked = pia.post(url("policy-publish-draft", container.uid, draft.number), {"base": "1"}, follow=True)
    sent = dict(re.findall(r'<input type="hidden" name="([a-z_]+)" value="([^"]*)"', asked.content.decode()))
    drafts.edit(container, draft.number, a_policy(relevance={"max_records": 1}), revision=1, actor=ACTOR, now=NOON)

    late = words(pia.post(url("policy-publish-draft", container.uid, draft.number), sent, follow=True))

    assert "has been edited meanwhile" in late
    assert policies.number_in_force(container) == 1


def test_a_draft_gets_a_time_is_shown_everywhere_and_can_be_cancelled(container, pia):
    draft = a_draft(container)
    given = {"at": "2026-03-02T08:00", "base": "1"}
    asked = pia.post(url("policy-version-schedule", container.uid, draft.number), given, follow=True)
    sent = dict(re.findall(r'<input type="hidden" name="([a-z_]+)" value="([^"]*)"', asked.content.decode()))
    pia.post(url("policy-version-schedule", container.uid, draft.number), sent)
    run = preview(container)

    draft.refresh_from_db()
    assert (draft.status, draft.publish_at) == (PolicyStatus.SCHEDULED, NOON + days(20 / 24))
    for view, *args in (("policy-detail", container.uid), ("policy-versions", container.uid), ("policy-version", container.uid, 2)):
        assert "2026-03-02 08:00:00 UTC" in words(pia.get(url(view, *args)))
    for view, *args in (("container-list",), ("run-detail", run.number)):
        assert "2026-03-02 08:00:00 UTC" in words(pia.get(url(view, *args))), view
    assert "Policy version 2 of pharmacy comes into force on 02 Mar 2026, 08:00 UTC." in words(pia.get(url("overview")))
    assert "is a draft again" in words(pia.post(url("policy-version-unschedule", container.uid, 2), follow=True))


@pytest.mark.parametrize("at", ["", "soon", "2026-02-30T10:00", "2026-02-28T10:00", "2099-01-01T00:00"])
def test_a_time_that_cannot_be_is_refused_beside_the_field(container, pia, at):
    draft = a_draft(container)

    response = pia.post(url("policy-version-schedule", container.uid, draft.number), {"at": at, "base": "1"})

    assert response.status_code == 422
    assert 'id="error_at"' in words(response)


def test_what_was_refused_at_its_time_says_why(container, pia):
    draft = a_draft(container)
    drafts.schedule(container, draft.number, at=NOON + days(1), base=1, seen=draft.digest, actor=ACTOR, now=NOON)
    configuration.change("retention_enabled", False, actor=ACTOR, now=NOON)
    drafts.publish_due(draft.pk, actor="job/publish-policy", now=NOON + days(1))

    assert "it could not come into force: retention was off" in words(pia.get(url("policy-version", container.uid, 2)))
    assert "could not come into force" in words(pia.get(url("overview")))


def test_a_dropped_draft_stays_readable_and_can_be_neither_edited_nor_published(container, pia):
    draft = a_draft(container)
    pia.post(url("policy-version-drop", container.uid, draft.number))

    page = words(pia.get(url("policy-version", container.uid, draft.number)))
    assert "dropped" in page
    assert "Publish this draft" not in page
    assert pia.get(url("policy-detail", container.uid), {"draft": draft.number}).status_code == 404
    assert pia.post(url("policy-version-preview", container.uid, draft.number)).status_code == 404


@pytest.mark.parametrize("number", ["x", "-1", "99", "9" * 40, ""])
def test_an_address_of_no_draft_is_not_found(container, pia, number):
    assert pia.get(url("policy-detail", container.uid), {"draft": number}).status_code == 404


def test_any_two_versions_are_compared_in_words(container, pia):
    publish(container, a_policy(relevance={"max_records": 400}, sessions={"retention_days": 30}))
    a_draft(container, 7)

    page = words(pia.get(url("policy-compare", container.uid), {"old": "2", "new": "1"}))
    usual = words(auditor().get(url("policy-compare", container.uid)))
    part = words(pia.get(url("policy-compare", container.uid), {"old": "1", "new": "2"}, headers=HTMX))

    assert "A user keeps at most 9 memories instead of 400." in page
    assert "Sessions no longer go by age; so far they went 30 days after their last change." in page
    assert "What version 3 changes in version 2" in usual
    assert part.startswith('<div id="compare"')
    assert pia.get(url("policy-compare", container.uid), {"old": "99"}).status_code == 404


def test_without_a_policy_in_force_a_draft_is_compared_with_none_and_without_any_version_there_is_nothing_to_choose(pia):
    container = make_container("new")
    nothing = words(pia.get(url("policy-compare", container.uid)))
    a_draft(container, 7)

    page = words(pia.get(url("policy-compare", container.uid)))

    assert "There is no version yet." in nothing
    assert "<select" not in nothing
    assert '<option value="" selected>No policy</option>' in page
    assert "What version 1 says, where no policy is in force" in page


def test_a_policy_is_copied_to_chosen_containers_as_drafts_with_their_numbers(container, pia):
    one, two = make_container("one"), make_container("two")
    fill(one, 12)

    offered = words(pia.get(url("policy-version-copy", container.uid, 1)))
    none = pia.post(url("policy-version-copied", container.uid, 1), {})
    done = words(
        pia.post(url("policy-version-copied", container.uid, 1), {"container": [str(one.uid), str(two.uid), "nonsense"]}, follow=True)
    )

    assert "one" in offered
    assert none.status_code == 422
    assert PolicyVersion.objects.filter(copied_from__container=container).count() == 2
    assert re.search(r"<bdi>one</bdi>.*?Draft, version 1.*?>3<", done)
    assert "Copied from version 1 of" in words(pia.get(url("policy-version", one.uid, 1)))


def test_nobody_copies_into_a_container_that_they_may_not_see(container):
    hidden = make_container("hidden")
    browser = a_browser_of(Role.POLICY_EDITOR, login="eve", containers=[container])

    response = browser.post(url("policy-version-copied", container.uid, 1), {"container": [str(hidden.uid)]})

    assert response.status_code == 422
    assert not PolicyVersion.objects.filter(container=hidden).exists()


def test_a_copy_says_what_is_in_its_way_and_leads_to_each_draft(container, pia):
    same, other, out = (make_container(name) for name in ("same", "other", "out"))
    publish(same, a_policy(relevance={"max_records": 9}))
    policies.save_draft(other, a_policy(long_term={"retention_days": 5}), actor=ACTOR, now=NOON)
    policies.opt_out(out, actor=ACTOR, now=NOON, base=None)
    policies.save_draft(out, a_policy(relevance={"max_records": 9}), actor=ACTOR, now=NOON)

    page = words(
        pia.post(url("policy-version-copied", container.uid, 1), {"container": [str(each.uid) for each in (same, other, out)]}, follow=True)
    )

    assert "Version 1 in force there says the same: there is nothing to publish." in page
    assert "1 other draft waits there." in page
    assert "A draft of this content was there already, and no second one was made." in page
    assert "This container has opted out: publishing ends that." in page
    made = PolicyVersion.objects.filter(status=PolicyStatus.DRAFT, document__contains='"max_records":9').select_related("container")
    assert [version for version in made if url("policy-version", version.container.uid, version.number) not in page] == []
    assert made.count() == 3


@pytest.mark.parametrize(
    "view",
    ["policy-version-preview", "policy-version-drop", "policy-version-schedule", "policy-version-unschedule", "policy-version-copied"],
)
def test_drafts_are_changed_by_post_alone_and_only_with_the_right(container, pia, view):
    a_draft(container)

    assert pia.get(url(view, container.uid, 2)).status_code == 405
    assert auditor().post(url(view, container.uid, 2), {**SURE, "base": "1"}).status_code == 403
    assert PolicyVersion.objects.get(number=2).status == PolicyStatus.DRAFT


def in_words(document):
    return parse_policy({"relevance": None, **document})


def test_a_preview_of_unchanged_values_belongs_to_the_version_in_force_whatever_it_says_with_null(pia):
    switch_on()
    container = make_container("spelt by a client")
    document = {"retention": {"history": {"retention_days": None, "max_count": 7}}, "relevance": {"half_life_hours": 100}}
    version = publish(container, in_words(document))

    pia.post(url("policy-preview", container.uid), fields_of(pia.get(url("policy-detail", container.uid))))

    run = Run.objects.get()
    assert (run.policy_version, run.policy_digest) == (version, version.digest)


def test_a_preview_of_an_unchanged_draft_belongs_to_it_whatever_it_says_with_null(container, pia):
    spelt = in_words({"retention": {"sessions": {"retention_days": 90, "max_count": None}}})
    draft = policies.save_draft(container, spelt, actor=ACTOR, now=NOON)

    pia.post(url("policy-preview", container.uid), fields_of(pia.get(url("policy-detail", container.uid), {"draft": draft.number})))

    run = Run.objects.get()
    assert (run.policy_version, run.policy_digest) == (draft, draft.digest)


def test_a_null_for_which_the_form_has_no_field_is_kept(pia):
    switch_on()
    container = make_container("spelt by a client")
    publish(container, in_words({"retention": {"history": {"retention_days": None, "max_count": 7}}}))
    opened = fields_of(pia.get(url("policy-detail", container.uid)))

    pia.post(url("policy-draft", container.uid), {**opened, "history_count": "8"})

    [draft] = PolicyVersion.objects.filter(container=container, status=PolicyStatus.DRAFT)
    assert policies.parse(draft) == in_words({"retention": {"history": {"retention_days": None, "max_count": 8}}})
