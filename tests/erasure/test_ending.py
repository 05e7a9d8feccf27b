import json
from datetime import timedelta

import pytest
from django.db import connection

from memadmin.audit import ledger
from memadmin.audit.actions import Action
from memadmin.audit.models import AuditEntry
from memadmin.audit.verification import verify
from memadmin.erasure import backups, ending, notices
from memadmin.erasure.certificates.checking import check
from memadmin.erasure.certificates.issuing import file_of
from memadmin.erasure.execution import closing
from memadmin.erasure.intake import target_of
from memadmin.erasure.models import ErasureRequest, Level, Line, PlaceOutcome, RecipientKind, RequestItem, Status
from memadmin.erasure.verification import controls, looking
from memadmin.jobs import queue
from memadmin.jobs.runner import run_inline
from memadmin.lifecycle import sealing
from memadmin.store import configuration, holding, suppression
from memadmin.store.holding import Placing
from memadmin.store.models import Container, LongTermMemory, Mode, Returned, Suppression
from tests.erasure.executing import execute
from tests.erasure.papers import a_manifest, a_request
from tests.erasure.test_backups import a_backup
from tests.erasure.test_notices import a_recipient
from tests.erasure.workflow import approved, opened
from tests.factories import ACTOR, NOON, a_memory, days, make_container, make_memory, store, subject_of

pytestmark = pytest.mark.django_db
LATER = NOON + days(40)


def the_night(now):
    run_inline(queue.enqueue(ending.DAILY, requested_by=ACTOR, now=now), now=now)


def an_erasure(level=Level.LIVE):
    """A complete erasure by its papers alone: what an execution leaves of it."""
    container = make_container()
    subject = subject_of(container, make_memory(container, "likes tea", user_id="ann").subject.user_id)
    request = a_request(subject)
    manifest = a_manifest(request, [("store.subjects", subject)])
    PlaceOutcome.objects.create(request=request, location="store.subjects", erased=1)
    Line.objects.create(manifest=manifest, location="store.subjects", item_class="A", act="delete", items=1, size=0)
    suppression.fence(["ann"], container=container, request_ref=target_of(request), actor=ACTOR, now=NOON)
    look = looking.begin(manifest, now=NOON)
    type(look).objects.filter(pk=look.pk).update(outcome="clean", ended_at=NOON)
    closing.close(request, manifest, actor=ACTOR, now=NOON)
    ErasureRequest.objects.filter(pk=request.pk).update(state=Status.COMPLETED, completed_at=NOON, outcome_code=level)
    request.refresh_from_db()
    return request


def codes(request, now=LATER):
    request.refresh_from_db()
    return [wait.code for wait in ending.waits_for(request, now=now)]


def test_with_unknown_backups_the_first_certificate_says_so_and_the_request_stays_complete():
    request = an_erasure()

    the_night(LATER)

    assert codes(request) == ["backups_unknown"]
    assert request.state == Status.COMPLETED
    assert json.loads(request.certificates.get().document)["backups"]["expire_at"] == "unknown"


def test_a_day_that_has_passed_destroys_no_backup():
    row = a_backup(began=NOON - days(1), lasts=10)
    request = an_erasure()
    backups.check_inventory(actor=ACTOR, now=LATER)

    the_night(LATER)

    assert codes(request) == ["backups_standing"]
    assert request.state == Status.COMPLETED
    backups.confirm_destroyed(row, "ticket 7", actor=ACTOR, now=LATER)
    the_night(LATER)
    request.refresh_from_db()
    assert request.state == Status.CLOSED


def test_somebody_has_to_say_after_the_erasure_that_the_inventory_is_whole():
    backups.check_inventory(actor=ACTOR, now=NOON - days(1))
    request = an_erasure()

    assert codes(request) == ["inventory_unchecked"]


def test_the_last_certificate_names_the_first_and_everything_is_in_ledger_and_log():
    configuration.change("erasure_backup_days", 30, actor=ACTOR, now=NOON)
    request = an_erasure()
    the_night(NOON + days(29))
    request.refresh_from_db()
    assert request.state == Status.COMPLETED

    the_night(LATER)

    request.refresh_from_db()
    first, last = request.certificates.order_by("pk")
    document = json.loads(last.document)
    assert (request.state, last.level, document["follows"]) == (Status.CLOSED, "closed", first.digest)
    assert {place["reached"] for place in document["places"]} == {"L4"}
    assert document["manifest"] == json.loads(first.document)["manifest"]
    assert check(file_of(last)).faults == []
    assert [line.kind for line in ledger.lines()][-1] == "closed"
    assert AuditEntry.objects.filter(action=Action.ERASURE_CLOSED).count() == 1
    assert verify(connection).exit_code == 0


def test_closing_twice_is_once():
    backups.check_inventory(actor=ACTOR, now=NOON)
    request = an_erasure()

    the_night(LATER)
    the_night(LATER)

    assert request.certificates.count() == 2
    assert [line.kind for line in ledger.lines()].count("closed") == 1


