"""What lies in the archive is not called gone: wherever a page names it, it leads there."""

import html

import pytest
from django.urls import reverse

from memadmin.store import archive
from memadmin.store.identity import item_uid
from memadmin.store.intake import Source
from memadmin.store.models import Archived, ItemType, Provenance, Session
from tests.factories import NOON, a_change, a_memory, a_message, a_session, days, make_memory, store, subject_of
from tests.people import editor, support
from tests.runs import a_policy, carry_out, governed, preview

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _at_noon(time_machine):
    time_machine.move_to(NOON, tick=False)


@pytest.fixture
def memory(db):
    """A memory made of a message whose session has been evicted."""
    container = governed(a_policy(sessions={"retention_days": 90}, relevance={"ttl_days": 365}))
    store(container, a_session("old", days_old=100), a_message("she said it", external_id="m-1", session_ref="old"))
    Session.objects.update(last_updated_at=NOON - days(100))
    memory = make_memory(container, sources=(Source(item_type=ItemType.WORKING, uid=said(container)),))
    carry_out(preview(container))
    return memory


def said(container):
    return item_uid(container.uid, ItemType.WORKING, "ann", "m-1")


def text_of(response):
    assert response.status_code == 200
    return " ".join(html.unescape(response.content.decode()).split())


def way_to(copy):
    return f'<a href="{reverse("pages:user-archive", args=[copy.subject.uid])}?from=2026-03-01#copy-{copy.uid}">in the archive</a>'


@pytest.fixture
def client(db):
    return support()


def detail(client, memory):
    return text_of(client.get(reverse("pages:memory-detail", args=[memory.uid])))


def test_a_message_whose_session_was_evicted_leads_to_the_archive_and_from_there_back(client, memory):
    copy = Archived.objects.get()

    page = detail(client, memory)

    assert f"Message of a session {way_to(copy)}" in page
    assert "gone meanwhile" not in page
    archive.restore([copy.pk], now=NOON)
    assert f"#entry-{said(memory.container)}" in detail(client, memory)


@pytest.mark.parametrize("named", [ItemType.WORKING, ItemType.SESSION])
def test_the_list_of_memories_leads_there_too(client, memory, named):
    copy = Archived.objects.get()
    Provenance.objects.update(source_type=named, source_uid=copy.uid if named == ItemType.SESSION else said(memory.container))

    page = text_of(client.get(reverse("pages:user-memories", args=[memory.subject.uid])))

    assert way_to(copy) in page
    assert ">gone<" not in page


def test_what_has_no_copy_is_gone(client, memory):
    Archived.objects.all().delete()

    assert "gone meanwhile" in detail(client, memory)
    assert ">gone<" in text_of(client.get(reverse("pages:user-memories", args=[memory.subject.uid])))


def test_copies_are_opened_no_further_than_until_all_messages_are_found(memory, monkeypatch):
    opened = []
    monkeypatch.setattr(archive, "unpack", lambda payload, unpack=archive.unpack: opened.append(1) or unpack(payload))
    copy = Archived.objects.get()

    found = archive.holding_messages([copy, copy, copy], {said(memory.container)})

    assert (found, opened) == ({said(memory.container): copy}, [1])


def test_victims_of_a_run_that_are_in_the_archive_are_named_so(client, memory):
    copy = Archived.objects.get()
    address = reverse("pages:run-detail", args=[copy.run_number])

    assert way_to(copy) in text_of(client.get(address))
    assert ">gone<" not in text_of(editor().get(address))


def test_history_leads_to_the_archive_and_says_gone_without_a_copy(client):
    container = governed(a_policy(relevance={"ttl_days": 365}))
    store(container, a_memory("old", days_old=400, external_id="old"), a_change("of nothing"))
    carry_out(preview(container))
    copy = Archived.objects.get()
    store(container, a_change("of the old one", memory_uid=copy.uid))
    address = reverse("pages:user-history", args=[subject_of(container).uid])

    assert way_to(copy) in text_of(client.get(address))
    Archived.objects.all().delete()
    assert "gone" in text_of(client.get(address))
