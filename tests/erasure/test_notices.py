import json
import logging
import socket
from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction

from memadmin.audit.models import AuditEntry, AuditPayload
from memadmin.erasure import notices, recipients, rectifying, workflow
from memadmin.erasure.models import NoticeState, RecipientKind, RecipientNotice, RequestItem
from memadmin.erasure.notices import NoText, NoticeEnded
from memadmin.erasure.recipients import BadRecipient, RecipientSpec
from memadmin.erasure.tasks import NOTICES, start_notices
from memadmin.jobs.models import Job
from memadmin.jobs.runner import run_inline
from memadmin.outbound import posting
from memadmin.outbound.posting import WAITS, signature
from tests.erasure.papers import a_request
from tests.factories import ACTOR, NOON, days, make_container, make_memory
from tests.webhooks.conftest import receiver  # noqa: F401  # a fixture

pytestmark = pytest.mark.django_db
CANARY = "zebrafinch9canary"


@pytest.fixture
def container():
    return make_container()


@pytest.fixture
def request_(container):
    return a_request(make_memory(container, "likes tea", user_id=CANARY).subject)


def a_recipient(*containers, contact="https://partner.example.org/erase", kind=RecipientKind.WEBHOOK, **details):
    given = {"name": "Partner", "given": "memories for analysis", **details}
    spec = RecipientSpec(kind=kind, contact=contact, containers=containers or None, **given)
    return recipients.register(spec, actor=ACTOR, now=NOON)


def the_minute(now=NOON):
    start_notices(now=now)
    for job in Job.objects.filter(kind=NOTICES, state="queued"):
        run_inline(job, now=now)


def told(request, to):
    """Make the notices of a request and try once."""
    made = a_recipient(contact=to)
    notices.make(request, now=NOON)
    the_minute()
    return RecipientNotice.objects.get(), made[1]


def test_a_recipient_is_told_by_which_id_they_know_the_person_and_nothing_else(request_, container, receiver):  # noqa: F811
    notice, secret = told(request_, receiver.url)

    body = receiver.bodies[0]
    said = json.loads(body)
    assert said == {
        "id": str(notice.uid),
        "event": "erasure.notice",
        "action": "erase",
        "namespace": str(container.uid),
        "references": [{"type": "user", "id": CANARY}],
        "deadline": (NOON + days(30)).date().isoformat(),
        "acknowledge": {"url": f"/erasure-notices/{notice.uid}/acknowledge", "token": notices.token_of(notice)},
    }
    assert receiver.headers[0]["X-Memadmin-Signature"] == signature(secret, body, sent_at=NOON)
    assert (notice.state, notice.attempts) == (NoticeState.SENT, 1)


def test_95_the_payload_is_in_no_log_no_job_and_no_readable_column(request_, receiver, caplog):  # noqa: F811
    receiver.statuses = [500]
    with caplog.at_level(logging.DEBUG):
        notice, _ = told(request_, receiver.url)

    said = "".join([*AuditEntry.objects.values_list("leaf", flat=True), *AuditPayload.objects.values_list("body", flat=True)])
    jobs = "".join(str(row) for row in Job.objects.values())
    assert CANARY in receiver.bodies[0].decode()
    assert CANARY not in caplog.text + said + jobs
    assert CANARY.encode() not in bytes(notice.references)
    assert notices.names_in(notice) == [{"type": "user", "id": CANARY}]


@pytest.mark.parametrize("status", [301, 302, 400, 500])
def test_95_an_answer_that_is_no_success_is_tried_again_and_a_redirect_is_not_followed(status, request_, receiver):  # noqa: F811
    receiver.statuses = [status, 204]
    notice, _ = told(request_, receiver.url)
    assert (notice.state, notice.attempts, notice.status) == (NoticeState.PENDING, 1, status)

    the_minute(NOON + WAITS[0] / 2)
    assert len(receiver.bodies) == 1
    the_minute(NOON + WAITS[0])

    notice.refresh_from_db()
    assert notice.state == NoticeState.SENT
    assert [json.loads(body)["id"] for body in receiver.bodies] == [str(notice.uid)] * 2