@pytest.mark.parametrize("dies_in", ["write", "keep_until"])
def test_killed_while_closing_it_goes_on_with_the_same_certificate(dies_in, monkeypatch):
    backups.check_inventory(actor=ACTOR, now=NOON)
    request = an_erasure()
    module = ledger if dies_in == "write" else suppression
    with monkeypatch.context() as patched:
        patched.setattr(module, dies_in, lambda *given, **details: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            ending.close(request, now=LATER)
    request.refresh_from_db()
    assert request.state == Status.COMPLETED

    ending.close(request, now=LATER)

    assert (request.state, request.certificates.count()) == (Status.CLOSED, 2)
    assert [line.kind for line in ledger.lines()].count("closed") == 1


def test_nobody_is_forgotten_while_a_backup_may_stand_and_only_counts_stay_afterwards():
    a_backup(began=NOON - days(1), lasts=10)
    request = an_erasure()
    suppression.let_lapse(actor=sealing.HOURLY_ACTOR, now=LATER)
    assert Suppression.objects.filter(kind="subject").count() == 1

    backups.confirm_destroyed(backups.BackupRecord.objects.get(), "ticket 7", actor=ACTOR, now=LATER)
    backups.check_inventory(actor=ACTOR, now=LATER)
    the_night(LATER)
    assert request.subjects.exclude(subject_ref="").exists()
    suppression.let_lapse(actor=sealing.HOURLY_ACTOR, now=LATER + timedelta(hours=1))
    the_night(LATER + days(1))

    assert not Suppression.objects.exists()
    assert list(request.subjects.values_list("subject_ref", "subject_uid", "user_id")) == [("", None, None)]
    assert AuditEntry.objects.get(action=Action.ERASURE_FORGOTTEN).counts == {"subjects": 1, "items": 0}
    assert request.manifests.get().root == json.loads(request.certificates.first().document)["manifest"]["root"]
    assert not request.manifests.get().items.exists()
    assert request.manifests.get().lines.exists()


def test_recipients_who_have_not_answered_hold_it_open_and_the_certificates_count_them():
    a_recipient(kind=RecipientKind.MANUAL, contact="privacy@partner.example.org")
    backups.check_inventory(actor=ACTOR, now=NOON)
    request = an_erasure()
    the_night(LATER)
    assert codes(request) == ["notices_open"]
    assert notices.names_in(request.notices.get()) == [{"type": "user", "id": "ann"}]

    notices.acknowledge(request.notices.get(), actor=ACTOR, now=LATER)
    the_night(LATER)

    assert codes(request) == []
    assert [json.loads(each.document)["recipients"] for each in request.certificates.order_by("pk")] == [{"pending": 1}, {"acked": 1}]


def test_the_block_that_ends_after_the_backups_is_kept_to_its_end():
    configuration.change("erasure_block_days", 90, actor=ACTOR, now=NOON)
    backups.check_inventory(actor=ACTOR, now=NOON)
    an_erasure()

    the_night(LATER)

    assert Suppression.objects.get(kind="subject").keep_until == NOON + days(90)


def test_what_arrives_after_an_erasure_is_refused_or_set_aside_as_the_setting_says():
    an_erasure()
    assert Suppression.objects.get(kind="subject").mode == Mode.BLOCK
    configuration.change("erasure_set_aside", True, actor=ACTOR, now=NOON)
    Suppression.objects.update(mode=Mode.FENCE)

    closing._settle(ErasureRequest.objects.get(), actor=ACTOR, now=NOON)
    store(Container.objects.get(), a_memory("likes tea again", user_id="ann"))

    assert Returned.objects.get().expires_at is not None
    assert not LongTermMemory.objects.filter(text="likes tea again").exists()


@pytest.mark.django_db(transaction=True)
def test_97_what_is_partly_refused_is_closed_as_partly_refused_with_counts_and_review_day():
    container = make_container()
    kept, _ = make_memory(container, "in court", user_id="ann"), make_memory(container, "tea", user_id="ann")
    make_memory(container, "coffee", user_id="bob")
    review_on = (NOON + days(90)).date()
    holding.place(kept, Placing(kind="hold", authority="court_order", reason="court", review_on=review_on), actor=ACTOR, now=NOON)
    backups.check_inventory(actor=ACTOR, now=NOON)
    request = opened("ann")
    approved(request)
    execute(request)

    the_night(LATER)

    request.refresh_from_db()
    first, last = request.certificates.order_by("pk")
    assert (request.state, first.level, last.level) == (Status.CLOSED, "partly", "closed_partly")
    for document in (json.loads(first.document), json.loads(last.document)):
        assert document["title"].startswith("partly refused")
        assert sum(each["items"] for each in document["withheld"]) == request.manifests.get().items.filter(act="withhold").count()
        assert {each["review_on"] for each in document["withheld"]} == {review_on.isoformat()}
    assert request.manifests.get().items.filter(act="withhold").exists()
    assert subject_of(container, "ann").long_term == 1


def test_items_that_a_request_named_are_forgotten_too():
    backups.check_inventory(actor=ACTOR, now=NOON)
    request = an_erasure()
    memory = make_memory(make_container("other"), "likes gin", user_id="bob")
    named = {"item_type": "long-term", "item_uid": memory.uid, "item_ref": "r", "subject_id": memory.subject_id}
    RequestItem.objects.create(request=request, container=memory.container, **named)
    Suppression.objects.all().delete()

    the_night(LATER)

    assert list(request.items.values_list("item_uid", "item_ref")) == [(None, "")]


@pytest.mark.django_db(transaction=True)
def test_93_a_control_that_is_not_seen_in_one_place_means_no_certificate(monkeypatch):
    make_memory(make_container(), "likes tea", user_id="ann")
    request, real = opened("ann"), controls.scan
    approved(request)
    monkeypatch.setattr(
        controls, "scan", lambda table, *given, **named: iter(()) if table.name == "store_pin" else real(table, *given, **named)
    )

    execute(request)

    assert request.state == Status.RESIDUE_FOUND
    look = request.verifications.get()
    assert (look.outcome, look.controls_seen < look.controls) == ("blind", True)
    assert set(look.findings.values_list("kind", "table")) == {("blind", "store.pins")}
    assert not request.certificates.exists()
    assert not Suppression.objects.exclude(mode="fence").exists()
