from datetime import timedelta
from pathlib import Path

import pytest
from django.db import IntegrityError, connection, transaction

from memadmin.audit.models import AuditEntry, AuditPayload
from memadmin.store import appending, archive, ingest, quarantine, releasing, suppression, suppression_keys
from memadmin.store.archive import ArchiveNote
from memadmin.store.models import Archived, LongTermMemory, Mode, Returned, Session, Subject, SuppressedKind, Suppression, WorkingMemory
from memadmin.store.opening import Suppressed
from memadmin.store.removal import Chosen, remove_long_term
from memadmin.store.suppression import Terms
from tests.factories import (
    ACTOR,
    NOON,
    a_change,
    a_memory,
    a_message,
    a_session,
    days,
    make_container,
    make_memory,
    make_session,
    store,
    subject_of,
)

pytestmark = pytest.mark.django_db
REQUEST = "erasure/7f0c"
CANARY = "ann.canary@example.org"


@pytest.fixture(autouse=True)
def own_keys(settings, tmp_path):
    settings.SUPPRESSION_KEYS = str(tmp_path / "keys.json")


def block(container, *user_ids, mode=Mode.BLOCK, **until):
    return suppression.suppress_users(
        user_ids, container=container, terms=Terms(mode=mode, **until), request_ref=REQUEST, actor=ACTOR, now=NOON
    )


def erase_text(container, *texts, mode=Mode.BLOCK):
    return suppression.suppress_texts(texts, container=container, terms=Terms(mode=mode), request_ref=REQUEST, actor=ACTOR, now=NOON)


def test_a_blocked_user_is_refused_whatever_arrives_and_nothing_is_left():
    container = make_container()
    block(container, "ann")

    for item in (a_memory(), a_message(), a_session(), a_change()):
        with pytest.raises(Suppressed):
            store(container, item)
    assert not Subject.objects.filter(container=container).exists()


def test_25_a_user_whose_id_begins_alike_is_not_refused():
    container = make_container()
    block(container, "user1")

    store(container, a_memory(user_id="user10"), a_memory(user_id="User1"), a_memory(user_id="user1 "))

    assert LongTermMemory.objects.count() == 3


def test_29_a_suppression_of_one_container_leaves_the_others_alone():
    shop, clinic = make_container("shop"), make_container("clinic")
    block(shop, "ann")

    store(clinic, a_memory())

    with pytest.raises(Suppressed):
        store(shop, a_memory())


def test_a_suppression_everywhere_counts_in_containers_that_are_made_later():
    block(None, "ann")

    with pytest.raises(Suppressed):
        store(make_container(), a_memory())


def test_30_ids_that_look_like_code_are_taken_as_they_are():
    container = make_container()
    block(container, "%", "' OR 1=1 --", "*")

    store(container, a_memory(user_id="ann"))

    for name in ("%", "' OR 1=1 --", "*"):
        with pytest.raises(Suppressed):
            store(container, a_memory(user_id=name))


def test_the_refusal_names_the_user_to_the_caller_and_not_in_its_words():
    container = make_container()
    block(container, CANARY)

    with pytest.raises(Suppressed) as refused:
        store(container, a_memory(user_id=CANARY))

    assert refused.value.users == {CANARY}
    assert CANARY not in str(refused.value)


def test_neither_the_id_nor_the_text_can_be_read_from_the_tables():
    container = make_container()
    block(container, CANARY)
    erase_text(container, f"mail to {CANARY}")

    rows = [str(row) for model in (Suppression, AuditEntry, AuditPayload) for row in model.objects.values_list()]

    assert [row for row in rows if CANARY in row] == []


def test_6_a_fenced_user_is_refused_by_every_way_in():
    container = make_container()
    make_session(container)
    suppression.fence(["ann"], container=container, request_ref=REQUEST, actor=ACTOR, now=NOON)

    with pytest.raises(Suppressed):
        store(container, a_message())
    assert appending.append(container, a_message(uid=subject_of(container).uid), now=NOON) is None
    with pytest.raises(Suppressed):
        ingest.hold_users(container, ["ann"], actor=ACTOR, now=NOON)


def test_7_a_fence_moves_the_epoch_of_the_user_and_of_nobody_else():
    container = make_container()
    store(container, a_memory(), a_memory(user_id="bob"))

    suppression.fence(["ann"], container=container, request_ref=REQUEST, actor=ACTOR, now=NOON)

    assert (subject_of(container).epoch, subject_of(container, "bob").epoch) == (2, 1)


@pytest.mark.parametrize("table", ["store_session", "store_workingmemory", "store_longtermmemory", "store_historyentry"])
def test_10_the_database_refuses_raw_rows_of_a_fenced_user(table):
    container = make_container()
    make_session(container, messages=1)
    store(container, a_memory(), a_change())
    suppression.fence(["ann"], container=container, request_ref=REQUEST, actor=ACTOR, now=NOON)

    with pytest.raises(IntegrityError, match="fenced"), transaction.atomic():
        _copy_rows(table)


