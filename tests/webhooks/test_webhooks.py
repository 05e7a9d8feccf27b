"""From what happens to what a receiver hears of it."""

import hashlib
import hmac
import json
import socket
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pytest
from django.db import connection

from memadmin.audit.actions import Action
from memadmin.audit.models import AuditEntry
from memadmin.jobs import tasks as minute
from memadmin.jobs.models import Job
from memadmin.jobs.runner import run_inline
from memadmin.lifecycle import verifying
from memadmin.lifecycle.models import Run
from memadmin.outbound import posting
from memadmin.store.models import Container, LongTermMemory
from memadmin.webhooks import sending, subscriptions, telling
from memadmin.webhooks.models import Delivery, Event, State, Subscription
from memadmin.webhooks.subscriptions import BadSubscription, SubscriptionSpec
from memadmin.webhooks.tasks import WEBHOOKS, start_webhooks
from tests import sources
from tests.audit_protection import lifted
from tests.factories import ACTOR, NOON, days, make_container
from tests.runs import a_policy, carry_out, fill, governed, pin, preview, publish, switch_on
from tests.webhooks.conftest import Receiver

pytestmark = pytest.mark.django_db
OLD = a_policy(long_term={"retention_days": 2})


def subscribe(url: str, *events: Event, containers: Sequence[Container] | None = None) -> Subscription:
    spec = SubscriptionSpec(url=url, events=[event.value for event in events or Event], containers=containers)
    return subscriptions.subscribe(spec, actor=ACTOR, now=NOON)[0]


def deliver(now: Any = NOON) -> None:
    start_webhooks(now=now)
    for job in Job.objects.filter(kind=WEBHOOKS, state="queued"):
        run_inline(job, now=now)


def heard(receiver: Receiver) -> list[dict[str, Any]]:
    return [json.loads(body) for body in receiver.bodies]


def evicting(container: Container) -> Run:
    fill(container, 5)
    return carry_out(preview(container))


def test_a_published_policy_is_told_with_its_version(receiver: Receiver):
    switch_on()
    container = make_container()
    subscribe(receiver.url)

    publish(container, OLD)
    deliver()

    (told,) = heard(receiver)
    assert (told["event"], told["container"], told["data"]) == ("policy.published", str(container.uid), {"version": 1})
    assert Delivery.objects.get().state == State.DELIVERED


def test_a_run_tells_its_end_and_what_it_evicted_by_uid_and_reason(receiver: Receiver):
    container = governed(OLD)
    fill(container, 5)
    by_age = {str(memory.uid): memory for memory in LongTermMemory.objects.all()}
    run = preview(container)
    spared = LongTermMemory.objects.earliest("created_at")
    pin(spared)
    subscribe(receiver.url)

    carry_out(run)
    deliver()

    finished, evicted = heard(receiver)
    left = {str(uid) for uid in LongTermMemory.objects.values_list("uid", flat=True)}
    assert finished["data"] == {"run": run.number, "state": "finished", "evicted": 2, "kept": 1}
    assert {item["id"] for item in evicted["data"]["items"]} == by_age.keys() - left
    assert {(item["type"], item["reason"]) for item in evicted["data"]["items"]} == {("long-term", "age")}
    assert "fact" not in json.dumps(heard(receiver))
    assert "ann" not in json.dumps([told["data"] for told in heard(receiver)])


