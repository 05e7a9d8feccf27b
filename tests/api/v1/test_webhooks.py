import pytest

from memadmin.access.scopes import Scope
from memadmin.store import policies
from memadmin.webhooks import telling
from memadmin.webhooks.models import Subscription
from tests.api.v1.calls import caller_of, problem, said
from tests.factories import ACTOR, NOON, make_container
from tests.runs import a_policy, switch_on

pytestmark = pytest.mark.django_db
NEW = {"url": "https://hooks.example.org/in", "events": ["policy.published", "run.finished"]}


@pytest.fixture
def api(db):
    return caller_of("root", all_access=True)


def test_a_subscription_is_made_shown_paused_and_ended(api):
    make_container(external_id="c1")
    made = said(api.post("/webhooks", {**NEW, "containers": ["c1"]}), 201)
    one = f"/webhooks/{made['uid']}"

    paused = said(api.call("PATCH", one, {"enabled": False}))

    assert made["secret"].startswith("whsec_")
    assert (paused["enabled"], paused["containers"], paused["events"]) == (False, ["c1"], NEW["events"])
    assert said(api.get("/webhooks"))["items"] == [paused]
    assert "secret" not in said(api.get(one))
    assert api.call("DELETE", one).status_code == 204
    assert problem(api.get(one))[0] == 404


def test_the_same_request_again_makes_no_second_subscription_and_shows_no_secret(api):
    first = said(api.post("/webhooks", NEW, Idempotency_Key="k"), 201)
    again = said(api.post("/webhooks", NEW, Idempotency_Key="k"), 201)

    assert (again["uid"], again["secret"]) == (first["uid"], None)
    assert Subscription.objects.count() == 1


def test_what_was_sent_is_listed_without_its_body(api):
    made = said(api.post("/webhooks", NEW), 201)
    switch_on()
    policies.publish(make_container(), a_policy(), actor=ACTOR, now=NOON, base=None)
    telling.tell(Subscription.objects.get(), now=NOON)

    [delivery] = said(api.get(f"/webhooks/{made['uid']}/deliveries"))["items"]

    assert (delivery["event"], delivery["state"], delivery["attempts"]) == ("policy.published", "pending", 0)
    assert "body" not in delivery


def test_a_token_for_some_containers_sees_and_makes_subscriptions_for_these_alone(api):
    mine, other = make_container("mine", external_id="c1"), make_container("other", external_id="c2")
    for containers in (["c1"], ["c2"], ["c1", "c2"]):
        said(api.post("/webhooks", {**NEW, "containers": containers}), 201)
    said(api.post("/webhooks", NEW), 201)
    limited = caller_of("root", all_access=True, containers=[mine])

    assert [one["containers"] for one in said(limited.get("/webhooks"))["items"]] == [["c1"]]
    assert problem(limited.post("/webhooks", NEW))[::2] == (400, "containers")
    assert problem(limited.post("/webhooks", {**NEW, "containers": ["c2"]}))[0] == 404
    assert other.pk != mine.pk


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({**NEW, "url": "http://hooks.example.org"}, "url"),
        ({**NEW, "url": "https://10.0.0.1:99999/"}, "url"),
        ({**NEW, "events": []}, "events"),
        ({**NEW, "events": ["everything"]}, "events.0"),
        ({**NEW, "secret": "mine"}, "secret"),
        ({"events": ["run.finished"]}, "url"),
    ],
)
def test_what_cannot_be_subscribed_is_refused_by_field(api, body, field):
    assert problem(api.post("/webhooks", body))[::2] == (400, field)


def test_an_agent_may_not_subscribe():
    assert problem(caller_of("ana").get("/webhooks"))[0] == 403
    assert problem(caller_of("root", all_access=True, scopes=[Scope.MEMORY_READ]).post("/webhooks", NEW))[0] == 403
