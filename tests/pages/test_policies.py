import html
import re

import pytest
from django.urls import reverse

from memadmin.access.roles import Role
from memadmin.audit.actions import Action
from memadmin.audit.models import AuditEntry
from memadmin.lifecycle.models import Run, RunVictim
from memadmin.store import configuration, policies
from memadmin.store.models import PolicyVersion
from retention.policy import parse_policy
from tests.factories import ACTOR, NOON, a_memory, a_pin, days, make_container, make_session, store
from tests.people import HTMX, a_browser_of, auditor, editor, support

pytestmark = pytest.mark.django_db
FORM = {
    "base": "",
    "sessions_days": "90",
    "sessions_count_none": "on",
    "long_term_days_none": "on",
    "long_term_count_none": "on",
    "history_count_none": "on",
    "use_relevance": "on",
    "ttl_days": "365",
    "max_records": "2",
    "max_tokens_none": "on",
    "half_life_days": "30",
    "recency": "0.4",
    "frequency": "0.2",
    "importance": "0.4",
}

SURE = {"sure": "yes"}


@pytest.fixture(autouse=True)
def _at_noon(time_machine):
    time_machine.move_to(NOON, tick=False)


@pytest.fixture
def container(db):
    configuration.change("retention_enabled", True, actor=ACTOR, now=NOON)
    container = make_container()
    store(
        container,
        a_memory("canary old", days_old=400),
        a_memory("pinned old", days_old=400, pin=a_pin()),
        *(a_memory(f"fact {number}", importance=number / 10) for number in range(4)),
    )
    make_session(container, "s-old", days_old=100, messages=2)
    return container


def url(view, *args):
    return reverse(f"pages:{view}", args=args)


def text_of(response):
    return html.unescape(response.content.decode())


def digest_of(container, number):
    return PolicyVersion.objects.get(container=container, number=number).digest


def publish(container, document, base=None):
    return policies.publish(container, parse_policy(document), actor=ACTOR, now=NOON, base=base)


def test_a_container_that_never_had_a_policy_shows_the_usual_values_and_says_that_nothing_acts(container):
    page = text_of(editor().get(url("policy-detail", container.uid)))

    assert "No policy has ever been set here" in page
    assert re.search(r'name="ttl_days" value="365"', page)


def test_typing_refreshes_sentence_and_estimate_and_stores_nothing(container):
    response = editor().get(url("policy-detail", container.uid), FORM, headers=HTMX)

    page = text_of(response)
    assert page.lstrip().startswith('<section id="effect"')
    assert "Sessions, with their messages, go when 90 days have passed since their last change." in page
    assert "no user keeps more than 2 memories" in page
    assert "Would evict <strong>5</strong> items of 1 user" in page
    assert "1 past a limit and kept by a pin" in page
    assert Run.objects.count() == 0


def test_an_estimate_works_without_javascript(container):
    page = text_of(editor().get(url("policy-detail", container.uid), FORM))

    assert "<html" in page
    assert "Would evict <strong>5</strong> items" in page


def test_a_policy_editor_sees_victims_without_their_text_and_support_may_not_edit(container):
    editors = text_of(editor().get(url("policy-detail", container.uid), FORM))

    assert "canary" not in editors
    assert support().post(url("policy-preview", container.uid), FORM).status_code == 403


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("sessions_days", "0"),
        ("sessions_days", "-1"),
        ("sessions_days", ""),
        ("sessions_days", "0.5"),
        ("sessions_days", "1e9"),
        ("sessions_days", "999999999999"),
        ("sessions_days", "\u0663\u0660"),
        ("ttl_days", "86400"),
        ("max_records", "none"),
        ("recency", "0.9"),
        ("recency", "nan"),
        ("half_life_days", "0"),
        ("half_life_days", "inf"),
    ],
)
def test_a_wrong_value_comes_back_beside_its_field_with_what_to_do(container, field, value):
    response = editor().post(url("policy-preview", container.uid), {**FORM, field: value})

    assert response.status_code == 422
    assert "field-error" in text_of(response)
    assert Run.objects.count() == 0


