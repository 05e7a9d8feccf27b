import pytest
from django.db import connection

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.erasure.models import Outcome
from memadmin.erasure.planting import plant_person
from memadmin.erasure.verification import controls, looking, missing, rows
from memadmin.erasure.verification.looking import Look, Place
from memadmin.erasure.verification.rows import filled_ones, long_ones
from memadmin.erasure.verification.schema import tables
from memadmin.jobs.models import Job
from memadmin.store.locations import Act
from memadmin.store.models import Archived, HistoryEntry, LongTermMemory, Pin, Session, Subject, WorkingMemory
from tests.erasure.papers import a_manifest, a_request
from tests.factories import ACTOR, NOON, a_memory, make_container, make_memory, store

pytestmark = pytest.mark.django_db

on_postgresql = pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite has neither such views nor such statistics")
PLACES = {
    "store.sessions": Session,
    "store.working": WorkingMemory,
    "store.long_term": LongTermMemory,
    "store.history": HistoryEntry,
    "store.archive": Archived,
    "store.pins": Pin,
}
SUBJECT = ("store_session", "store_workingmemory", "store_longtermmemory", "store_historyentry", "store_archived", "store_pin")


@pytest.fixture
def container():
    return make_container()


@pytest.fixture
def person(container):
    return plant_person(container, "user1", actor=ACTOR, now=NOON).subject


def manifest_of(person, **acts):
    own = [(place, row) for place, model in PLACES.items() for row in model.objects.filter(subject=person)]
    return a_manifest(a_request(person), [*own, ("store.subjects", person)], **acts)


def wipe(person, *, but=()):
    """Delete as somebody with a shell would: what deletes in the product is not under test here."""
    with connection.cursor() as cursor:
        for table in (*SUBJECT, "store_provenance"):
            if table not in but:
                cursor.execute(f"DELETE FROM {table} WHERE subject_id = {person.pk}")
        if not but:
            cursor.execute(f"DELETE FROM store_subject WHERE id = {person.pk}")
        if connection.vendor == "postgresql":
            cursor.execute("ANALYZE")


def look(manifest):
    verification = looking.begin(manifest, now=NOON)
    place = Place()
    while place is not None:
        part = Look(verification)
        place = looking.step(part, Place.read(place.as_cursor()), now=NOON)
        looking.save(part, now=NOON)
    return verification


def findings(verification):
    return sorted({(each.kind, each.table) for each in verification.findings.all()})


def test_a_person_who_has_gone_leaves_a_clean_look(person, container):
    make_memory(container, "user10 likes tea", user_id="user10")
    manifest = manifest_of(person)
    wipe(person)

    verification = look(manifest)

    assert findings(verification) == []
    assert verification.outcome == Outcome.CLEAN
    assert verification.controls == verification.controls_seen > 60
    assert verification.tables > 30


def test_all_tables_are_asked_once_whether_they_have_any_row(person, monkeypatch):
    manifest = manifest_of(person)
    wipe(person)
    asked = []
    monkeypatch.setattr(looking, "filled_ones", lambda every: asked.append(len(every)) or filled_ones(every))

    verification = look(manifest)

    assert verification.outcome == Outcome.CLEAN
    assert asked == [verification.tables]


@pytest.mark.parametrize("table", [*SUBJECT, "store_provenance"])
def test_what_is_left_in_a_table_is_found(person, table):
    manifest = manifest_of(person)
    wipe(person, but=[table])

    verification = look(manifest)

    assert ("residue", table) in findings(verification)
    assert verification.outcome == Outcome.RESIDUE


@pytest.mark.parametrize("table", [*SUBJECT, "store_provenance"])
def test_what_is_left_in_a_long_table_that_is_asked_part_by_part_is_found(person, monkeypatch, table):
    monkeypatch.setattr(rows, "ROWS_AT_ONCE", 1)
    plant_person(person.container, "bob", actor=ACTOR, now=NOON)
    manifest = manifest_of(person)
    wipe(person, but=[table])

    assert table in long_ones(tables())
    assert ("residue", table) in findings(look(manifest))