def test_a_large_run_is_told_in_parts_each_item_once(receiver: Receiver, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(telling, "ITEMS_IN_ONE", 2)
    monkeypatch.setattr(telling, "PARTS_AT_ONCE", 1)
    container = governed(a_policy(long_term={"retention_days": 1}))
    subscribe(receiver.url)

    evicting(container)
    deliver()

    parts = [told["data"]["items"] for told in heard(receiver) if told["event"] == "memory.evicted"]
    assert [len(part) for part in parts] == [2, 2]
    assert len({item["id"] for part in parts for item in part}) == 4
    assert [told["event"] for told in heard(receiver)].count("run.finished") == 1


def test_the_signature_proves_body_and_time(receiver: Receiver):
    container = governed(OLD)
    subscription, secret = subscriptions.subscribe(
        SubscriptionSpec(url=receiver.url, events=["policy.published"], containers=None), actor=ACTOR, now=NOON
    )

    publish(container, OLD)
    deliver()

    seconds = int(NOON.timestamp())
    expected = hmac.new(secret.encode(), f"{seconds}.".encode() + receiver.bodies[0], hashlib.sha256).hexdigest()
    assert receiver.headers[0][posting.SIGNATURE] == f"t={seconds},v1={expected}"
    assert receiver.headers[0]["X-Memadmin-Delivery"] == heard(receiver)[0]["id"]
    assert receiver.headers[0]["Host"] == receiver.url.split("/")[2]
    assert subscription.secret == secret


def test_only_the_events_and_containers_that_were_asked_for_are_told(receiver: Receiver):
    watched, other = governed(OLD, "watched"), governed(OLD, "other")
    subscribe(receiver.url, Event.RUN_FINISHED, containers=[watched])

    evicting(other)
    evicting(watched)
    publish(watched, a_policy(long_term={"retention_days": 9}))
    deliver()

    assert [(told["event"], told["container"]) for told in heard(receiver)] == [("run.finished", str(watched.uid))]


def test_what_happened_before_the_subscription_is_not_told(receiver: Receiver):
    container = governed(OLD)
    evicting(container)

    subscribe(receiver.url)
    deliver()

    assert receiver.bodies == []


@pytest.mark.parametrize("status", [301, 400, 500])
def test_an_answer_that_is_no_success_is_tried_again_later(status: int, receiver: Receiver):
    receiver.statuses = [status, 204]
    switch_on()
    subscribe(receiver.url)
    publish(make_container(), OLD)

    deliver()
    deliver(NOON + posting.WAITS[0] / 2)
    waiting = Delivery.objects.get()
    deliver(NOON + posting.WAITS[0])

    assert (waiting.state, waiting.attempts, waiting.status) == (State.PENDING, 1, status)
    assert Delivery.objects.get().state == State.DELIVERED
    assert len(receiver.bodies) == 2
    assert heard(receiver)[0]["id"] == heard(receiver)[1]["id"]


def test_an_address_that_never_answers_is_paused_and_goes_on_where_it_stopped(receiver: Receiver):
    receiver.statuses = [500]
    switch_on()
    container = make_container()
    subscription = subscribe(receiver.url)
    publish(container, OLD)
    now = NOON
    for wait in (*posting.WAITS, days(0)):
        deliver(now)
        now += wait
    publish(container, a_policy(long_term={"retention_days": 9}), now=now)
    deliver(now)
    subscription.refresh_from_db()
    paused = AuditEntry.objects.get(action=Action.WEBHOOK_PAUSED)
    assert (subscription.enabled, paused.actor, paused.reason_code) == (False, "job/webhooks", "no_answer")
    assert len(receiver.bodies) == len(posting.WAITS) + 1

    receiver.statuses = [200]
    subscriptions.switch(subscription, enabled=True, actor=ACTOR, now=now)
    deliver(now)

    assert heard(receiver)[-1]["data"] == {"version": 2}


def test_a_dead_address_keeps_no_other_waiting(receiver: Receiver):
    switch_on()
    subscribe("http://localhost:9/nobody")
    subscribe(receiver.url)

    publish(make_container(), OLD)
    deliver()

    assert len(receiver.bodies) == 1
    assert Delivery.objects.get(state=State.PENDING).error_code == "ConnectError"


def test_an_ended_subscription_hears_nothing_more(receiver: Receiver):
    switch_on()
    subscription = subscribe(receiver.url)
    publish(make_container(), OLD)
    telling.tell(subscription, now=NOON)

    subscriptions.unsubscribe(subscription, actor=ACTOR, now=NOON)
    deliver()

    assert (receiver.bodies, Delivery.objects.count()) == ([], 0)
    assert AuditEntry.objects.filter(action=Action.WEBHOOK_DELETED).exists()


def test_the_minute_starts_nothing_when_there_is_nothing_to_tell(receiver: Receiver):
    subscription = subscribe(receiver.url)
    deliver()
    Job.objects.all().delete()

    minute.tick()

    assert not Job.objects.filter(kind=WEBHOOKS).exists()
    assert Subscription.objects.get().told_to >= subscription.told_to


def test_what_was_told_long_ago_is_dropped(receiver: Receiver):
    switch_on()
    container = make_container()
    subscribe(receiver.url)
    publish(container, OLD)
    deliver()

    publish(container, a_policy(long_term={"retention_days": 9}))
    deliver(NOON + days(31))

    assert [json.loads(delivery.body)["data"] for delivery in Delivery.objects.all()] == [{"version": 2}]


def test_an_answer_that_trickles_in_is_cut_off(settings: Any, monkeypatch: pytest.MonkeyPatch):
    settings.WEBHOOKS_TO_PRIVATE_NETWORKS = True
    monkeypatch.setattr(posting, "DEADLINE", 0.4)
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=_trickle, args=(server,), daemon=True)
        thread.start()
        delivery = _waiting(f"http://localhost:{server.getsockname()[1]}/hook")
        begun = time.monotonic()

        sending.send(delivery, now=NOON)

        assert time.monotonic() - begun < 20
    delivery.refresh_from_db()
    assert (delivery.state, delivery.attempts, delivery.error_code) == (State.PENDING, 1, "TimeoutError")