def test_95_an_address_inside_our_network_is_not_knocked_at(request_, receiver, settings):  # noqa: F811
    made, _ = a_recipient(contact=receiver.url)
    settings.WEBHOOKS_TO_PRIVATE_NETWORKS = False
    notices.make(request_, now=NOON)

    the_minute()

    notice = RecipientNotice.objects.get()
    assert (notice.state, notice.error_code, receiver.bodies) == (NoticeState.PENDING, "ForbiddenAddress", [])
    assert made.contact == receiver.url


def test_95_one_that_does_not_answer_keeps_no_other_waiting(request_, receiver):  # noqa: F811
    a_recipient(contact="http://localhost:9/nobody", name="Nobody")

    told_one = a_recipient(contact=receiver.url)[0]
    notices.make(request_, now=NOON)
    the_minute()

    assert RecipientNotice.objects.get(recipient=told_one).state == NoticeState.SENT
    assert RecipientNotice.objects.exclude(recipient=told_one).get().error_code == "ConnectError"


def test_95_one_that_never_answers_is_given_up_for_now_tried_again_and_named_in_no_log(request_, settings, monkeypatch, caplog):
    settings.WEBHOOKS_TO_PRIVATE_NETWORKS = True
    monkeypatch.setattr(posting, "TIMEOUT", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent, caplog.at_level(logging.DEBUG):
        notice, _ = told(request_, f"http://127.0.0.1:{silent.getsockname()[1]}/hook")

    assert (notice.state, notice.attempts, notice.error_code) == (NoticeState.PENDING, 1, "ReadTimeout")
    assert notice.due_at == NOON + WAITS[0]
    assert CANARY not in caplog.text


def test_after_the_last_attempt_a_person_decides_and_says_why(request_, receiver):  # noqa: F811
    receiver.statuses = [500]
    notice, _ = told(request_, receiver.url)
    now = NOON
    for wait in WAITS:
        now += wait
        the_minute(now)
    notice.refresh_from_db()
    assert (notice.state, len(receiver.bodies)) == (NoticeState.FAILED, len(WAITS) + 1)

    with pytest.raises(NoText):
        notices.decide(notice, NoticeState.IMPOSSIBLE, " ", actor=ACTOR, now=now)
    with pytest.raises(NoText):
        notices.decide(notice, NoticeState.ACKED, "done", actor=ACTOR, now=now)
    notices.decide(notice, NoticeState.IMPOSSIBLE, "The company was dissolved.", actor=ACTOR, now=now)

    assert (notice.state, notice.references, notice.reason) == (NoticeState.IMPOSSIBLE, None, "The company was dissolved.")


def test_a_failed_notice_is_sent_anew(request_, receiver):  # noqa: F811
    notice, _ = told(request_, receiver.url)
    RecipientNotice.objects.update(state=NoticeState.FAILED, attempts=8)
    notice.refresh_from_db()

    notices.try_again(notice, actor=ACTOR, now=NOON)
    the_minute()

    notice.refresh_from_db()
    assert (notice.state, len(receiver.bodies)) == (NoticeState.SENT, 2)


def test_who_got_it_and_does_not_answer_is_asked_again_and_given_to_a_person_in_the_end(request_, receiver):  # noqa: F811
    notice, _ = told(request_, receiver.url)
    the_minute(NOON + timedelta(hours=23))
    assert len(receiver.bodies) == 1

    for day in range(1, len(WAITS) + 2):
        the_minute(NOON + days(day))

    notice.refresh_from_db()
    assert (notice.state, notice.error_code) == (NoticeState.FAILED, "not_acknowledged")


def test_the_answer_ends_it_and_the_names_go(request_, receiver, client):  # noqa: F811
    notice, _ = told(request_, receiver.url)
    url = json.loads(receiver.bodies[0])["acknowledge"]["url"]

    answers = [client.post(url, headers={"Authorization": f"Bearer {notices.token_of(notice)}"}).status_code for _ in range(2)]

    notice.refresh_from_db()
    assert (answers, notice.state, notice.references) == ([200, 200], NoticeState.ACKED, None)
    the_minute(NOON + days(5))
    assert len(receiver.bodies) == 1


def test_nobody_else_can_answer(request_, client):
    a_recipient()
    a_recipient(name="Other")
    notices.make(request_, now=NOON)
    one, other = RecipientNotice.objects.order_by("pk")
    url = f"/erasure-notices/{one.uid}/acknowledge"

    tokens = ["", "Bearer", "Bearer x", f"Bearer {notices.token_of(other)}", f"Basic {notices.token_of(one)}"]
    assert [client.post(url, headers={"Authorization": token}).status_code for token in tokens] == [401] * 5
    assert client.get(url).status_code == 405
    nowhere = "/erasure-notices/00000000-0000-0000-0000-000000000000/acknowledge"
    assert client.post(nowhere, headers={"Authorization": f"Bearer {notices.token_of(one)}"}).status_code == 401
    one.refresh_from_db()
    assert one.state == NoticeState.PENDING


def test_an_answer_after_a_decision_changes_nothing(request_, client):
    a_recipient()
    notices.make(request_, now=NOON)
    notice = RecipientNotice.objects.get()
    notices.decide(notice, NoticeState.DISPROPORTIONATE, "Thousands of readers.", actor=ACTOR, now=NOON)

    answer = client.post(f"/erasure-notices/{notice.uid}/acknowledge", headers={"Authorization": f"Bearer {notices.token_of(notice)}"})

    notice.refresh_from_db()
    assert (answer.status_code, notice.state) == (410, NoticeState.DISPROPORTIONATE)


def test_only_recipients_of_the_container_are_told_and_each_once(request_, container):
    here, _ = a_recipient(container)
    a_recipient(make_container("other"), name="Elsewhere")
    ended, _ = a_recipient(name="Ended")
    recipients.end(ended, actor=ACTOR, now=NOON)

    assert [notices.make(request_, now=NOON) for _ in range(2)] == [2, 0]

    assert {notice.recipient for notice in RecipientNotice.objects.all()} == {here, ended}


def test_of_single_items_the_uids_are_told(container):
    request, memory = a_request(kind="erase_memory"), make_memory(container, "gin")
    named = {"item_type": "long-term", "item_uid": memory.uid, "item_ref": "r", "subject_id": memory.subject_id}
    RequestItem.objects.create(request=request, container=container, **named)
    a_recipient()

    notices.make(request, now=NOON)

    assert notices.names_in(RecipientNotice.objects.get()) == [{"type": "long-term", "id": str(memory.uid)}]


def test_a_person_tells_whom_no_program_tells(request_):
    a_recipient(kind=RecipientKind.MANUAL, contact="privacy@partner.example.org")
    notices.make(request_, now=NOON)
    the_minute()
    notice = RecipientNotice.objects.get()
    assert notice.state == NoticeState.PENDING

    notices.told_by_hand(notice, actor=ACTOR, now=NOON)
    with pytest.raises(NoticeEnded):
        notices.told_by_hand(notice, actor=ACTOR, now=NOON)
    notices.acknowledge(notice, actor=ACTOR, now=NOON)

    assert (notice.state, notice.references) == (NoticeState.ACKED, None)


@pytest.mark.parametrize(
    "details",
    [
        {"contact": "http://partner.example.org"},
        {"contact": "https://u:p@x.org/"},
        {"contact": " ", "kind": RecipientKind.MANUAL},
        {"name": "\u2800"},
        {"name": "x" * 101},
        {"given": ""},
    ],
)
def test_a_recipient_has_a_name_an_address_and_says_what_it_gets(details):
    with pytest.raises(BadRecipient):
        a_recipient(**details)


def test_the_database_refuses_an_ended_notice_that_keeps_names(request_):
    a_recipient()
    notices.make(request_, now=NOON)

    for values in ({"state": "acked", "ended_at": NOON}, {"state": "impossible", "references": None, "ended_at": NOON}):
        with pytest.raises(IntegrityError), transaction.atomic():
            RecipientNotice.objects.update(**values)


@pytest.mark.parametrize(("kind", "action"), [("rectify", "rectify"), ("restrict", "restrict"), ("access", None)])
def test_of_a_correction_or_restriction_recipients_are_told_too(container, kind, action):
    a_recipient()
    memory = make_memory(container, "likes tea", user_id=CANARY)
    request = a_request(memory.subject, kind=kind)
    type(request).objects.filter(pk=request.pk).update(state="review", identity_level=1)
    request.refresh_from_db()
    if kind == "rectify":
        rectifying.correct(request, memory, "likes milk", actor=ACTOR, now=NOON)

    workflow.answer(request, "done_in_part", letter="It is done.", actor=ACTOR, now=NOON)

    assert [notices.payload_of(notice)["action"] for notice in request.notices.all()] == ([action] if action else [])