@pytest.mark.parametrize(
    "text",
    ["met user1 today", "user1", '"user1"', "a\nuser1", '{"who": "user1"}', '{"deep": "{\\"who\\": \\"user1\\"}"}', "users/user1/x"],
)
def test_a_mention_that_nobody_had_found_is_found(person, container, text):
    manifest = manifest_of(person)
    wipe(person)
    store(container, a_memory("x", user_id="bob", metadata={"note": text}))

    assert findings(look(manifest)) == [("residue", "store_longtermmemory")]


@pytest.mark.parametrize("text", ["user10", "xuser1", "USER1", "user_1", "user1_x"])
def test_another_word_is_no_residue(person, container, text):
    manifest = manifest_of(person)
    wipe(person)
    make_memory(container, text, user_id="bob")

    assert findings(look(manifest)) == []


@pytest.mark.parametrize("name", ["Zoë", 'say "hi"', "back\\slash", "مريم", "a/b c", "👩‍👩‍👧", "100%"])
def test_an_id_of_any_letters_is_found_in_other_peoples_json(container, name):
    person = plant_person(container, name, actor=ACTOR, now=NOON).subject
    manifest = manifest_of(person)
    wipe(person)
    store(container, a_memory("x", user_id="bob", metadata={"friend": {"name": name}}))

    assert findings(look(manifest)) == [("residue", "store_longtermmemory")]


def test_copies_in_technical_places_are_found(person):
    manifest = manifest_of(person)
    wipe(person)
    Job.objects.create(kind="export", target="users/user1", created_at=NOON)
    log.append(Action.ITEM_CHANGED, actor=ACTOR, target="users/x", at=NOON, payload={"before": "user1 called"})

    assert findings(look(manifest)) == [("residue", "audit_payload"), ("residue", "jobs_job")]


def test_a_table_that_nobody_has_described_is_looked_through(person):
    manifest = manifest_of(person)
    wipe(person)
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE zz_stranger (words varchar(100))")
        cursor.execute("INSERT INTO zz_stranger VALUES ('about user1')")

    assert ("residue", "zz_stranger") in findings(look(manifest))


def test_what_is_withheld_must_be_there_and_is_no_residue(person):
    manifest = manifest_of(person, acts=dict.fromkeys(["store.history", "store.subjects"], Act.WITHHOLD))
    wipe(person, but=["store_historyentry"])

    verification = look(manifest)

    assert findings(verification) == []
    assert (verification.expected, verification.found) == (2, 2)


def test_what_was_to_stay_and_has_gone_is_a_finding(person):
    manifest = manifest_of(person, acts={"store.history": Act.WITHHOLD})
    wipe(person)

    assert findings(look(manifest)) == [("missing", "store_historyentry")]


@pytest.mark.parametrize("at_once", [1, 2, 500])
def test_of_many_that_were_to_stay_each_is_counted_and_each_that_has_gone_is_told(container, person, monkeypatch, at_once):
    monkeypatch.setattr(missing, "AT_ONCE", at_once)
    kept = [make_memory(container, f"in court {number}", user_id="user1") for number in range(5)]
    manifest = manifest_of(person, acts=dict.fromkeys(["store.long_term", "store.subjects"], Act.WITHHOLD))
    wipe(person, but=["store_longtermmemory"])
    LongTermMemory.objects.filter(pk__in=[kept[0].pk, kept[3].pk]).delete()

    verification = look(manifest)

    assert findings(verification) == [("missing", "store_longtermmemory")]
    assert verification.findings.get().rows == 2
    assert verification.expected - verification.found == 2
    assert verification.found == LongTermMemory.objects.filter(subject=person).count() + 1


def test_a_look_that_does_not_see_its_control_proves_nothing(person, monkeypatch):
    manifest = manifest_of(person)
    wipe(person)
    monkeypatch.setattr(
        "memadmin.erasure.verification.scanning.unfolded", lambda value: iter([bytes(value)] if not isinstance(value, str) else [])
    )

    verification = look(manifest)

    assert verification.outcome == Outcome.BLIND
    assert ("blind", "store.archive") in findings(verification)
    assert verification.controls_seen < verification.controls


