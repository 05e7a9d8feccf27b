"""Of whom recipients were given data: kept sealed, told in the notice under the recipient's own id, and gone with it."""

import json

import pytest
from django.db import IntegrityError, transaction

from memadmin.audit.models import AuditEntry, AuditPayload, AuditPending
from memadmin.erasure import disclosures, notices, register
from memadmin.erasure.disclosures import BadDisclosure, Given, NoSuchUser, NotRecorded
from memadmin.erasure.models import Certificate, Disclosure, Kind, NoticeState, Recipient, RecipientNotice, Status
from memadmin.store.models import LongTermMemory, Subject
from memadmin.store.suppression_keys import rotate
from tests.erasure.access_exports.making import asked, files_of
from tests.erasure.executing import execute
from tests.erasure.giving import THEIRS, given, somebody, told_by_mail
from tests.erasure.papers import a_request
from tests.erasure.workflow import answers, approved, discovered, found, opened, opened_for
from tests.factories import ACTOR, NOON, days, make_container, make_memory

pytestmark = pytest.mark.django_db


@pytest.fixture
def subject():
    return somebody()


@pytest.fixture
def recipient(subject):
    return told_by_mail(subject.container)


def names_of_the_notice():
    return notices.names_in(RecipientNotice.objects.get())


def everything_logged():
    rows = [*AuditEntry.objects.values_list("leaf", flat=True), *AuditPayload.objects.values_list("body", flat=True)]
    return "".join([*map(str, rows), *(str(row) for row in AuditPending.objects.values())])


def test_it_is_kept_sealed_and_its_entry_names_the_recipient_alone(recipient, subject):
    made = given(recipient, subject)

    assert THEIRS.encode() not in bytes(made.own_id)
    assert disclosures.own_ids(recipient, [subject.pk]) == {subject.pk: [THEIRS]}
    said = everything_logged()
    assert "disclosure.recorded" in said
    assert str(recipient) in said
    assert THEIRS not in said
    assert str(subject.uid) not in said


def test_said_again_it_moves_the_times_and_a_second_id_is_kept_beside_the_first(recipient, subject):
    given(recipient, subject, None, at=NOON - days(2))
    given(recipient, subject, at=NOON - days(3))
    given(recipient, subject)
    given(recipient, subject, None, at=NOON - days(1))
    assert Disclosure.objects.values_list("first_at", "last_at").get() == (NOON - days(3), NOON)

    given(recipient, subject, "crm-other")

    counted = disclosures.counts_of(recipient, [subject.container_id])
    assert (counted.people, counted.unknown, Disclosure.objects.count()) == (1, 0, 2)


def test_an_id_is_known_again_under_a_new_key(recipient, subject):
    given(recipient, subject)
    rotate(actor=ACTOR, now=NOON)

    given(recipient, subject)

    assert disclosures.own_ids(recipient, [subject.pk]) == {subject.pk: [THEIRS]}
    assert Disclosure.objects.count() == 1


def test_what_cannot_have_been_is_refused(recipient, subject):
    elsewhere = somebody("bob", make_container("other"))
    nobody = make_memory(subject.container, "it rains", user_id=None).subject
    wrong = [(elsewhere, THEIRS, NOON, "recipient"), (subject, " ", NOON, "own_id"), (subject, "x" * 513, NOON, "own_id")]
    wrong += [(subject, "a\0", NOON, "own_id"), (subject, THEIRS, NOON + days(1), "at")]

    for whose, own_id, at, field in wrong:
        with pytest.raises(BadDisclosure) as refused:
            given(recipient, whose, own_id, at=at)
        assert refused.value.field == field
    with pytest.raises(NoSuchUser):
        given(recipient, nobody)
    Recipient.objects.update(ended_at=NOON - days(1))
    recipient.refresh_from_db()
    with pytest.raises(BadDisclosure):
        given(recipient, subject)
    given(recipient, subject, at=NOON - days(2))
    assert Disclosure.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_who_was_removed_just_now_is_not_noted(recipient, subject):
    was = Subject.objects.get(pk=subject.pk)
    request = opened()
    approved(request)
    execute(request)

    with pytest.raises(NoSuchUser):
        given(recipient, was)


def test_a_notice_names_by_the_recipients_own_id_and_by_ours_where_none_is_known(recipient, subject):
    bob = somebody("bob", subject.container)
    carl = somebody("carl", subject.container)
    given(recipient, subject)
    given(recipient, bob, None)

    notices.make(a_request(subject, bob, carl), now=NOON)

    assert names_of_the_notice() == [{"type": "yours", "id": THEIRS}, {"type": "user", "id": "bob"}, {"type": "user", "id": "carl"}]
    assert RecipientNotice.objects.values_list("by_own_id", "by_our_id").get() == (1, 2)
    assert THEIRS.encode() not in bytes(RecipientNotice.objects.get().references)


def test_each_recipient_is_told_its_own_id_and_no_other_ones(recipient, subject):
    other = told_by_mail(subject.container, name="Other")
    given(recipient, subject)
    given(other, subject, "theirs-2")

    notices.make(a_request(subject), now=NOON)

    told = {notice.recipient: notices.names_in(notice)[0]["id"] for notice in RecipientNotice.objects.all()}
    assert told == {recipient: THEIRS, other: "theirs-2"}


