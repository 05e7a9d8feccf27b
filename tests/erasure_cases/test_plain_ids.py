"""People whose id is a word or a number that the program says too: erased to the end, and nothing of the program's own goes with them."""

from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client
from django_q.models import OrmQ
from django_q.tasks import async_task

from memadmin.access.locations import encoded
from memadmin.access.roles import Role
from memadmin.audit import log
from memadmin.audit.models import AuditPayload
from memadmin.erasure import rechecking
from memadmin.erasure.models import Recheck, RecheckKind, Status
from memadmin.erasure.verification.probes import Probes
from memadmin.erasure.verification.rows import Stretch
from memadmin.erasure.verification.scanning import scan
from memadmin.erasure.verification.schema import tables
from memadmin.jobs import queue
from memadmin.jobs.models import Job
from memadmin.jobs.runner import run_inline
from memadmin.store.identity import is_plain
from memadmin.store.intake import IncomingArchived, IncomingMemory
from memadmin.store.models import Container, LongTermMemory, Subject
from tests.erasure.execution.test_execution import execute
from tests.erasure.workflow import approved, discovered, opened
from tests.factories import ACTOR, NOON, a_change, a_memory, a_message, a_session, make_container, store
from tests.people import a_browser_of

pytestmark = pytest.mark.django_db(transaction=True)
WORDS = ("user", "session", "erasure", "jobs", "django", "reason", "oscar", "support", "person", "cora", "long-term", "default", "text")
NUMBERS = ("103", "200", "2026")


@pytest.fixture
def container() -> Container:
    """A store with somebody else in it, and the program's own records of what it did."""
    made = make_container()
    copy = IncomingMemory(text="drinks tea", user_id="bob9", created_at=NOON)
    archived = IncomingArchived(user_id="bob9", item=copy, reason="ttl", archived_at=NOON, expires_at=None)
    store(made, a_memory("likes tea", user_id="bob9"), a_change("likes tea", user_id="bob9"), archived)
    for number in range(110):
        with transaction.atomic():
            log.append("run.finished", actor="job/nightly", target="runs/1", at=NOON, counts={"items": number})
    with transaction.atomic():
        log.append("hold.placed", actor=ACTOR, target="holds/1", at=NOON, payload={"reason": "a court asks"})
    queue.enqueue("erasure.recheck", target="runs/7", requested_by=ACTOR, now=NOON)
    async_task("memadmin.jobs.tasks.run", 4711, task_name="oscar-autumn-west-ten")
    return made


@pytest.fixture
def browser() -> Client:
    return a_browser_of(Role.SUPPORT, login="eve9")


def own_records() -> tuple[set[Any], ...]:
    return (
        set(Job.objects.exclude(kind__startswith="erasure.d").exclude(kind="erasure.execute").values_list("pk", flat=True)),
        set(OrmQ.objects.values_list("pk", flat=True)),
        set(AuditPayload.objects.values_list("seq", flat=True)),
    )


@pytest.mark.parametrize("who", [*WORDS, *NUMBERS])
def test_34_an_id_that_is_a_word_or_number_of_the_programs_own_is_erased_and_takes_no_record_along(
    container: Container, browser: Client, who: str
):
    store(container, a_session(user_id=who), a_message(user_id=who), a_memory("coffee", user_id=who))
    before = own_records()
    request = opened(who)
    approved(request)

    execute(request)

    last = request.verifications.last()
    assert (request.state, request.error_code, last and list(last.findings.values_list("table", "column"))) == (Status.COMPLETED, "", [])
    assert not Subject.objects.filter(user_id=who).exists()
    assert [known - now for known, now in zip(before, own_records(), strict=True)] == [set(), set(), set()]
    assert LongTermMemory.objects.get().text == "likes tea"
    assert browser.get("/").status_code == 200  # still signed in


def test_the_manifest_says_that_records_were_not_searched_for_a_plain_id(container: Container):
    store(container, a_memory("coffee", user_id="user"), a_memory("coffee", user_id="u-17"))

    assert "plain_ids" in discovered(opened("user")).limits
    assert "plain_ids" not in discovered(opened("u-17")).limits


def seen(word: str) -> set[str]:
    """Return in which columns the look finds a word."""
    return {f"{hit.table}.{hit.column}" for table in tables() for hit in scan(table, Probes(identifiers=(word,)), Stretch())}


@pytest.mark.parametrize("word", ["pelican", "4711"])
def test_a_plain_id_is_seen_wherever_agents_and_people_write(container: Container, word: str):
    said: dict[str, Any] = {"tags": {"about": word}, "namespace": {"agent": word}, "fact_key": word}
    copy = IncomingMemory(text=f"met {word}", user_id="bob9", created_at=NOON)
    archived = IncomingArchived(user_id="bob9", item=copy, reason="ttl", archived_at=NOON, expires_at=None)
    store(container, a_memory(f"met {word}", user_id="bob9", **said), a_message(f"met {word}", user_id="bob9"), archived)
    with transaction.atomic():
        log.append("hold.placed", actor=ACTOR, target="holds/2", at=NOON, payload={"reason": f"{word} asks"})
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE by_hand (words text)")
        cursor.execute("INSERT INTO by_hand VALUES (%s)", [word])
        cursor.execute(
            "INSERT INTO django_session (session_key, session_data, expire_date) VALUES ('k', %s, '2030-01-01')", [encoded(word)]
        )
    try:
        found = seen(word)
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE by_hand")

    assert found == {
        *(f"store_longtermmemory.{column}" for column in ("text", "tags", "namespace", "fact_key")),
        *("store_workingmemory.messages", "store_archived.payload", "audit_payload.body", "by_hand.words", "django_session.session_data"),
    }


@pytest.mark.parametrize("word", ["erasure", "jobs", "2026", "103", "run"])
def test_a_plain_id_is_not_seen_in_records_of_the_program(container: Container, browser: Client, word: str):
    assert seen(word) == set()


@pytest.mark.parametrize("word", ["runs/7", "job/nightly", "oscar-autumn-west-ten4"])
def test_any_other_id_is_looked_for_in_records_too(container: Container, word: str):
    with transaction.atomic():
        queue.enqueue("erasure.recheck", target="runs/7", requested_by=ACTOR, now=NOON)
    async_task("memadmin.jobs.tasks.run", 4712, task_name="oscar-autumn-west-ten4")

    assert seen(word)


def test_the_weekly_look_takes_no_word_of_a_message_for_an_erased_id(container: Container):
    store(
        container,
        a_memory("coffee", user_id="user"),
        a_message(user_id="bob9"),
        a_memory("tea", user_id="bob9", namespace={"agent": "user"}),
    )
    request = opened("user")
    approved(request)
    LongTermMemory.objects.filter(text="tea").update(namespace={})
    execute(request)
    LongTermMemory.objects.filter(text="tea").update(namespace={"agent": "user"})

    run_inline(queue.enqueue(rechecking.WEEKLY, requested_by=ACTOR, now=NOON), now=NOON)

    look = Recheck.objects.get(kind=RecheckKind.WEEKLY)
    assert [(found.table, found.column) for found in look.findings.all()] == [("store_longtermmemory", "namespace")]


@pytest.mark.parametrize(
    ("user_id", "plain"), [("ann", True), ("may-be", True), ("007", True), ("u1", False), ("a@b", False), ("été", False)]
)
def test_words_and_numbers_are_plain(user_id: str, plain: bool):
    assert is_plain(user_id) is plain