def test_a_number_beside_the_tick_no_limit_is_an_error_that_loses_nothing(container):
    response = editor().post(url("policy-preview", container.uid), {**FORM, "max_records_none": "on"})

    page = text_of(response)
    assert response.status_code == 422
    assert "has a number of memories and the tick “no limit” at once. Take the tick away, or empty the number." in page
    assert 'name="max_records" value="2"' in page
    assert 'name="max_records_none" checked' in page
    assert 'name="sessions_days" value="90"' in page


@pytest.mark.parametrize("value", ["0", "-3", "4000", "soon", ""])
def test_the_error_of_the_half_life_speaks_of_days(container, value):
    page = text_of(editor().post(url("policy-preview", container.uid), {**FORM, "half_life_days": value}))

    assert "The half-life is a number of days above 0, up to 3,650 (10 years)." in page
    assert "hours" not in page


def test_the_sentences_tell_the_weights_and_the_half_life(container):
    page = text_of(editor().get(url("policy-detail", container.uid), {**FORM, "half_life_days": "1.5"}))

    assert "Scores weigh recency 0.4, frequency 0.2 and importance 0.4; recency halves after 1.5 days without a recall." in page


def test_the_first_victims_of_an_estimate_are_of_each_type(container):
    for number in range(12):
        make_session(container, f"s-{number}", days_old=100)

    page = text_of(editor().get(url("policy-detail", container.uid), FORM))

    assert "Sessions: the first 6 of 13" in page
    assert "Long-term memories: all 4" in page


def test_a_preview_is_numbered_and_names_its_victims_by_reason_and_user(container):
    response = editor().post(url("policy-preview", container.uid), FORM, follow=True)

    run = Run.objects.get()
    page = text_of(response)
    assert response.redirect_chain == [(url("run-detail", run.number), 302)]
    assert run.planned == RunVictim.objects.of_run(run).count() == 5
    assert "Names <strong>5</strong> items of 1 user" in page
    assert "Past its time to live" in page
    assert "1 past a limit and kept by a pin" in page
    assert "<bdi>ann</bdi></a>" in page


def test_the_victims_can_be_narrowed_to_one_reason(container):
    client = editor()
    client.post(url("policy-preview", container.uid), FORM)

    page = text_of(client.get(url("run-detail", Run.objects.get().number), {"reason": "ttl"}))

    assert ">1 victim<" in page


def test_a_preview_of_an_unpublished_policy_leads_back_to_the_form_with_its_values(container):
    publish(container, {"retention": {"sessions": {"retention_days": 30, "max_count": None}}})
    client = editor()
    page = text_of(client.post(url("policy-preview", container.uid), FORM, follow=True))
    assert "It cannot be carried out:" in page
    assert "Evict 5 items" not in page

    form = text_of(client.get(html.unescape(re.search(r'href="([^"]+)">Back to the form', page)[1])))

    assert re.search(r'name="sessions_days" value="90"', form)
    assert re.search(r'name="base" value="1"', form)
    assert "no user keeps more than 2 memories" in form


def test_an_administrator_sees_what_goes_and_not_whose_it_is(container):
    editor().post(url("policy-preview", container.uid), FORM)
    admin = a_browser_of(Role.ADMINISTRATOR, login="ali")

    for page in (url("run-detail", Run.objects.get().number), url("policy-detail", container.uid)):
        shown = text_of(admin.get(page))
        assert "past its time to live" in shown.casefold()
        assert ">ann<" not in shown


def test_support_sees_the_texts_of_victims(container):
    editor().post(url("policy-preview", container.uid), FORM)

    assert "canary old" in text_of(support().get(url("run-detail", Run.objects.get().number)))


def test_a_victim_can_be_pinned_from_the_preview_and_the_page_says_that_it_stays(container):
    client = editor()
    client.post(url("policy-preview", container.uid), FORM)
    run = Run.objects.get()
    victim = RunVictim.objects.of_run(run).filter(item_kind=2).order_by("seq").first()

    answer = client.post(url("memory-pin", victim.item_uid), {"reason": "needed", "part": "chip"}, headers=HTMX)

    assert answer.content.lstrip().startswith(f'<div id="pin-{victim.item_uid}"'.encode())
    assert "1 was pinned since the preview" in text_of(client.get(url("run-detail", run.number)))


