import json
from dataclasses import replace

import pytest
from django.conf import settings as django_settings
from django.db import connection, transaction

from memadmin.audit import ledger
from memadmin.audit.actions import Action
from memadmin.audit.models import AuditEntry, AuditPayload
from memadmin.audit.verification import verify
from memadmin.erasure.certificates import checking
from memadmin.erasure.certificates.issuing import file_of
from memadmin.erasure.execution import resuming, steps
from memadmin.erasure.models import ErasureRequest, Status
from memadmin.erasure.planting import made_row_by_row, plant_person, plant_row
from memadmin.jobs.models import Job
from memadmin.jobs.runner import run_inline, run_stretch
from memadmin.store import configuration, holding, ingest, locations
from memadmin.store.check import check
from memadmin.store.holding import Placing
from memadmin.store.intake import Source
from memadmin.store.models import (
    Archived,
    HistoryEntry,
    Hold,
    ItemType,
    LongTermMemory,
    Pin,
    Provenance,
    Session,
    Subject,
    Suppression,
    WorkingMemory,
)
from tests.erasure.workflow import approved, opened, opened_for
from tests.factories import ACTOR, NOON, a_memory, days, make_container, make_memory, store, subject_of

pytestmark = pytest.mark.django_db(transaction=True)
CANARY = "zebrafinch7canary"
# Rows that stand without another row beside them: jobs, queue, browsers, log, runs, recalls, reports, what came back.
PLANTED = {
    *("jobs.jobs", "jobs.queue", "jobs.results", "jobs.engine_schedules", "access.browser_sessions", "store.audit_payloads"),
    *("lifecycle.run_victims", "lifecycle.run_clusters", "store.recalls", "store.feedback", "store.returned"),
}
MODELS = (Session, WorkingMemory, LongTermMemory, HistoryEntry, Archived, Pin, Provenance)


@pytest.fixture
def container():
    return make_container()


@pytest.fixture
def person(container):
    return plant_person(container, CANARY, actor=ACTOR, now=NOON)


def execute(request, *, now=NOON):
    steps.begin_approved(now=now)
    request.refresh_from_db()
    if request.state == Status.EXECUTING:
        run_inline(Job.objects.get(kind=steps.EXECUTE, target__endswith=str(request.uid)), now=now)
    request.refresh_from_db()
    return request


def erased(user_id, **details):
    request = opened(user_id, **details)
    approved(request)
    return execute(request)


def everything():
    """Return what the database says, as bytes."""
    if connection.vendor == "sqlite":
        connection.close()
        path = django_settings.DATABASES["default"]["NAME"]
        parts = []
        for end in ("", "-wal"):
            try:
                with open(f"{path}{end}", "rb") as file:
                    parts.append(file.read())
            except FileNotFoundError:
                continue
        return b"".join(parts)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema() AND table_type = 'BASE TABLE'"
        )
        said = []
        for (table,) in cursor.fetchall():
            cursor.execute(f'SELECT t::text FROM "{table}" t')
            said += [row for (row,) in cursor.fetchall()]
        cursor.execute("SELECT concat_ws(' ', most_common_vals::text, histogram_bounds::text) FROM pg_stats")
        said += [row or "" for (row,) in cursor.fetchall()]
    return "\n".join(said).encode()


def test_a_person_is_erased_verified_and_certified(container, person):
    make_memory(container, "likes coffee", user_id="bob")

    request = erased(CANARY)

    assert (request.state, request.error_code) == (Status.COMPLETED, "")
    assert [model.objects.filter(subject_id=person.subject.pk).count() for model in MODELS] == [0] * len(MODELS)
    assert not Subject.objects.filter(pk=person.subject.pk).exists()
    assert subject_of(container, "bob").long_term == 1
    certificate = request.certificates.get()
    assert checking.check(file_of(certificate)).faults == []
    assert sum(place["erased"] for place in json.loads(certificate.document)["places"]) >= 6
    assert request.verifications.get().outcome == "clean"
    assert verify(connection).exit_code == 0
    assert list(check()) == []