@pytest.mark.parametrize("table", ["store_session", "store_workingmemory", "store_longtermmemory", "store_historyentry"])
def test_10_the_database_takes_raw_rows_of_everybody_else(table):
    container = make_container()
    make_session(container, messages=1)
    store(container, a_memory(), a_change())
    suppression.fence(["bob"], container=container, request_ref=REQUEST, actor=ACTOR, now=NOON)

    assert _copy_rows(table) == 1


def test_10_the_database_refuses_to_give_rows_to_a_fenced_or_missing_user():
    container = make_container()
    store(container, a_memory(), a_memory(user_id="bob"))
    suppression.fence(["ann"], container=container, request_ref=REQUEST, actor=ACTOR, now=NOON)

    for key in (subject_of(container).pk, 999_999):
        with pytest.raises(IntegrityError, match="fenced"), transaction.atomic():
            LongTermMemory.objects.filter(subject__user_id="bob").update(subject_id=key)
    with pytest.raises(IntegrityError), transaction.atomic():
        LongTermMemory.objects.filter(subject__user_id="bob").update(subject_id=None)


def test_settling_a_fence_lets_go_of_it_on_other_terms():
    container = make_container()
    store(container, a_memory())
    suppression.fence(["ann"], container=container, request_ref=REQUEST, actor=ACTOR, now=NOON)

    terms = Terms(mode=Mode.BLOCK, block_until=NOON + days(30), keep_until=NOON + days(90))
    changed = suppression.settle(REQUEST, terms=terms, user_ids=["ann"], actor=ACTOR, now=NOON)

    assert (changed, subject_of(container).suppressed) == (1, Mode.BLOCK)


def test_f82_a_new_person_under_the_same_id_is_let_in_after_the_block_and_people_are_told():
    container = make_container()
    block(container, "foo", block_until=NOON + days(30), keep_until=NOON + days(90))

    with pytest.raises(Suppressed):
        store(container, a_memory(user_id="foo"), now=NOON + days(29))
    store(container, a_memory("new here", user_id="foo"), now=NOON + days(31))

    subject = subject_of(container, "foo")
    assert (subject.long_term, subject.suppressed) == (1, Mode.FLAG)


def test_what_need_not_be_known_any_more_is_forgotten():
    container = make_container()
    block(container, "foo", block_until=NOON + days(30), keep_until=NOON + days(90))
    store(container, a_memory(user_id="foo"), now=NOON + days(31))

    lapsed = [suppression.let_lapse(actor="job/tidy", now=NOON + days(number)) for number in (31, 91)]

    assert lapsed == [{"flagged": 1, "forgotten": 0}, {"flagged": 0, "forgotten": 1}]
    assert subject_of(container, "foo").suppressed == ""
    assert not Suppression.objects.exists()


def test_lifting_needs_a_reason_and_lets_the_user_in_anew():
    container = make_container()
    [placed] = block(container, "ann")

    with pytest.raises(suppression.NoReason):
        suppression.lift(placed, reason=" \u2800 ", actor=ACTOR, now=NOON)
    suppression.lift(placed, reason="signed a new contract", actor=ACTOR, now=NOON)

    store(container, a_memory("new"))
    assert subject_of(container).suppressed == ""
    with pytest.raises(suppression.NotStanding):
        suppression.lift(placed, reason="again", actor=ACTOR, now=NOON)


def test_a_fence_cannot_be_lifted_while_the_erasure_runs():
    container = make_container()
    [placed] = suppression.fence(["ann"], container=container, request_ref=REQUEST, actor=ACTOR, now=NOON)

    with pytest.raises(suppression.NotStanding):
        suppression.lift(placed, reason="let it be", actor=ACTOR, now=NOON)


def test_quarantine_sets_items_aside_sealed_and_out_of_sight():
    container = make_container()
    block(container, "ann", mode=Mode.QUARANTINE)

    written = store(container, a_memory(CANARY), a_message(CANARY), a_session(), a_memory("fine", user_id="bob"))

    assert dict(written.quarantined) == {"long-term": 1, "working": 1, "sessions": 1}
    assert [memory.text for memory in LongTermMemory.objects.all()] == ["fine"]
    assert not Session.objects.exists()
    assert [row for row in Returned.objects.all() if CANARY.encode() in bytes(row.payload)] == []
    assert subject_of(container).long_term == 0


def test_what_is_released_is_what_arrived():
    container = make_container()
    block(container, "ann", mode=Mode.QUARANTINE)
    item = a_memory("likes tea", external_id="m-1", tags={"shape": {"time": "odd"}}, metadata={"list": [1, {"map": None}]})
    store(container, item, a_session(metadata={"a": 1}), a_message())

    for returned in Returned.objects.order_by("pk"):
        releasing.release(returned, reason="the person agreed", actor=ACTOR, now=NOON)

    memory = LongTermMemory.objects.get()
    assert (memory.text, memory.tags, memory.metadata) == ("likes tea", item.tags, item.metadata)
    assert memory.created_at == item.created_at
    assert (Session.objects.get().metadata, WorkingMemory.objects.get().session.external_id) == ({"a": 1}, "s-1")
    assert not Returned.objects.exists()