@pytest.mark.django_db(transaction=True)
def test_an_erasure_tells_first_and_then_nothing_is_left_but_the_sealed_notice(recipient, subject):
    neighbour = somebody("ann2", subject.container)
    given(recipient, subject)
    stays = given(recipient, neighbour, "crm-zebrafinch-778")
    before = Disclosure.objects.filter(pk=stays.pk).values().get()
    request = opened(user_id="ann")
    approved(request)

    execute(request)

    assert request.state == Status.COMPLETED
    assert names_of_the_notice() == [{"type": "yours", "id": THEIRS}]
    assert Disclosure.objects.values().get() == before
    places = {place["location"]: place["erased"] for place in json.loads(Certificate.objects.get().document)["places"]}
    assert places["erasure.disclosures"] == 1
    assert "disclosure.erased" in everything_logged()
    assert THEIRS not in everything_logged()

    notices.acknowledge(RecipientNotice.objects.get(), actor=ACTOR, now=NOON)

    ended = RecipientNotice.objects.get()
    assert (ended.state, ended.references, ended.by_own_id) == (NoticeState.ACKED, None, 1)


@pytest.mark.parametrize("kind", [Kind.RESTRICT, Kind.RECTIFY, Kind.ACCESS])
def test_what_erases_nobody_leaves_it(recipient, subject, kind):
    given(recipient, subject)

    assert disclosures.erase(a_request(subject, kind=kind), actor=ACTOR, now=NOON) == 0
    assert Disclosure.objects.count() == 1


def test_the_person_is_told_when_and_as_whom_they_are_known(recipient, subject):
    told_by_mail(subject.container, name="Quiet")
    given(recipient, subject, at=NOON - days(3))
    given(recipient, subject)

    page = files_of(asked())["index.html"].decode()

    first, last = (NOON - days(3)).date(), NOON.date()
    assert f"Partner: memories for analysis. They were given data of you from {first} to {last}. They know you as “{THEIRS}”." in page
    assert "Quiet: memories for analysis. Nobody has noted when they were given data of you" in page


def test_the_register_of_article_30_counts_people_and_names_none(recipient, subject):
    given(recipient, subject)
    given(recipient, subject, "second")

    found = register.register([subject.container], now=NOON)

    assert found["recipients"][0]["people_recorded"] == 1
    assert "Which recipients were given data of whom" in {place["title"] for place in found["stores"]}
    assert THEIRS not in json.dumps(found)


def test_the_database_keeps_one_row_for_an_id_and_none_that_is_half_sealed(recipient, subject):
    made = given(recipient, subject)
    row = {name: getattr(made, name) for name in ("recipient_id", "container_id", "subject_id", "own_id", "own_ref", "first_at", "last_at")}

    for change in ({}, {"own_ref": ""}, {"own_id": None, "own_ref": "x"}, {"own_ref": "y", "first_at": NOON + days(1)}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Disclosure.objects.create(**{**row, **change})


def test_a_search_counts_them_among_what_goes_with_the_papers_and_not_those_of_a_neighbour(recipient, subject):
    given(recipient, subject)
    given(recipient, subject, "second")
    given(recipient, somebody("ann2", subject.container))

    manifest = discovered(opened())

    assert found(manifest)["erasure.disclosures", "G", "clear"] == 2
    assert answers(manifest)["erasure.disclosures"] == "found"
    assert not manifest.items.filter(location="erasure.disclosures", decision="waiting").exists()


def test_where_nothing_is_noted_the_search_has_looked(subject):
    assert answers(discovered(opened()))["erasure.disclosures"] == "absent"


def test_a_search_about_single_items_leaves_what_is_noted_of_their_user(recipient, subject):
    given(recipient, subject)

    manifest = discovered(opened_for(LongTermMemory.objects.get()))

    assert "erasure.disclosures" not in {place for place, _, _ in found(manifest)}


@pytest.mark.django_db(transaction=True)
def test_one_that_is_noted_after_the_approval_goes_too_and_sends_nothing_back(recipient, subject):
    request = opened()
    approved(request)
    given(recipient, subject)

    execute(request)

    assert (request.state, Disclosure.objects.count()) == (Status.COMPLETED, 0)


def test_a_notice_about_an_item_names_whose_it_is_by_the_recipients_own_id(recipient, subject):
    bobs = make_memory(subject.container, "gin", user_id="bob")
    anns = LongTermMemory.objects.exclude(pk=bobs.pk).get()
    given(recipient, subject)
    given(recipient, bobs.subject, None)

    notices.make(opened_for(anns, bobs), now=NOON)

    assert names_of_the_notice() == [
        {"type": "long-term", "id": str(anns.uid), "whose": [THEIRS]},
        {"type": "long-term", "id": str(bobs.uid)},
    ]
    assert RecipientNotice.objects.values_list("by_own_id", "by_our_id").get() == (1, 0)
    assert "ann" not in json.dumps(names_of_the_notice())


def test_several_are_noted_at_once_or_none(recipient, subject):
    bob = somebody("bob", subject.container)
    nobody = make_memory(subject.container, "it rains", user_id=None).subject
    people = [Given(subject, THEIRS, NOON), Given(bob, None, NOON - days(1))]

    with pytest.raises(NotRecorded) as refused:
        disclosures.record_all(recipient, [*people, Given(nobody, None, NOON), Given(bob, " ", NOON)], actor=ACTOR, now=NOON)
    assert {at: type(wrong) for at, wrong in refused.value.problems.items()} == {2: NoSuchUser, 3: BadDisclosure}
    assert not Disclosure.objects.exists()
    made = disclosures.record_all(recipient, people, actor=ACTOR, now=NOON)

    assert [is_new for _, is_new in made] == [True, True]
    assert disclosures.own_ids(recipient, [subject.pk, bob.pk]) == {subject.pk: [THEIRS]}
    assert everything_logged().count("disclosure.recorded") == 1