def test_a_canary_in_every_place_is_in_no_byte_of_the_database_afterwards(container, person):
    for location in made_row_by_row():
        if location.name in PLANTED:
            with transaction.atomic():
                plant_row(location, person, now=NOON)
    assert CANARY.encode() in everything()

    request = erased(CANARY)

    assert request.state == Status.COMPLETED, list(request.verifications.get().findings.values_list("kind", "table", "column"))
    assert everything().count(CANARY.encode()) == 0


@pytest.mark.parametrize("others", [0, 3])
def test_45_nothing_of_the_person_stays_in_the_statistics_of_columns_where_rows_are_left_and_where_none_are(container, person, others):
    for number in range(3):
        make_memory(container, f"{CANARY} says {number}", user_id=CANARY)
        for other in range(others):
            make_memory(container, f"likes tea {number}", user_id=f"somebody {other}")
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
            cursor.execute(
                "SELECT count(*) FROM pg_stats WHERE concat_ws(' ', most_common_vals, histogram_bounds) LIKE %s", [f"%{CANARY}%"]
            )
            assert cursor.fetchone()[0] > 0

    request = erased(CANARY)

    assert request.state == Status.COMPLETED, list(request.verifications.get().findings.values_list("kind", "table", "column"))
    assert everything().count(CANARY.encode()) == 0


def test_a_neighbour_whose_id_begins_alike_is_as_before(container, person):
    store(container, a_memory("tea", user_id=f"{CANARY}2", metadata={"a": 1}))
    before = list(LongTermMemory.objects.filter(subject__user_id=f"{CANARY}2").values())

    erased(CANARY)

    assert list(LongTermMemory.objects.filter(subject__user_id=f"{CANARY}2").values()) == before


def test_17_what_is_pinned_is_erased(container):
    make_memory(container, "allergic", user_id="ann", pin=None)
    plant_person(container, "pinned-ann", actor=ACTOR, now=NOON)

    assert erased("pinned-ann").state == Status.COMPLETED
    assert not Pin.objects.exists()


def test_11_what_came_under_a_hold_after_the_approval_is_kept_and_the_rest_goes(container, monkeypatch):
    kept, gone = make_memory(container, "in court", user_id="ann"), make_memory(container, "tea", user_id="ann")
    request = opened("ann")
    approved(request)
    steps.begin_approved(now=NOON)
    until = (NOON + days(90)).date()
    placing = Placing(kind="hold", authority="court_order", reason="court", review_on=until)
    holding.place(kept, placing, actor=ACTOR, now=NOON)

    run_inline(Job.objects.get(kind=steps.EXECUTE), now=NOON)
    request.refresh_from_db()

    assert list(LongTermMemory.objects.values_list("uid", flat=True)) == [kept.uid]
    assert gone.uid != kept.uid
    assert request.state == Status.COMPLETED, list(request.verifications.get().findings.values_list("kind", "table", "column"))
    assert request.certificates.get().level == "partly"


def a_placing(kind):
    authority = "court_order" if kind == "hold" else "request_pending"
    return Placing(kind=kind, authority=authority, reason="asked for", review_on=(NOON + days(90)).date())


def test_who_is_only_restricted_is_erased_wholly_and_the_restriction_with_them(container, person):
    holding.place(person.subject, a_placing("restriction"), actor=ACTOR, now=NOON)

    request = erased(CANARY)

    assert request.state == Status.COMPLETED, list(request.verifications.get().findings.values_list("kind", "table", "column"))
    assert request.certificates.get().level != "partly"
    assert [model.objects.filter(subject_id=person.subject.pk).count() for model in MODELS] == [0] * len(MODELS)
    assert not Subject.objects.filter(pk=person.subject.pk).exists()
    assert not Hold.objects.exists()
    assert list(check()) == []


def test_a_restriction_stays_on_what_a_hold_keeps(container):
    kept, _ = make_memory(container, "in court", user_id="ann"), make_memory(container, "tea", user_id="ann")
    make_memory(container, "coffee", user_id="bob")  # the statistics of a table begin with two values
    holding.place(kept.subject, a_placing("restriction"), actor=ACTOR, now=NOON)
    holding.place(kept, a_placing("hold"), actor=ACTOR, now=NOON)

    request = erased("ann")

    assert request.state == Status.COMPLETED, list(request.verifications.get().findings.values_list("kind", "table", "column"))
    left = LongTermMemory.objects.filter(subject=kept.subject)
    assert [(row.text, row.held, row.restricted) for row in left] == [("in court", True, True)]
    assert Hold.objects.count() == 2
    assert list(check()) == []