def test_an_item_waits_once_however_often_it_arrives():
    container = make_container()
    block(container, "ann", mode=Mode.QUARANTINE)

    for text in ("first", "second"):
        store(container, a_memory(text, external_id="m-1"))

    assert quarantine.content_of(Returned.objects.get()).text == "second"


def test_77_an_erased_text_is_refused_word_for_word_whatever_its_case_and_spaces():
    container = make_container()
    erase_text(container, "Ann's PIN is 4711.")

    for item in (
        a_memory("ann's pin  is 4711"),
        a_message("ANN'S PIN IS 4711!"),
        a_change("Ann's PIN is 4711."),
        a_session(summary="Ann's PIN is 4711"),
    ):
        with pytest.raises(Suppressed) as refused:
            store(container, a_memory("fine"), item)
        assert refused.value.items == (item,)
    store(container, a_memory("Ann's PIN is 4712."))


def test_an_erased_text_that_is_flagged_is_let_in_and_marked():
    container = make_container()
    erase_text(container, "likes tea", mode=Mode.FLAG)

    store(container, a_memory("likes tea"), a_memory("likes coffee"))

    [marked] = Returned.objects.all()
    assert (marked.uid, marked.outcome, marked.payload) == (LongTermMemory.objects.get(text="likes tea").uid, "flagged", None)


def test_an_erased_text_is_not_let_in_by_the_short_way():
    container = make_container()
    make_session(container)
    erase_text(container, "4711")

    assert appending.append(container, a_message("4711", uid=subject_of(container).uid), now=NOON) is None


def test_a_copy_of_an_erased_user_or_text_is_not_restored():
    container = make_container()
    keep = make_memory(container, "keep", user_id="bob")
    for text, name in (("gone", "ann"), ("4711", "bob")):
        make_memory(container, text, user_id=name)
    _archive(LongTermMemory.objects.all())
    block(container, "ann")
    erase_text(container, "4711")

    restored = archive.restore(list(Archived.objects.values_list("id", flat=True)), now=NOON)

    assert (restored.items, restored.refused) == (1, 2)
    assert [memory.uid for memory in LongTermMemory.objects.all()] == [keep.uid]


def test_old_digests_are_known_after_a_new_key():
    container = make_container()
    block(container, "ann")
    suppression_keys.rotate(actor=ACTOR, now=NOON)
    block(container, "bob")

    for name in ("ann", "bob"):
        with pytest.raises(Suppressed):
            store(container, a_memory(user_id=name))
    assert len(set(Suppression.objects.values_list("key_id", flat=True))) == 2


def test_without_the_key_nobody_new_is_let_in(settings, tmp_path):
    container = make_container()
    block(container, "ann")
    settings.SUPPRESSION_KEYS = str(tmp_path / "other.json")

    with pytest.raises(suppression_keys.KeysUnusable):
        store(container, a_memory(user_id="eve"))


def test_a_file_of_keys_that_is_not_one_is_not_overwritten(settings, tmp_path):
    path = tmp_path / "keys.json"
    for content in ("", "{}", '{"current": "a", "keys": {"a": "short"}}'):
        path.write_text(content)
        with pytest.raises(suppression_keys.KeysUnusable):
            suppression_keys.ring()
        assert path.read_text() == content


def test_the_file_of_keys_is_for_its_owner_alone(settings):
    suppression_keys.ring()

    assert Path(settings.SUPPRESSION_KEYS).stat().st_mode & 0o777 == 0o600


def test_a_digest_of_an_id_is_not_that_of_the_same_text():
    keys = suppression_keys.ring()

    assert keys.digest(SuppressedKind.SUBJECT, "tea") != keys.digest(SuppressedKind.TEXT, "tea")


def test_whoever_is_not_suppressed_costs_no_look_up(django_assert_num_queries):
    container = make_container()
    store(container, a_memory())

    with django_assert_num_queries(0):
        suppression.verdicts(container, [], now=NOON + timedelta(days=1))


def _copy_rows(table):
    with connection.cursor() as cursor:
        columns = [
            column.name for column in connection.introspection.get_table_description(cursor, table) if column.name not in {"id", "uid"}
        ]
        new = "gen_random_uuid()" if connection.vendor == "postgresql" else "lower(hex(randomblob(16)))"
        values = ", ".join("'other'" if name == "external_id" else name for name in columns)
        cursor.execute(f"INSERT INTO {table} (uid, {', '.join(columns)}) SELECT {new}, {values} FROM {table}")
        return cursor.rowcount


def _archive(memories):
    rows = "SELECT id, subject_id, revision, last_accessed_at, 'age' AS reason FROM store_longtermmemory"
    remove_long_term(Chosen(rows), archive=ArchiveNote(run_number=1, now=NOON, expires_at=None))
