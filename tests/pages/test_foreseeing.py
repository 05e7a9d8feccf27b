"""What a setting would do is said before it is changed, with the numbers."""

import html

import pytest
from django.urls import reverse

from memadmin.access.roles import Role
from memadmin.lifecycle.models import Run
from memadmin.store import configuration, policies
from memadmin.store.models import Container, PolicyVersion
from tests.factories import ACTOR, NOON, a_message, days, make_container, store
from tests.lifecycle.second_people import two_approvers
from tests.people import HTMX, a_browser_of, auditor
from tests.runs import a_policy, fill, publish, switch_on

pytestmark = pytest.mark.django_db
NO_DEFAULTS = {
    f"{name}_none": "on"
    for name in (
        "default_session_retention_days",
        "default_session_max_count",
        "default_long_term_max_count",
        "default_history_max_count",
    )
}


@pytest.fixture(autouse=True)
def _at_noon(time_machine):
    time_machine.move_to(NOON, tick=False)


@pytest.fixture
def admin(db):
    return a_browser_of(Role.ADMINISTRATOR, login="ali")


def url(view, *args):
    return reverse(f"pages:{view}", args=args)


def words(response):
    return " ".join(html.unescape(response.content.decode()).split())


def value(key):
    return configuration.value(key)


def the_defaults(**limits):
    return {name: text for name, text in NO_DEFAULTS.items() if name.removesuffix("_none") not in limits} | limits


def test_turning_retention_on_says_what_would_go_and_what_would_wait(admin):
    two_approvers()
    switch_on()
    container = make_container()
    fill(container, 10)
    publish(container, a_policy(relevance={"max_records": 3}))
    configuration.change("retention_enabled", False, actor=ACTOR, now=NOON)

    asked = words(admin.post(url("setting-change", "retention_enabled"), {"value": "on"}, follow=True))
    assert value("retention_enabled") is False
    admin.post(url("setting-change", "retention_enabled"), {"value": "on", "sure": "yes"})

    assert "pharmacy: 7 items are a large run" in asked
    assert "waits until a second person has approved it" in asked
    assert value("retention_enabled") is True


def test_a_default_asks_with_the_containers_that_would_get_it(admin):
    switch_on()
    fill(make_container("new"), 20)

    asked = words(admin.post(url("setting-change", "default_long_term_max_count"), {"value": "19"}, follow=True))
    done = admin.post(url("setting-change", "default_long_term_max_count"), {"value": "19", "sure": "yes"})

    assert "1 item more would go at the next runs." in asked
    assert "new: 1 would go at the next run." in asked
    assert (done.status_code, value("default_long_term_max_count")) == (302, 19)


def test_a_lowered_limit_for_working_memories_asks_with_the_number(admin):
    two_approvers()
    switch_on()
    container = make_container(sessions_enabled=False)
    store(container, *(a_message(f"m{number}", session_ref=None, created_at=NOON - days(40)) for number in range(5)))

    asked = words(admin.post(url("setting-change", "working_memory_ttl_days"), {"value": "30"}, follow=True))

    assert value("working_memory_ttl_days") == -1
    assert "pharmacy: 5 items are a large run" in asked
    assert Run.objects.count() == 0


def test_what_takes_nothing_more_is_changed_at_once(admin):
    switch_on()

    admin.post(url("setting-change", "working_memory_ttl_days"), {"value": "30"})
    admin.post(url("setting-change", "orphan_ttl_days"), {"value": "9"})

    assert (value("working_memory_ttl_days"), value("orphan_ttl_days")) == (30, 9)


def test_raising_a_bound_of_the_second_person_asks_and_lowering_it_does_not(admin):
    asked = words(admin.post(url("setting-change", "approval_items"), {"value": "5000"}, follow=True))
    before = value("approval_items")
    admin.post(url("setting-change", "approval_items"), {"value": "5000", "sure": "yes"})
    admin.post(url("setting-change", "approval_percent"), {"value": "5"})

    assert "larger runs go without one" in asked
    assert (before, value("approval_items"), value("approval_percent")) == (1_000, 5_000, 5)


def test_a_wrong_value_is_refused_before_anything_is_asked(admin):
    assert admin.post(url("setting-change", "orphan_ttl_days"), {"value": "0"}).status_code == 422


def test_the_defaults_page_says_what_they_mean_and_whom_they_would_reach(admin):
    switch_on()
    fill(make_container("new"), 12)
    publish(make_container("governed"), a_policy())

    page = words(admin.get(url("default-policy")))
    tried = words(admin.get(url("default-policy"), the_defaults(default_long_term_max_count="2"), headers=HTMX))

    assert "There are no defaults" in page
    assert "Containers without a policy (1)" in page
    assert "no user keeps more than 500 memories or 40,000 tokens" in page
    assert "Long-term memories go when there are more than 2 of them" in tried
    assert "would lose 10 now" in tried
    assert value("default_long_term_max_count") == -1


