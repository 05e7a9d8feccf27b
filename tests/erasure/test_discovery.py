"""What is found for a request, and what is not taken for it. The numbers are those of the list of attacks and faults."""

from dataclasses import replace

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memadmin.erasure import discovery, manifests
from memadmin.erasure.models import Kind, ManifestItem, Status
from memadmin.jobs.lease import view_of
from memadmin.jobs.models import Job
from memadmin.jobs.queue import enqueue
from memadmin.store import locations, pinning
from memadmin.store.intake import Source
from memadmin.store.locations import Page, Unreachable
from memadmin.store.models import ItemType, LongTermMemory, Provenance, WorkingMemory
from memadmin.store.removal import ArchiveNote, Chosen, remove_long_term
from tests.databases import is_sqlite
from tests.erasure.workflow import answers, discovered, found, opened, opened_for
from tests.factories import (
    ACTOR,
    NOON,
    a_change,
    a_memory,
    a_message,
    a_session,
    make_container,
    make_memory,
    make_session,
    store,
    subject_of,
)

pytestmark = pytest.mark.django_db


def test_everything_of_a_user_is_found_in_its_place():
    shop = make_container()
    store(shop, a_session(), a_message(), a_memory(), a_change())
    pinning.pin(LongTermMemory.objects.get(), reason="allergy", actor=ACTOR, now=NOON)

    manifest = discovered(opened())

    assert found(manifest) == {
        ("store.sessions", "A", "delete"): 1,
        ("store.working", "A", "delete"): 1,
        ("store.long_term", "A", "delete"): 1,
        ("store.history", "A", "delete"): 1,
        ("store.pins", "E", "delete"): 1,
        ("store.audit_payloads", "E", "redact"): 1,  # the reason of the pin, in the log
        ("store.subjects", "A", "delete"): 1,
    }
    assert manifest.pinned == 1
    assert manifest.request.state == Status.REVIEW


def test_every_place_answers_and_none_is_skipped():
    store(make_container(), a_memory())

    said = answers(discovered(opened()))

    assert set(said) == set(locations.LOCATIONS)
    assert set(said.values()) == {"found", "absent", "cleared"}


def test_25_an_id_that_begins_like_another_is_somebody_else():
    shop = make_container()
    store(shop, a_memory("one", user_id="user1"), a_memory("ten", user_id="user10"))

    manifest = discovered(opened("user1"))

    subjects = set(manifest.items.values_list("subject_id", flat=True))
    assert subjects == {subject_of(shop, "user1").pk}


def test_25_a_longer_name_in_somebody_elses_text_is_no_mention():
    shop = make_container()
    said = ("user10 came with user1a", "user1: hello", "about user1#visit")
    store(shop, a_memory("one", user_id="user1"), *(a_memory(text, user_id="bob") for text in said))

    manifest = discovered(opened("user1"))

    mentions = set(manifest.items.filter(item_class="D").values_list("row_uid", flat=True))
    assert set(LongTermMemory.objects.filter(uid__in=mentions).values_list("text", flat=True)) == set(said[1:])


def test_29_the_same_id_in_another_tenant_is_not_meant():
    ours, theirs = make_container("ours", tenant="a"), make_container("theirs", tenant="b")
    store(ours, a_memory("mine", user_id="ann"))
    store(theirs, a_memory("ann likes tea too", user_id="ann"), a_memory("ann said so", user_id="bob"))

    manifest = discovered(opened("ann", containers=[ours]))

    assert set(manifest.items.values_list("subject_id", flat=True)) == {subject_of(ours).pk}


def test_30_an_id_full_of_signs_is_taken_literally():
    shop = make_container()
    nasty = "'; DROP TABLE store_subject; -- %_* .* (x"
    store(shop, a_memory("mine", user_id=nasty), a_memory(f"about {nasty} indeed", user_id="bob"), a_memory("other", user_id="%"))

    manifest = discovered(opened(nasty))

    assert found(manifest)["store.long_term", "A", "delete"] == 1
    assert found(manifest)["store.long_term", "D", "redact"] == 1


def test_33_who_is_only_mentioned_is_listed_for_review_and_nothing_is_planned_without_it():
    shop = make_container()
    store(shop, a_memory("Ask annika-77 about the order", user_id="bob"), a_memory("mine", user_id="annika-77"))

    manifest = discovered(opened("annika-77"))

    mention = manifest.items.get(item_class="D")
    assert (mention.decision, mention.reason_code, mention.subject_id) == ("waiting", "identifier", subject_of(shop, "bob").pk)
    assert manifest.undecided == 1


def test_34_a_common_word_as_a_name_needs_review_each_time():
    shop = make_container()
    store(shop, a_memory("mine", user_id="may"), *(a_memory(f"It may rain {n}", user_id="bob") for n in range(3)))

    manifest = discovered(opened("may"))

    assert found(manifest)["store.long_term", "D", "redact"] == 3
    assert manifest.undecided == 3