def test_a_restriction_placed_after_the_approval_does_not_send_the_request_back(container):
    memory = make_memory(container, "met ann at noon", user_id="bob")
    make_memory(container, "tea", user_id="ann")
    request = opened("ann")
    approved(request)
    holding.place(subject_of(container, "ann"), a_placing("restriction"), actor=ACTOR, now=NOON)
    holding.place(memory.subject, a_placing("restriction"), actor=ACTOR, now=NOON)

    execute(request)

    assert request.state == Status.COMPLETED, list(request.verifications.get().findings.values_list("kind", "table", "column"))
    assert LongTermMemory.objects.get().text == "met [erased] at noon"
    assert not Subject.objects.filter(user_id="ann").exists()


def test_words_of_the_person_leave_what_belongs_to_others(container):
    make_memory(container, "The code for the blue garage door is seven four one nine", user_id="ann")
    quoted = "She said: the code for the BLUE garage door is seven four one nine! Then we left."
    store(container, a_memory(quoted, user_id="bob"), a_memory("met ann at noon", user_id="bob"), a_memory("likes tea", user_id="bob"))

    request = erased("ann")

    assert request.state == Status.COMPLETED, list(request.verifications.get().findings.values_list("kind", "table", "column"))
    texts = sorted(LongTermMemory.objects.filter(subject__user_id="bob").values_list("text", flat=True))
    assert "met [erased] at noon" in texts
    assert "likes tea" in texts
    assert not any("garage" in text for text in texts)
    assert subject_of(container, "bob").tokens == sum(LongTermMemory.objects.values_list("tokens", flat=True))


def test_35_a_summary_of_several_people_loses_what_it_says(container):
    theirs = make_memory(container, "ann moves to Oslo", user_id="ann")
    others = make_memory(container, "bob stays", user_id="bob")
    sources = tuple(Source(item_type=ItemType.LONG_TERM, uid=each.uid) for each in (theirs, others))
    summary = make_memory(container, "one moves, one stays", user_id="bob", strategy_type="SUMMARY", sources=sources)

    request = erased("ann")

    assert request.state == Status.COMPLETED, list(request.verifications.get().findings.values_list("kind", "table", "column"))
    summary.refresh_from_db()
    assert (summary.text, summary.metadata) == ("", {"rederivation": "pending"})


def test_a_single_memory_goes_with_its_history_and_is_not_taken_again(container):
    memory = make_memory(container, "likes gin", user_id="ann")
    make_memory(container, "likes tea", user_id="ann")
    request = opened_for(memory)
    approved(request)

    execute(request)

    assert request.state == Status.COMPLETED
    assert list(LongTermMemory.objects.values_list("text", flat=True)) == ["likes tea"]
    assert Suppression.objects.filter(kind="text").count() == 1


def test_an_erased_person_is_refused_afterwards(container, person):
    erased(CANARY)

    with pytest.raises(Exception, match=r"erased|suppress"):
        ingest.write(container, [a_memory("again", user_id=CANARY)], actor=ACTOR, now=NOON)
    assert not LongTermMemory.objects.exists()


def test_18_an_erasure_whose_ledger_cannot_be_written_deletes_nothing_and_says_so(container, person, settings, tmp_path):
    settings.ERASURE_LEDGERS = [str(tmp_path / "there.jsonl"), "/proc/no/ledger.jsonl"]
    request = opened(CANARY)
    approved(request)
    steps.begin_approved(now=NOON)
    job = Job.objects.get(kind=steps.EXECUTE)
    for attempt in range(5):
        with pytest.raises(ledger.LedgerUnusable):
            run_inline(job, now=NOON + days(attempt))
        job.refresh_from_db()
    request.refresh_from_db()

    assert (request.state, request.error_code) == (Status.STALLED, "LedgerUnusable")
    assert LongTermMemory.objects.filter(subject=person.subject).exists()

    settings.ERASURE_LEDGERS = [str(tmp_path / "there.jsonl")]
    resuming.go_on(request, actor=ACTOR, now=NOON)
    run_inline(Job.objects.get(kind=steps.EXECUTE), now=NOON)
    request.refresh_from_db()
    assert request.state == Status.COMPLETED


