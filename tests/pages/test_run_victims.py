import html
import re

import pytest
from django.urls import reverse

from memadmin.access.roles import Role
from memadmin.audit.actions import Action
from memadmin.audit.models import AuditEntry
from memadmin.lifecycle.models import ItemKind, RunVictim
from memadmin.store import pinning
from memadmin.store.models import Archived, LongTermMemory, Pin, Session
from tests.factories import ACTOR, NOON, a_memory, a_pin, make_container, store, subject_of
from tests.people import HTMX, a_browser_of, editor, support
from tests.runs import a_policy, carry_out, governed, make_old_session, preview

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _at_noon(time_machine):
    time_machine.move_to(NOON, tick=False)


@pytest.fixture
def run(db):
    container = governed(a_policy(sessions={"retention_days": 90}, relevance={"ttl_days": 365, "max_records": 3}))
    store(container, *(a_memory(f"old {n}", days_old=400 + n) for n in range(2)), *(a_memory(f"new {n}") for n in range(5)))
    store(container, *(a_memory(f"of ben {n}", user_id="ben", days_old=500) for n in range(3)))
    store(container, a_memory("canary pinned", days_old=900, pin=a_pin("the canary is allergic")), a_memory("pinned new", pin=a_pin()))
    make_old_session(container, "s-old", messages=2)
    pinning.pin(make_old_session(container, "s-kept"), reason="a complaint", actor=ACTOR, now=NOON)
    return preview(container)


def url(view, *args):
    return reverse(f"pages:{view}", args=args)


def text_of(response):
    return html.unescape(response.content.decode())


def rows_of(page):
    return page.count("<tr>") - 1


def test_victims_are_narrowed_by_user_and_reason_and_the_totals_stay_the_true_ones(run):
    client = editor()
    ben = subject_of(run.container, "ben")

    of_ben = text_of(client.get(url("run-detail", run.number), {"user": ben.uid}))
    for_ttl = text_of(client.get(url("run-detail", run.number), {"reason": "ttl"}))
    neither = text_of(client.get(url("run-detail", run.number), {"user": ben.uid, "reason": "age"}))

    assert "1–3 of 3 victims" in of_ben
    assert "1–5 of 5 victims" in for_ttl
    assert "No victim is left by these filters" in neither
    for page in (of_ben, for_ttl, neither):
        assert f">All {run.planned}</a>" in page
        assert f"Names <strong>{run.planned}</strong> items" in page


def test_who_loses_most_leads_to_the_victims_of_that_user(run):
    client = editor()
    page = text_of(client.get(url("run-detail", run.number)))

    shown = text_of(client.get(re.search(r'href="([^"]+)">3 victims</a>', page)[1]))

    assert "Only <bdi>ben</bdi>" in shown
    assert "1–3 of 3 victims" in shown


def test_a_user_of_another_container_narrows_nothing(run):
    stranger = make_container("elsewhere")
    store(stranger, a_memory(user_id="eve"))

    page = text_of(editor().get(url("run-detail", run.number), {"user": subject_of(stranger, "eve").uid}))

    assert f"of {run.planned} victims" in page


def test_a_person_who_may_not_see_users_cannot_ask_for_the_victims_of_one(run):
    admin = a_browser_of(Role.ADMINISTRATOR, login="ali")

    page = text_of(admin.get(url("run-detail", run.number), {"user": subject_of(run.container, "ben").uid}))

    assert f"of {run.planned} victims" in page
    assert "Only the victims of" not in page


def test_a_session_victim_is_pinned_in_the_table_and_unpinned_and_pinned_again(run):
    client = editor()
    uid = RunVictim.objects.of_run(run).of_kind(ItemKind.SESSION).get().item_uid
    assert f'action="{url("session-pin", uid)}"' in text_of(client.get(url("run-detail", run.number)))

    pinned = client.post(url("session-pin", uid), {"reason": "needed", "part": "chip"}, headers=HTMX)
    unpinned = client.post(url("session-unpin", uid), {"part": "chip"}, headers=HTMX)
    again = client.post(f"{url('session-pin-again', uid)}?part=chip", headers=HTMX)

    for answer in (pinned, unpinned, again):
        assert answer.content.lstrip().startswith(f'<div id="pin-{uid}"'.encode())
    assert f"{url('session-pin-again', uid)}?part=chip" in unpinned["HX-Trigger"]
    assert Pin.objects.get(target_uid=uid).reason == "needed"
    assert "1 was pinned since the preview" in text_of(client.get(url("run-detail", run.number)))