def test_controls_leave_nothing_behind():
    before = [model.objects.count() for model in (*PLACES.values(), Subject, Job)]

    controls.blind_places(now=NOON)

    assert [model.objects.count() for model in (*PLACES.values(), Subject, Job)] == before


def test_statistics_of_the_planner_are_looked_through(person):
    if connection.vendor != "postgresql":
        pytest.skip("SQLite keeps no statistics of values")
    store(person.container, *(a_memory(f"{number}", user_id="user1", author="user1") for number in range(50)))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE store_longtermmemory")
    manifest = manifest_of(person)
    with connection.cursor() as cursor:
        for table in (*SUBJECT, "store_provenance"):
            cursor.execute(f"DELETE FROM {table} WHERE subject_id = {person.pk}")
        cursor.execute(f"DELETE FROM store_subject WHERE id = {person.pk}")

    assert ("residue", "pg_stats") in findings(look(manifest))


def test_a_file_that_a_killed_import_left_is_looked_into(person, tmp_path, monkeypatch):
    manifest = manifest_of(person)
    wipe(person)
    (tmp_path / "memadmin-import-x").mkdir()
    (tmp_path / "memadmin-import-x" / "upload.jsonl").write_text('{"user_id": "user1"}')
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    assert findings(look(manifest)) == [("residue", "files")]


@pytest.mark.parametrize("folder", ["exports", "log"])
def test_a_file_beside_the_database_is_looked_into(person, tmp_path, settings, folder):
    settings.VAR_DIR = tmp_path
    manifest = manifest_of(person)
    wipe(person)
    (tmp_path / folder).mkdir()
    (tmp_path / folder / "left").write_text("of user1")

    assert findings(look(manifest)) == [("residue", "files")]


@on_postgresql
def test_a_view_that_keeps_its_rows_is_looked_through(person):
    manifest = manifest_of(person)
    with connection.cursor() as cursor:
        cursor.execute("CREATE MATERIALIZED VIEW zz_kept AS SELECT user_id FROM store_subject")
    wipe(person)

    assert findings(look(manifest)) == [("residue", "zz_kept")]


@on_postgresql
def test_statistics_of_a_table_may_name_the_person_where_rows_of_theirs_stay_in_it(person):
    store(person.container, *(a_memory(f"{number}", user_id="user1", author="user1") for number in range(50)))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE store_longtermmemory")
    manifest = manifest_of(person, acts=dict.fromkeys(["store.long_term", "store.subjects"], Act.WITHHOLD))
    wipe(person, but=["store_longtermmemory"])

    assert look(manifest).outcome == Outcome.CLEAN


def test_the_person_come_back_under_their_id_is_a_residue(container, person):
    manifest = manifest_of(person)
    wipe(person)
    make_memory(container, "likes tea", user_id="user1", namespace={"user_id": "user1"})

    verification = look(manifest)

    assert {(finding.table, finding.column) for finding in verification.findings.all()} >= {
        ("store_subject", "user_id"),
        ("store_longtermmemory", "namespace"),
    }


def test_who_has_the_id_elsewhere_or_one_that_says_it_may_say_it(container, person):
    make_memory(make_container("elsewhere"), "likes tea", user_id="user1", namespace={"user_id": "user1"})
    make_memory(container, "likes tea", user_id="user1#2", namespace={"user_id": "user1#2"})
    manifest = manifest_of(person)
    wipe(person)

    assert look(manifest).outcome == Outcome.CLEAN


def test_what_somebody_else_says_of_the_person_is_a_residue(container, person):
    make_memory(container, "user1 likes tea", user_id="bob")
    manifest = manifest_of(person)
    wipe(person)

    assert [(finding.table, finding.column) for finding in look(manifest).findings.all()] == [("store_longtermmemory", "text")]