def test_publishing_makes_a_version_and_the_next_editor_sees_a_conflict_with_both(container):
    first, second = editor(), a_browser_of(Role.POLICY_EDITOR, login="piet")
    first.post(url("policy-publish", container.uid), {**FORM, "note": "shorter", **SURE})

    late = second.post(url("policy-publish", container.uid), {**FORM, "sessions_days": "30"})

    page = text_of(late)
    assert late.status_code == 409
    assert policies.published(container).number == 1
    assert "Somebody else published version 1" in page
    assert "Theirs (version 1)" in page
    assert re.search(r"Sessions: age.*no limit.*90 days.*30 days", page, re.DOTALL)
    assert re.search(r'name="sessions_days" value="30"', page)


def test_publishing_asks_with_what_would_go_what_is_loud_and_what_it_replaces(container):
    publish(container, {"retention": {}})
    client = editor()

    page = text_of(client.post(url("policy-publish", container.uid), {**FORM, "base": "1", "note": "stricter"}, follow=True))
    assert policies.published(container).number == 1
    sent = dict(re.findall(r'<input type="hidden" name="([a-z_]+)" value="([^"]*)"', page))
    client.post(url("policy-publish", container.uid), sent)

    assert "Would evict <strong>5</strong> items of 1 user" in page
    assert "This would evict 4 of 6 long-term memories (67 %)." in page
    assert "From the next run on, 02 Mar 2026, 03:00 UTC, this policy is carried out in pharmacy. It replaces version 1." in page
    assert policies.published(container).note == "stricter"
    assert policies.current(container).relevance.max_records == 2


def test_who_does_not_publish_after_all_finds_the_form_as_it_was(container):
    client = editor()
    page = text_of(client.post(url("policy-publish", container.uid), {**FORM, "sessions_days": "77", "note": "try"}, follow=True))

    form = text_of(client.get(re.search(r'href="([^"]+)">Cancel', page)[1]))

    assert 'name="sessions_days" value="77"' in form
    assert 'name="note" maxlength="1000" value="try"' in form


def test_a_draft_that_somebody_else_has_published_is_not_published_again(container):
    client = editor()
    client.post(url("policy-draft", container.uid), FORM)
    client.post(url("policy-publish-draft", container.uid, 1), {"base": "", "digest": digest_of(container, 1), **SURE})

    late = text_of(client.post(url("policy-publish-draft", container.uid, 1), {"base": "1", **SURE}, follow=True))

    assert "There is no draft of version 1" in late
    assert policies.published(container).number == 1


def test_publishing_while_retention_is_off_is_refused_with_the_reason(container):
    configuration.change("retention_enabled", False, actor=ACTOR, now=NOON)

    response = editor().post(url("policy-publish", container.uid), FORM)

    assert response.status_code == 409
    assert "Retention is off" in text_of(response)
    assert PolicyVersion.objects.count() == 0


def test_a_draft_is_kept_and_can_be_published_later(container):
    client = editor()
    client.post(url("policy-draft", container.uid), {**FORM, "note": "try"})
    assert policies.published(container) is None

    asked = text_of(client.post(url("policy-publish-draft", container.uid, 1), {"base": ""}, follow=True))
    done = text_of(
        client.post(url("policy-publish-draft", container.uid, 1), {"base": "", "digest": digest_of(container, 1), **SURE}, follow=True)
    )

    assert "Publish version 1" in asked
    assert "in force again" not in asked
    assert "Version 1 is published." in done
    assert policies.published(container).number == 1
    assert PolicyVersion.objects.count() == 1
    assert not AuditEntry.objects.filter(action=Action.POLICY_ROLLED_BACK).exists()


