"""Deleting one session or memory by hand: it asks, for its messages, and for force and a reason where it is pinned."""

import html

import pytest
from django.urls import reverse

from memadmin.access.roles import Role
from memadmin.audit.models import AuditEntry
from memadmin.store import deleting, pinning
from memadmin.store.models import LongTermMemory, Pin, Session, WorkingMemory
from tests.factories import ACTOR, NOON, make_container, make_memory, make_session, subject_of
from tests.people import a_browser_of, auditor, editor, support
from tests.runs import assert_store_agrees, pin

pytestmark = pytest.mark.django_db


def post(client, item, **answer):
    view = "session-delete" if isinstance(item, Session) else "memory-delete"
    return client.post(reverse(f"pages:{view}", args=[item.uid]), answer, follow=True)


def words(response):
    return " ".join(html.unescape(response.content.decode()).split())


def counted():
    return Session.objects.count(), WorkingMemory.objects.count()


def test_a_session_asks_first_and_shows_how_many_messages_it_has():
    session = make_session(make_container(), messages=3)

    response = post(support(), session)

    assert response.status_code == 200
    assert "Its 3 working memories with 3 messages" in words(response)
    assert counted() == (1, 3)


def test_without_an_answer_about_its_messages_nothing_goes():
    session = make_session(make_container(), messages=2)

    response = post(support(), session, sure="yes")

    assert response.status_code == 422
    assert "Say what becomes of its messages." in words(response)
    assert counted() == (1, 2)


@pytest.mark.parametrize(
    ("answer", "left", "said"), [("leave", 2, "2 working memories of it stay without it"), ("delete", 0, "with 2 working memories of it")]
)
def test_its_messages_stay_or_go_as_was_answered(answer, left, said):
    container = make_container()
    session = make_session(container, messages=2)
    make_session(container, "other", messages=1)

    page = words(post(support(), session, sure="yes", messages=answer))

    assert said in page
    assert counted() == (1, left + 1)
    assert WorkingMemory.objects.filter(session__isnull=True, session_ref="s-1").count() == left
    entry = AuditEntry.objects.get(action="item.deleted")
    assert (entry.counts["working"], entry.counts["working_left"]) == (2 - left, left)
    assert subject_of(container).working == left + 1
    assert_store_agrees()


def test_d22_a_pinned_session_needs_force_and_a_reason():
    container = make_container()
    session = make_session(container)
    pinning.pin(session, reason="keep", actor=ACTOR, now=NOON)
    client = support()

    assert "It is pinned" in words(post(client, session))
    assert post(client, session, sure="yes").status_code == 422
    assert post(client, session, sure="yes", force="on", reason="  ").status_code == 422
    assert Session.objects.count() == 1

    post(client, session, sure="yes", force="on", reason="asked by the customer")

    assert (Session.objects.count(), Pin.objects.count()) == (0, 0)
    assert AuditEntry.objects.get(action="item.deleted").counts["pinned"] == 1
    assert_store_agrees()


def test_what_is_pinned_between_question_and_answer_stays():
    memory = make_memory(make_container())
    client = support()
    post(client, memory)
    pin(memory)

    response = post(client, LongTermMemory.objects.get(), sure="yes")

    assert response.status_code == 422
    assert LongTermMemory.objects.count() == 1
    with pytest.raises(deleting.Pinned):
        deleting.delete_memory(memory, actor=ACTOR, now=NOON)


def test_a_memory_goes_and_a_held_one_stays():
    container = make_container()
    memory, held = make_memory(container, "wrong"), make_memory(container, "kept by law")
    LongTermMemory.objects.filter(pk=held.pk).update(held=True)
    client = support()

    assert "The memory is deleted." in words(post(client, memory, sure="yes"))
    assert "held for a legal reason" in words(post(client, held, sure="yes"))

    assert list(LongTermMemory.objects.values_list("text", flat=True)) == ["kept by law"]
    assert subject_of(container).long_term == 1


def test_held_messages_stay_when_their_session_is_deleted_with_them():
    session = make_session(make_container(), messages=2)
    WorkingMemory.objects.filter(sequence=0).update(held=True)

    page = words(post(support(), session, sure="yes", messages="delete"))

    assert "with 1 working memory of it; 1 is held and stays." in page
    assert counted() == (0, 1)
    WorkingMemory.objects.update(held=False)  # nobody has placed a hold, and the check would say so
    assert_store_agrees()


def test_who_may_delete_and_who_may_not():
    memory, session = make_memory(make_container()), make_session(make_container("other"))

    for client in (editor(), auditor()):
        assert post(client, memory, sure="yes").status_code == 403
        assert post(client, session, sure="yes").status_code == 403
    assert support().get(reverse("pages:memory-delete", args=[memory.uid])).status_code == 405
    elsewhere = a_browser_of(Role.SUPPORT, login="else", containers=[session.container])
    assert post(elsewhere, memory, sure="yes").status_code == 404
    assert LongTermMemory.objects.count() == 1


def test_the_pages_offer_it_to_those_who_may():
    memory, session = make_memory(make_container()), make_session(make_container("other"))
    for view, item in (("memory", memory), ("session", session)):
        address, target = reverse(f"pages:{view}-detail", args=[item.uid]), reverse(f"pages:{view}-deletion", args=[item.uid])
        assert target in a_browser_of(Role.COMPLIANCE, login=f"{view}-c").get(address).content.decode()
        assert target not in a_browser_of(Role.AUDITOR, login=f"{view}-a").get(address).content.decode()


def test_the_wrong_choice_is_refused_and_a_long_reason_too():
    session = make_session(make_container(), messages=1)
    client = support()

    assert post(client, session, sure="yes", messages="burn").status_code == 422
    assert post(client, session, sure="yes", messages="leave", reason="x" * 1001).status_code == 422
    assert counted() == (1, 1)


def test_the_question_names_what_it_is_about():
    container = make_container()
    memory, session = make_memory(container, "Allergic to penicillin."), make_session(container, "chat-7", messages=1)
    sam = support()

    of_memory, of_session = words(post(sam, memory)), words(post(sam, session))

    assert "Allergic to penicillin." in of_memory
    assert str(memory.uid)[:8] in of_memory
    assert "chat-7" in of_session