def test_a_pin_without_a_reason_is_refused_in_the_table_too(run):
    uid = RunVictim.objects.of_run(run).of_kind(ItemKind.SESSION).get().item_uid

    answer = editor().post(url("session-pin", uid), {"reason": " ", "part": "chip"}, headers=HTMX)

    assert "Say why this is to be kept" in answer["HX-Trigger"]
    assert not Session.objects.get(uid=uid).pinned


def test_unpinning_a_session_offers_an_undo_that_brings_the_pin_back_with_its_reason(run):
    client = support()
    session = Session.objects.get(external_id="s-kept")

    page = text_of(client.post(url("session-unpin", session.uid), follow=True))
    assert f'action="{url("session-pin-again", session.uid)}"' in page
    back = text_of(client.post(url("session-pin-again", session.uid), follow=True))

    assert "Pinned again, with its reason." in back
    assert Pin.objects.get(target_uid=session.uid).reason == "a complaint"
    assert AuditEntry.objects.filter(action=Action.SESSION_PINNED, target=f"sessions/{session.uid}").count() == 2


def test_what_only_a_pin_keeps_is_listed_by_type(run):
    client = support()
    assert f'href="{url("run-spared", run.number)}"' in text_of(client.get(url("run-detail", run.number)))

    memories = text_of(client.get(url("run-spared", run.number), {"type": "long-term"}))
    sessions = text_of(client.get(url("run-spared", run.number), {"type": "sessions"}))

    assert "canary pinned" in memories
    assert "pinned new" not in memories
    assert "Past its time to live" in memories
    assert ">1 item<" in memories
    assert "s-kept" in sessions
    assert "Older than the retention rule keeps" in sessions
    assert run.summary.exempt_past_limit == 2


def test_the_list_of_what_is_kept_is_paged(run):
    store(run.container, *(a_memory(f"kept {n}", days_old=900, pin=a_pin()) for n in range(60)))
    client = support()

    page = text_of(client.get(url("run-spared", run.number)))
    following = text_of(client.get(re.search(r'rel="next" href="([^"]+)"', page)[1]))

    assert "1–50 of 61 items" in page
    assert "51–61 of 61 items" in following


def test_who_may_not_read_texts_sees_that_something_is_kept_and_not_what_or_why(run):
    page = text_of(editor().get(url("run-spared", run.number)))

    assert "Past its time to live" in page
    assert "canary" not in page


def test_what_is_kept_in_a_container_that_a_person_may_not_see_does_not_exist(run):
    stranger = a_browser_of(Role.SUPPORT, login="eve", containers=[make_container("other")])

    assert stranger.get(url("run-spared", run.number)).status_code == 404


def test_a_policy_without_an_age_keeps_nothing_by_pins(run):
    container = governed(a_policy(relevance={"max_records": 1}), name="caps only")
    store(container, a_memory("pinned", days_old=900, pin=a_pin()))

    page = text_of(support().get(url("run-spared", preview(container).number)))

    assert "Nothing of this type" in page


def test_a_second_click_on_restore_says_that_it_is_restored_already(run):
    carry_out(run)
    client = editor()
    for copy in (Archived.objects.filter(item_type="long-term").first(), Archived.objects.get(item_type="sessions")):
        client.post(url("archived-restore", copy.uid), {"sure": "yes"})

        second = client.post(url("archived-restore", copy.uid), follow=True)

        assert second.status_code == 200
        assert "This is restored already." in text_of(second)
    assert LongTermMemory.objects.count() == 4
    assert client.post(url("archived-restore", ACTOR.removeprefix("person/"))).status_code == 404
