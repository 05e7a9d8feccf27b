import html
import re

import pytest
from django.urls import reverse

from memadmin.access.roles import Role
from memadmin.jobs.models import Job
from memadmin.jobs.runner import run_inline
from memadmin.lifecycle.models import Run
from memadmin.store import deleting
from memadmin.store.models import Archived, LongTermMemory
from tests.factories import ACTOR, NOON, a_memory, days, make_container, store, subject_of
from tests.people import HTMX, a_browser_of, editor, support
from tests.runs import a_policy, assert_store_agrees, carry_out, fill, governed, preview, publish

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _at_noon(time_machine):
    time_machine.move_to(NOON, tick=False)


@pytest.fixture
def container(db):
    made = governed(a_policy(relevance={"max_records": 3}))
    fill(made, 8)
    carry_out(preview(made))
    return made


def address(container, query=""):
    return reverse("pages:user-restore", args=[subject_of(container).uid]) + query


def archive_of(container, client, **query):
    return text_of(client.get(reverse("pages:user-archive", args=[subject_of(container).uid]), query))


def text_of(response):
    return html.unescape(response.content.decode())


def test_restoring_all_of_a_user_warns_with_the_numbers_first_and_then_runs_as_a_job(container):
    client = editor()

    asked = text_of(client.post(address(container), {"all": "yes"}, follow=True))
    assert Job.objects.filter(kind="restore-user").count() == 0
    client.post(address(container), {"all": "yes", "sure": "yes"})
    under_way = archive_of(container, client)
    run_inline(Job.objects.get(kind="restore-user"), now=NOON)
    after = archive_of(container, client)

    assert "ann has 3 of 3 memories and 5 would come back: the next run would evict 5 again." in asked
    assert "Pin what must stay, or raise the limit first." in asked
    assert "Restore 5 items" in asked
    assert "is being put back" in under_way
    assert 'hx-trigger="every 3s"' in under_way
    assert "Nothing in the archive" in after
    assert LongTermMemory.objects.count() == 8
    assert_store_agrees()


def test_ticked_items_come_back_at_once_and_the_others_stay(container):
    client = editor()
    ticked = re.findall(r'name="copy" value="([^"]+)"', archive_of(container, client))[:2]

    asked = text_of(client.post(address(container), {"copy": ticked}, follow=True))
    copies = re.search(r'name="copies" value="([^"]+)"', asked)[1]
    done = text_of(client.post(address(container), {"copies": copies, "sure": "yes"}, follow=True))
    again = text_of(client.post(address(container), {"copies": copies, "sure": "yes"}, follow=True))

    assert "Restored 2 items" in done
    assert "restored already" in again
    assert (Archived.objects.count(), LongTermMemory.objects.count(), Run.objects.get().restored) == (3, 5, 2)


def test_all_since_a_day_takes_only_what_the_list_shows(container):
    client = editor()
    fill(container, 1)
    carry_out(preview(container, now=NOON + days(3)), now=NOON + days(3))

    shown = archive_of(container, client, **{"from": "2026-03-03"})
    client.post(address(container, "?from=2026-03-03"), {"all": "yes", "sure": "yes"})
    run_inline(Job.objects.get(kind="restore-user"), now=NOON)

    assert "1 archived item" in shown
    assert Archived.objects.count() == 5
    assert "These days cannot be looked up" in archive_of(container, client, **{"from": "soon"})


def test_without_a_limit_in_the_way_the_page_warns_of_nothing_but_asks_for_several(container):
    publish(container, a_policy(relevance={"max_records": 500}))

    asked = text_of(editor().post(address(container), {"all": "yes"}, follow=True))

    assert "notice-warning" not in asked
    assert "5 long-term memories would come back as they were" in asked


def test_the_page_says_what_cannot_come_back_and_that_the_container_was_deleted(container):
    deleting.delete_container(container, with_memories=(), actor=ACTOR, now=NOON)
    Archived.objects.filter(pk=Archived.objects.earliest("id").pk).update(expires_at=NOON - days(1))

    asked = text_of(editor().post(address(container), {"all": "yes"}, follow=True))

    assert "1 cannot come back: the last day in the archive has passed." in asked
    assert "was deleted over the API" in asked


@pytest.mark.parametrize("given", [{}, {"copy": "x"}, {"copies": ",,"}, {"copies": "0" * 36, "sure": "yes"}])
def test_nonsense_restores_nothing(container, given):
    answer = text_of(editor().post(address(container), given, follow=True))

    assert "Tick at least one item" in answer
    assert Archived.objects.count() == 5


def test_a_copy_of_another_user_is_not_restored_through_this_one(container):
    store(container, *(a_memory(f"b{n}", user_id="ben") for n in range(4)))
    carry_out(preview(container))
    bens = Archived.objects.get(subject__user_id="ben")

    editor().post(address(container), {"copies": str(bens.uid), "sure": "yes"})

    assert Archived.objects.filter(pk=bens.pk).exists()


def test_who_may_not_restore_is_refused_and_who_does_not_see_the_container_finds_nothing(container):
    assert support().post(address(container), {"all": "yes"}).status_code == 403
    assert 'name="copy"' not in archive_of(container, a_browser_of(Role.SUPPORT, login="sue"))
    elsewhere = a_browser_of(Role.POLICY_EDITOR, login="eli", containers=[make_container("other")])
    assert elsewhere.post(address(container), {"all": "yes"}).status_code == 404
    assert editor().get(address(container)).status_code == 405


def test_htmx_gets_the_table_alone(container):
    part = editor().get(reverse("pages:user-archive", args=[subject_of(container).uid]), headers=HTMX)

    assert '<div id="table"' in part.content.decode()
    assert b"<html" not in part.content


def test_the_question_about_one_item_speaks_of_one(container):
    one = Archived.objects.first()

    asked = text_of(editor().post(reverse("pages:archived-restore", args=[one.uid]), follow=True))

    assert "1 long-term memory would come back as it was, with its id, counts" in asked
    assert "Restore 1 item<" in asked