def test_ids_too_short_to_search_for_are_told_as_a_limit():
    store(make_container(), a_memory("mine", user_id="x1"), a_memory("about x1", user_id="bob"))

    manifest = discovered(opened("x1"))

    assert manifest.limits == ["ids_too_short"]
    assert "D" not in {line.item_class for line in manifest.lines.all()}


def test_35_a_summary_with_others_in_it_is_mixed_and_loses_what_it_says():
    shop = make_container()
    for name in ("alice", "bob", "carol"):
        store(shop, a_memory(f"fact of {name}", user_id=name))
    sources = [Source(item_type=ItemType.LONG_TERM, uid=memory.uid) for memory in LongTermMemory.objects.all()]
    summary = make_memory(shop, "they all like tea", user_id=None, sources=sources)

    manifest = discovered(opened("alice"))

    item = manifest.items.get(item_class="C")
    assert (item.row_uid, item.act, item.survivors, item.decision) == (summary.uid, "rederive", 2, "waiting")


def test_37_chains_of_derivation_are_followed_to_their_end_and_circles_stop():
    shop = make_container()
    memory = make_memory(shop, "fact", user_id="alice")
    chain = [memory]
    for step in range(4):
        source = Source(item_type=ItemType.LONG_TERM, uid=chain[-1].uid)
        chain.append(make_memory(shop, f"step {step}", user_id=None, sources=[source]))
    Provenance.objects.create(
        container=shop,
        subject_id=chain[1].subject_id,
        derived_type=ItemType.LONG_TERM,
        derived_uid=chain[1].uid,
        source_type=ItemType.LONG_TERM,
        source_uid=chain[4].uid,
    )

    manifest = discovered(opened("alice"))

    reached = set(manifest.items.filter(location="store.long_term").values_list("row_uid", flat=True))
    assert reached == {each.uid for each in chain}


def test_38_a_copy_of_the_persons_words_without_provenance_is_found():
    shop = make_container()
    store(shop, a_memory("my grandmother kept seven grey parrots in Utrecht", user_id="alice"))
    store(shop, a_memory("Note: grandmother kept seven grey parrots, odd", user_id="bob"), a_memory("seven parrots", user_id="bob"))

    manifest = discovered(opened("alice"))

    assert [(item.reason_code, item.act) for item in manifest.items.filter(item_class="D")] == [("copied_text", "redact")]


def test_39_a_verbatim_quote_in_capitals_and_with_other_signs_is_found():
    shop = make_container()
    store(shop, a_memory("my grandmother kept seven grey parrots in Utrecht", user_id="alice"))
    store(shop, a_session(user_id="bob"), a_message("«MY GRANDMOTHER – KEPT: SEVEN, GREY PARROTS!»", user_id="bob"))

    manifest = discovered(opened("alice"))

    assert [item.location for item in manifest.items.filter(item_class="D")] == ["store.working"]


def test_what_everybody_says_is_no_copy():
    shop = make_container()
    greeting = "hello I would like to ask about an order"
    store(shop, *(a_memory(greeting, user_id=name) for name in ("alice", "bob", "carol", "dave", "eve")))

    assert discovered(opened("alice")).undecided == 0


def test_42_history_and_archive_copies_are_found():
    shop = make_container()
    store(shop, a_memory("first"), a_change("first"), a_change("second"))
    archived = _archive_all()

    manifest = discovered(opened())

    assert found(manifest)["store.history", "A", "delete"] == 2
    assert found(manifest)["store.archive", "A", "delete"] == archived


def test_a_mention_inside_an_archive_copy_is_found():
    shop = make_container()
    store(shop, a_memory("call annika-77 tomorrow", user_id="bob"))
    _archive_all()
    store(shop, a_memory("mine", user_id="annika-77"))

    assert found(discovered(opened("annika-77")))["store.archive", "D", "redact"] == 1


def test_jobs_that_name_a_users_item_are_found():
    shop = make_container()
    store(shop, a_session(), a_message())
    uid = WorkingMemory.objects.get().uid
    enqueue("infer", target=f"working/{uid}", requested_by=ACTOR, now=NOON)

    assert found(discovered(opened()))["jobs.jobs", "E", "delete"] == 1


def test_the_reason_of_a_pin_in_the_log_is_found():
    shop = make_container()
    memory = make_memory(shop, user_id="annika-77")
    pinning.pin(memory, reason="annika-77 asked for it", actor=ACTOR, now=NOON)

    assert found(discovered(opened("annika-77")))["store.audit_payloads", "E", "redact"] == 1


def test_19_a_place_that_cannot_be_asked_is_never_called_empty(monkeypatch: pytest.MonkeyPatch):
    store(make_container(), a_memory())
    _answer(monkeypatch, "lifecycle.run_victims", Unreachable("vectors"))
    _answer(monkeypatch, "webhooks.deliveries", RuntimeError("ann likes tea"))

    manifest = discovered(opened())

    assert answers(manifest)["lifecycle.run_victims"] == "unreachable"
    assert answers(manifest)["webhooks.deliveries"] == "failed"
    assert manifest.answers.get(location="webhooks.deliveries").error_code == "RuntimeError"