def test_rolling_back_asks_for_the_version_that_was_seen(container):
    publish(container, {"retention": {"sessions": {"retention_days": 90, "max_count": None}}})
    publish(container, {"retention": {"sessions": {"retention_days": 30, "max_count": None}}}, base=1)
    client = editor()

    stale = client.post(url("policy-roll-back", container.uid, 1), {"base": "1"}, follow=True)
    asked = client.post(url("policy-roll-back", container.uid, 1), {"base": "2"}, follow=True)
    assert policies.published(container).number == 2
    fine = client.post(url("policy-roll-back", container.uid, 1), {"base": "2", **SURE}, follow=True)

    assert "It replaces version 2." in text_of(asked)
    assert "has changed meanwhile" in text_of(stale)
    assert "in force again, as version 3" in text_of(fine)


def test_opting_out_asks_first(container):
    publish(container, {"retention": {"sessions": {"retention_days": 90, "max_count": None}}})
    client = editor()

    asked = client.post(url("policy-opt-out", container.uid), {"base": "1"}, follow=True)
    assert policies.published(container) is not None
    client.post(url("policy-opt-out", container.uid), {"base": "1", "sure": "yes"})

    assert "Nothing of pharmacy will be evicted any more" in text_of(asked)
    assert "Version 1 goes out of force. What it would evict now stays: 1 item." in text_of(asked)
    assert policies.published(container) is None


def test_a_version_says_what_it_would_change(container):
    publish(container, {"retention": {"sessions": {"retention_days": 90, "max_count": None}}})
    publish(container, {"retention": {"sessions": {"retention_days": 30, "max_count": None}}}, base=1)

    page = text_of(auditor().get(url("policy-version", container.uid, 1)))

    assert "What it changes in version 2, in force now" in page
    assert "Sessions go 90 days after their last change instead of 30 days." in page


@pytest.mark.parametrize("view", ["policy-preview", "policy-draft", "policy-publish", "policy-opt-out"])
def test_policies_are_changed_by_post_alone_and_only_with_the_right(container, view):
    assert editor().get(url(view, container.uid)).status_code == 405
    assert auditor().post(url(view, container.uid), FORM).status_code == 403
    assert PolicyVersion.objects.count() == 0


def test_rules_that_do_nothing_are_named(container):
    shadowed = {**FORM, "long_term_days": "400", "ttl_days": "365"}
    del shadowed["long_term_days_none"]

    assert "takes only what the TTL takes as early" in text_of(editor().get(url("policy-detail", container.uid), shadowed))


def test_a_memory_exactly_at_its_limit_is_not_a_victim(db):
    configuration.change("retention_enabled", True, actor=ACTOR, now=NOON)
    container = make_container()
    store(container, a_memory("exact", created_at=NOON - days(365)))

    page = text_of(editor().get(url("policy-detail", container.uid), {**FORM, "max_records": "", "max_records_none": "on"}))

    assert "Nothing would go." in page


def test_a_preview_of_the_policy_in_force_can_be_carried_out_and_of_another_one_not(container):
    publish(container, {"retention": {"sessions": {"retention_days": 90}}, "relevance": None})
    client = editor()
    same = {
        "base": "1",
        "sessions_days": "90",
        **{f"{name}_none": "on" for name in ("sessions_count", "long_term_days", "long_term_count")},
    }
    same |= {"history_count_none": "on", **{f"{name}_none": "on" for name in ("ttl_days", "max_records", "max_tokens")}}

    as_published = client.post(url("policy-preview", container.uid), same, follow=True)
    other = client.post(url("policy-preview", container.uid), {**same, "sessions_days": "80"}, follow=True)

    assert Run.objects.order_by("number").first().policy_version.number == 1
    assert "version 1" in text_of(as_published)
    assert "It cannot be carried out: Preview" in text_of(other)
    assert client.post(url("run-start", Run.objects.order_by("number").last().number)).status_code == 302


def test_the_token_of_the_form_does_not_stay_in_the_address(container):
    response = editor().get(url("policy-detail", container.uid), {"base": "", "sessions_days": "9", "csrfmiddlewaretoken": "secret"})

    assert response.status_code == 302
    assert response["Location"] == f"{url('policy-detail', container.uid)}?base=&sessions_days=9"