def test_changing_the_defaults_asks_with_numbers_and_then_changes_all_that_differ(admin):
    switch_on()
    fill(make_container("new"), 12)
    given = the_defaults(default_long_term_max_count="2", default_session_retention_days="90")

    asked = words(admin.post(url("default-policy-change"), given, follow=True))
    before = value("default_long_term_max_count")
    done = words(admin.post(url("default-policy-change"), {**given, "sure": "yes"}, follow=True))

    assert "new: 10 items are a large run" in asked
    assert (before, value("default_long_term_max_count"), value("default_session_retention_days")) == (-1, 2, 90)
    assert "The defaults are changed." in done


@pytest.mark.parametrize("text", ["0", "-1", "x", "1.5", "99999999999", "\u0663"])
def test_a_default_is_a_number_or_the_tick(admin, text):
    response = admin.post(url("default-policy-change"), the_defaults(default_long_term_max_count=text))
    both = admin.post(url("default-policy-change"), {**NO_DEFAULTS, "default_long_term_max_count": "5"})

    assert (response.status_code, both.status_code) == (422, 422)
    assert value("default_long_term_max_count") == -1


def test_the_defaults_are_read_by_all_who_see_policies_and_changed_by_administrators():
    assert auditor().get(url("default-policy")).status_code == 200
    assert a_browser_of(Role.POLICY_EDITOR).post(url("default-policy-change"), NO_DEFAULTS).status_code == 403


def test_inert_and_contradictory_rules_are_listed_over_all_containers(admin):
    switch_on()
    publish(make_container("no sessions", sessions_enabled=False), a_policy(sessions={"max_count": 5}))
    publish(make_container("no limits"), a_policy())
    publish(make_container("empty"), a_policy(history={"max_count": 5}))
    shadowed = a_policy(relevance={"ttl_days": 30}, long_term={"retention_days": 90})
    publish(make_container("shadowed"), shadowed)
    make_container("never")
    policies.opt_out(make_container("out"), actor=ACTOR, now=NOON, base=None)
    broken = make_container("broken")
    publish(broken, a_policy())
    PolicyVersion.objects.filter(container=broken).update(document='{"retention":{"dreams":{}}}')
    Container.objects.filter(name="shadowed").update(archive_days=2)

    page = words(admin.get(url("policy-findings")))

    for sentence in (
        "The rule for sessions finds no new ones: this container keeps no sessions.",
        "It keeps no sessions, and no limit for working memories is set",
        "This policy has no limit: it evicts nothing.",
        "There are rules for history, but none is stored, and the container has no strategy",
        "The TTL of 30 days counts from creation",
        "No policy, and there are no defaults",
        "Opted out: nothing is evicted",
        "The policy in force cannot be read",
        "can be restored for 2 days only",
    ):
        assert sentence in page


def test_the_list_is_narrowed_to_one_kind_and_to_what_one_may_see(admin):
    make_container("never")
    container = make_container("out")
    policies.opt_out(container, actor=ACTOR, now=NOON, base=None)

    narrowed = words(admin.get(url("policy-findings"), {"kind": "opted_out"}))
    hidden = words(a_browser_of(Role.POLICY_EDITOR, login="eve", containers=[container]).get(url("policy-findings")))
    odd = admin.get(url("policy-findings"), {"kind": "nonsense", "after": "x"})

    assert "<bdi>never</bdi>" not in narrowed
    assert "<bdi>never</bdi>" not in hidden
    assert odd.status_code == 200


def test_with_nothing_to_look_at_the_list_says_so(admin):
    assert "No rule needs a look" in words(admin.get(url("policy-findings")))


def test_settings_as_if_are_seen_by_nobody_else_and_end():
    with configuration.as_if({"orphan_ttl_days": 30}):
        inside = (configuration.value("orphan_ttl_days"), configuration.values()["orphan_ttl_days"])

    assert inside == (30, 30)
    assert (configuration.value("orphan_ttl_days"), configuration.values()["orphan_ttl_days"]) == (7, 7)


def test_an_estimate_of_the_defaults_without_scripts_keeps_the_token_out_of_the_address(admin):
    response = admin.get(url("default-policy"), {**NO_DEFAULTS, "csrfmiddlewaretoken": "secret"})

    assert response.status_code == 302
    assert "default_long_term_max_count_none" in response["Location"]
    assert "secret" not in response["Location"]