def test_the_emergency_stop_holds_everything(container, person):
    request = opened(CANARY)
    approved(request)
    configuration.change("erasure_paused", True, actor=ACTOR, now=NOON)

    assert steps.begin_approved(now=NOON) == 0
    request.refresh_from_db()
    assert request.state == Status.APPROVED


def test_an_erasure_under_way_waits_for_the_end_of_the_stop_however_long_that_takes(container, person):
    request = opened(CANARY)
    approved(request)
    steps.begin_approved(now=NOON)
    job = Job.objects.get(kind=steps.EXECUTE)
    configuration.change("erasure_paused", True, actor=ACTOR, now=NOON)

    for day in range(10):
        run_stretch(job.pk, clock=lambda day=day: NOON + days(day))
    request.refresh_from_db()
    assert request.state == Status.EXECUTING
    assert LongTermMemory.objects.filter(subject=person.subject).exists()

    configuration.change("erasure_paused", False, actor=ACTOR, now=NOON + days(10))
    run_stretch(job.pk, clock=lambda: NOON + days(10))
    request.refresh_from_db()
    assert request.state == Status.COMPLETED


def test_94_a_residue_is_found_and_nothing_is_complete(container, person, monkeypatch):
    request = opened(CANARY)
    approved(request)
    steps.begin_approved(now=NOON)
    lying = replace(locations.get("store.archive"), delete=lambda keys: len(keys))
    monkeypatch.setitem(locations.LOCATIONS, "store.archive", lying)

    run_inline(Job.objects.get(kind=steps.EXECUTE), now=NOON)
    request.refresh_from_db()

    assert request.state == Status.RESIDUE_FOUND
    assert not request.certificates.exists()
    assert request.verifications.get().findings.filter(table="store_archived").exists()


@pytest.mark.parametrize("phase", steps.PHASES)
def test_2_killed_twice_at_each_step_it_ends_as_if_it_had_not_been(container, person, monkeypatch, phase):
    make_memory(container, "likes tea", user_id="bob")
    request = opened(CANARY)
    approved(request)
    steps.begin_approved(now=NOON)
    job = Job.objects.get(kind=steps.EXECUTE)
    real, deaths = steps._STEPS[phase], []

    def dies(*arguments):
        if len(deaths) < 2:
            deaths.append(phase)
            if len(deaths) == 2:
                real(*arguments)  # after its work, before the job has saved it
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setitem(steps._STEPS, phase, dies)
    for hour in range(3):
        try:
            run_inline(job, now=NOON + days(hour / 24))
        except KeyboardInterrupt:
            continue
    request.refresh_from_db()

    assert request.state == Status.COMPLETED
    assert len([line for line in ledger.lines() if line.kind == "intent"]) == 1
    assert request.certificates.count() == 1
    assert subject_of(container, "bob").long_term == 1
    assert not Subject.objects.filter(user_id=CANARY).exists()
    assert verify(connection).exit_code == 0


def test_58_an_erasure_that_is_complete_is_not_done_again(container, person):
    request = erased(CANARY)
    job = Job.objects.get(kind=steps.EXECUTE)

    steps.begin_approved(now=NOON)

    assert Job.objects.filter(kind=steps.EXECUTE).count() == 1
    assert job.state == "done"
    assert ErasureRequest.objects.get(pk=request.pk).attempt == 1


def test_the_log_of_an_erasure_names_nobody(container, person):
    erased(CANARY)

    said = "".join(AuditEntry.objects.values_list("leaf", flat=True)) + "".join(AuditPayload.objects.values_list("body", flat=True))
    assert CANARY not in said
    assert AuditEntry.objects.filter(action=Action.ERASURE_COMPLETED).count() == 1
    assert CANARY not in "".join(json.dumps(line.facts) for line in ledger.lines())