def test_one_session_takes_its_messages_and_what_was_derived_from_it_alone_F12():
    shop = make_container()
    one, two = make_session(shop, "s1", messages=2), make_session(shop, "s2", messages=2)
    a = make_memory(shop, "a", sources=[Source(item_type=ItemType.SESSION, uid=one.uid)])
    b = make_memory(shop, "b", sources=[Source(item_type=ItemType.SESSION, uid=each.uid) for each in (one, two)])
    make_memory(shop, "c", sources=[Source(item_type=ItemType.SESSION, uid=two.uid)])

    manifest = discovered(opened_for(one, kind=Kind.SESSION))

    memories = dict(manifest.items.filter(location="store.long_term").values_list("row_uid", "act"))
    assert memories == {a.uid: "delete", b.uid: "unlink"}
    assert found(manifest)["store.working", "A", "delete"] == 2
    assert found(manifest)["store.sessions", "A", "delete"] == 1


def test_one_message_takes_the_summary_of_its_session_along():
    shop = make_container()
    store(shop, a_session(summary="She is allergic"), a_message("I am allergic"), a_message("bye", sequence=1))

    manifest = discovered(opened_for(WorkingMemory.objects.order_by("id").first(), kind=Kind.MESSAGE))

    assert found(manifest)["store.working", "A", "delete"] == 1
    assert found(manifest)["store.sessions", "C", "rederive"] == 1


def test_a_user_whom_nobody_knows_ends_with_nothing_found():
    make_container()

    manifest = discovered(opened("ghost", ticked=[], unknown=["ghost"]))

    assert (manifest.items_total, found(manifest)) == (0, {})


def test_a_search_that_is_done_page_by_page_finds_the_same(monkeypatch: pytest.MonkeyPatch):
    shop = make_container()
    store(shop, a_session(), *(a_message(f"m{n}", sequence=n) for n in range(7)), *(a_memory(f"t{n}") for n in range(7)))
    whole = found(discovered(opened()))
    monkeypatch.setattr("memadmin.erasure.asking.PAGE", 2)
    monkeypatch.setattr("memadmin.erasure.asking.SEARCHED", 2)

    assert found(discovered(opened())) == whole


def test_a_search_that_stopped_for_good_leaves_the_request_as_it_came(monkeypatch: pytest.MonkeyPatch):
    store(make_container(), a_memory())
    request = opened()
    manifest = discovery.start(request, actor=ACTOR, now=NOON)
    job = Job.objects.get(target=discovery.job_target(manifest))

    discovery.failed(view_of(job), error_code="TooDeep", now=NOON)
    request.refresh_from_db()

    assert (request.state, request.error_code, request.manifest_number) == (Status.RECEIVED, "TooDeep", None)


def test_no_words_and_no_ids_from_outside_are_in_a_manifest():
    shop = make_container()
    store(shop, a_memory("canary words", user_id="canary-id"), a_memory("about canary-id", user_id="bob"))

    manifest = discovered(opened("canary-id"))

    rows = str(list(ManifestItem.objects.filter(manifest=manifest).values())) + str(list(manifest.lines.values()))
    assert "canary" not in rows


def _archive_all() -> int:
    sql = "SELECT id, subject_id, revision, last_accessed_at, 'age' AS reason FROM store_longtermmemory"
    return remove_long_term(Chosen(sql), archive=ArchiveNote(None, NOON, None)).items


def _answer(monkeypatch: pytest.MonkeyPatch, name: str, error: Exception) -> None:
    def find(scope, after, limit) -> Page:
        raise error

    monkeypatch.setitem(locations.LOCATIONS, name, replace(locations.LOCATIONS[name], find=find))


@pytest.mark.skipif(is_sqlite(), reason="how PostgreSQL plans: SQLite looks an IN up by its index, whatever stands beside it")
def test_names_of_a_person_are_joined_with_and_never_gone_through_for_every_row():
    shop = make_container()
    memory = make_memory(shop, "allergic")
    make_memory(shop, "somebody is allergic", user_id="bob", sources=[Source(item_type=ItemType.LONG_TERM, uid=memory.uid)])

    with CaptureQueriesContext(connection) as seen:
        discovered(opened())

    asked = [each["sql"] for each in seen if '"source_uid" IN (' in each["sql"] and "UNION" in each["sql"]]
    assert asked
    assert [line for sql in asked for line in plan_of(sql) if "SubPlan" in line] == []


def plan_of(sql: str) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {sql.replace('%', '%%')}", [])
        return [line for (line,) in cursor.fetchall()]


@pytest.mark.skipif(is_sqlite(), reason="statistics of PostgreSQL: SQLite plans by its indexes alone")
def test_the_database_learns_how_long_a_manifest_is_before_it_is_asked_about_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(manifests, "LONG", 3)
    shop = make_container()
    store(shop, *(a_memory(f"memory {number}") for number in range(5)))

    manifest = discovered(opened())

    with connection.cursor() as cursor:
        cursor.execute("SELECT most_common_vals::text FROM pg_stats WHERE tablename = 'erasure_manifestitem' AND attname = 'manifest_id'")
        assert cursor.fetchall() == [(f"{{{manifest.pk}}}",)]