def _trickle(server: socket.socket) -> None:
    line, _ = server.accept()
    with line, suppress(OSError):
        for _ in range(1_000):
            line.sendall(b"H")
            time.sleep(0.05)


def _waiting(url: str) -> Delivery:
    subscription = subscribe(url, Event.RUN_FINISHED)
    return Delivery.objects.create(subscription=subscription, event=Event.RUN_FINISHED, body="{}", created_at=NOON, due_at=NOON)


def test_unknown_and_missing_events_are_refused():
    for events in ([], ["memory.evicted", "everything"]):
        with pytest.raises(BadSubscription):
            subscriptions.subscribe(SubscriptionSpec(url="https://x.org/", events=events, containers=None), actor=ACTOR, now=NOON)


def test_the_check_in_the_docs_takes_our_signature_and_no_other(monkeypatch: pytest.MonkeyPatch):
    text = (sources.ROOT / "docs" / "webhooks.md").read_text("utf8")
    names: dict[str, Any] = {}
    exec(text.split("```python")[1].split("```")[0], names)
    monkeypatch.setattr("time.time", lambda: NOON.timestamp() + 60)
    header = posting.signature("whsec_1", b"{}", sent_at=NOON)

    assert names["is_ours"]("whsec_1", header, b"{}")
    assert not names["is_ours"]("whsec_1", header, b"{ }")
    assert not names["is_ours"]("whsec_2", header, b"{}")


def test_a_delivery_that_breaks_something_is_put_off_and_the_job_ends(receiver: Receiver, monkeypatch: pytest.MonkeyPatch):
    def breaks(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError

    switch_on()
    subscribe(receiver.url)
    publish(make_container(), OLD)
    monkeypatch.setattr(sending, "post", breaks)

    deliver()

    put_off = Delivery.objects.get()
    assert (put_off.state, put_off.attempts, put_off.error_code) == (State.PENDING, 1, "RuntimeError")
    assert put_off.due_at == NOON + posting.WAITS[0]


def test_a_log_that_is_not_whole_is_told_to_who_hears_of_everything_and_a_whole_one_is_not(receiver: Receiver):
    subscribe(receiver.url, Event.AUDIT_NOT_WHOLE)
    subscribe(receiver.url, Event.AUDIT_NOT_WHOLE, containers=[make_container()])
    run_inline(verifying.ask(actor=ACTOR, now=NOON), now=NOON)
    with lifted(), connection.cursor() as cursor:
        cursor.execute("UPDATE audit_entry SET actor = 'person/9' WHERE seq = 1")
    run_inline(verifying.ask(actor=ACTOR, now=NOON), now=NOON)

    deliver()

    (told,) = heard(receiver)
    assert (told["event"], told["container"], told["data"]["found"]) == ("audit.not_whole", None, "altered")
