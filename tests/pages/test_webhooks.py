import html
import re
import uuid

import pytest
from django.urls import reverse

from memadmin.access.roles import Role
from memadmin.audit.actions import Action
from memadmin.audit.models import AuditEntry
from memadmin.webhooks import sending, subscriptions
from memadmin.webhooks.models import Delivery, Event, State, Subscription
from memadmin.webhooks.subscriptions import SubscriptionSpec
from tests.factories import ACTOR, NOON, make_container
from tests.people import HTMX, a_browser_of, auditor, editor, support

pytestmark = pytest.mark.django_db
ADDRESS = "https://hooks.example.org/memadmin"


def administrator(**details):
    return a_browser_of(Role.ADMINISTRATOR, login="ali", **details)


def text_of(response):
    return html.unescape(response.content.decode())


def form_of(*containers, **details):
    given = {"url": ADDRESS, "events": ["run.finished"], "reach": "some"}
    return {**given, "containers": [str(container.uid) for container in containers], **details}


def create(browser, form):
    return browser.post(reverse("pages:webhook-create"), form, follow=True)


def a_webhook(*containers):
    spec = SubscriptionSpec(url=ADDRESS, events=[Event.RUN_FINISHED.value], containers=containers or None)
    return subscriptions.subscribe(spec, actor=ACTOR, now=NOON)[0]


def a_message(webhook, **details):
    return Delivery.objects.create(
        subscription=webhook, event=Event.RUN_FINISHED, body="{}", **{"created_at": NOON, "due_at": NOON, **details}
    )


def detail(webhook, **query):
    return reverse("pages:webhook-detail", args=[webhook.uid], query=query or None)


def test_a_new_webhook_shows_its_secret_once():
    browser, container = administrator(), make_container()

    answer = create(browser, form_of(container))

    secret = re.search(r"whsec_[\w-]+", text_of(answer))
    webhook = Subscription.objects.get()
    assert secret
    assert secret[0] == webhook.secret
    assert "no-store" in answer["Cache-Control"]
    assert (webhook.url, webhook.events, list(webhook.containers.all())) == (ADDRESS, ["run.finished"], [container])
    assert AuditEntry.objects.filter(action=Action.WEBHOOK_CREATED).exists()
    for page in (reverse("pages:webhook-list"), detail(webhook)):
        assert ADDRESS in text_of(browser.get(page))
        assert secret[0] not in text_of(browser.get(page))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"url": ""}, "This field is required."),
        ({"url": "ftp://x"}, "The address begins with https://"),
        ({"url": "http://hooks.example.org"}, "The address begins with https://"),
        ({"url": "https://ann:pw@hooks.example.org"}, "without a user"),
        ({"events": []}, "Choose at least one event."),
        ({"events": ["everything"]}, "everything is not one of the available choices"),
        ({"containers": []}, "Choose at least one container."),
        ({"containers": ["x"]}, "x is not one of the available choices"),
    ],
)
def test_a_form_that_cannot_be_used_says_why_and_makes_nothing(change, words):
    answer = create(administrator(), {**form_of(make_container()), **change})

    assert answer.status_code == 422
    assert words in text_of(answer)
    assert not Subscription.objects.exists()


def test_who_does_not_see_a_container_subscribes_nobody_to_it_and_sees_no_webhook_of_it():
    mine, theirs = make_container("mine"), make_container("theirs")
    browser = administrator(containers=[mine])
    own, foreign, wide = a_webhook(mine), a_webhook(theirs), a_webhook()

    assert create(browser, form_of(theirs)).status_code == 422
    assert create(browser, form_of(reach="all")).status_code == 422
    assert browser.get(detail(own)).status_code == 200
    assert [browser.get(detail(other)).status_code for other in (foreign, wide)] == [404, 404]
    assert text_of(browser.get(reverse("pages:webhook-list"))).count(ADDRESS) == 1


@pytest.mark.parametrize("browser_of", [support, editor, auditor])
def test_only_administrators_see_webhooks(browser_of):
    webhook, browser = a_webhook(), browser_of()

    assert browser.get(reverse("pages:webhook-list")).status_code == 403
    assert browser.post(reverse("pages:webhook-delete", args=[webhook.uid]), {"sure": "yes"}).status_code == 403
    assert Subscription.objects.exists()


def test_the_page_tells_what_became_of_each_message():
    webhook, browser = a_webhook(), administrator()
    sending.note(a_message(webhook), status=None, error_code="TimeoutError", now=NOON)
    sending.note(a_message(webhook), status=204, error_code="", now=NOON)
    a_message(webhook, state=State.FAILED, attempts=8, status=500, ended_at=NOON)

    whole, failed = text_of(browser.get(detail(webhook))), browser.get(detail(webhook, state="failed"), headers=HTMX)

    assert all(words in whole for words in ("TimeoutError", "status 204", "status 500", "on its way", "delivered", "given up"))
    assert text_of(failed).lstrip().startswith('<div id="deliveries"')
    assert "status 500" in text_of(failed)
    assert "status 204" not in text_of(failed)
    overview = text_of(browser.get(reverse("pages:webhook-list")))
    assert "last attempt: status 500" in overview
    assert "1 given up" in overview


def test_a_state_without_messages_has_a_way_back():
    webhook, browser = a_webhook(), administrator()

    assert "Nothing has happened yet" in text_of(browser.get(detail(webhook)))
    assert "No message is in this state" in text_of(browser.get(detail(webhook, state="failed")))
    assert browser.get(detail(webhook, state="\x00odd")).status_code == 200


def test_containers_whose_names_look_alike_are_told_apart_in_the_list_and_on_the_page():
    here, there = make_container("shop"), make_container("Shop")
    webhook, browser = a_webhook(here), administrator()

    for page in (browser.get(reverse("pages:webhook-list")), browser.get(detail(webhook))):
        assert f"shop ({str(here.uid)[:8]}…)" in text_of(page)
        assert str(there.uid)[:8] not in text_of(page)


def test_a_webhook_is_paused_and_resumed():
    webhook, browser = a_webhook(), administrator()

    for enabled in ("off", "on"):
        answer = browser.post(reverse("pages:webhook-switch", args=[webhook.uid]), {"enabled": enabled}, follow=True)
        webhook.refresh_from_db()
        assert (answer.status_code, webhook.enabled) == (200, enabled == "on")
    assert AuditEntry.objects.filter(action__in=[Action.WEBHOOK_PAUSED, Action.WEBHOOK_RESUMED]).count() == 2


def test_a_webhook_is_deleted_after_a_question():
    webhook, browser = a_webhook(), administrator()
    address = reverse("pages:webhook-delete", args=[webhook.uid])

    question = browser.post(address, follow=True)
    assert "Delete the webhook" in text_of(question)
    assert Subscription.objects.exists()

    assert browser.post(address, {"sure": "yes"}).status_code == 302
    assert not Subscription.objects.exists()
    assert browser.post(address, {"sure": "yes"}).status_code == 404


@pytest.mark.parametrize("name", ["switch", "delete"])
def test_verbs_are_posted(name):
    browser, webhook = administrator(), a_webhook()

    assert browser.get(reverse(f"pages:webhook-{name}", args=[webhook.uid])).status_code == 405
    assert browser.get(reverse("pages:webhook-create")).status_code == 405
    assert browser.post(reverse(f"pages:webhook-{name}", args=[uuid.uuid4()]), {"sure": "yes"}).status_code == 404


def test_the_list_without_webhooks_says_what_they_are_for():
    assert "No webhooks yet" in text_of(administrator().get(reverse("pages:webhook-list")))
