from importlib import import_module

import pytest
from django.apps import apps

from memadmin.access.scopes import AGENT, Scope
from memadmin.lifecycle.feedback import match
from memadmin.lifecycle.suspects import suspects_of
from memadmin.store import configuration
from memadmin.store.intake import IncomingArchived
from memadmin.store.models import Archived, Feedback, HistoryEntry, LongTermMemory, Session
from tests.api.v1.calls import caller_of, problem, said
from tests.factories import ACTOR, NOON, a_change, a_memory, a_message, a_session, days, make_container, store
from tests.runs import a_policy, carry_out, governed, preview

pytestmark = pytest.mark.django_db
ONE = "/containers/c1/feedback"
REPORT = {"user_id": "ann", "kind": "forgot", "words": "forgot the penicillin"}


@pytest.fixture
def container(db):
    made = governed(a_policy(long_term={"retention_days": 30}), external_id="c1", owner={"name": "ana"})
    store(made, a_memory("allergic to penicillin", days_old=40, owner="ana"))
    carry_out(preview(made))
    return made


def test_a_report_is_stored_and_shows_its_match_once_a_person_has_found_it(container):
    api = caller_of("ana", all_access=True)

    made = said(api.post(ONE, REPORT), 201)
    row = Feedback.objects.get()
    match(row, suspects_of(row).found[0].uid, actor=ACTOR, now=NOON + days(1))
    (listed,) = said(api.get(f"{ONE}?user_id=ann&state=matched"))["items"]

    assert (made["uid"], made["kind"], made["state"], made["words"]) == (str(row.uid), "forgot", "open", REPORT["words"])
    assert row.actor.startswith("token/")
    assert (listed["matched_uid"], listed["policy_version"], listed["reason"]) == (str(row.matched_uid), 1, "age")
    assert said(api.get(f"{ONE}?state=open"))["items"] == []


def test_a_repeated_request_reports_once(container):
    api = caller_of("ana")

    first, second = (said(api.post(ONE, REPORT, Idempotency_Key="k1"), 201) for _ in range(2))

    assert first == second
    assert Feedback.objects.count() == 1


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"user_id": "nobody"}, "user_id"),
        ({"kind": "hated"}, "kind"),
        ({"words": " "}, "words"),
        ({"words": "\x00 \x00"}, "words"),
        ({"words": "x" * 4_001}, "words"),
        ({"noticed_at": "2999-01-01T00:00:00Z"}, "noticed_at"),
        ({"memory_uid": "00000000-0000-0000-0000-000000000001"}, "memory_uid"),
        ({"state": "matched"}, "state"),
    ],
    ids=str,
)
def test_what_cannot_be_recorded_is_refused_with_its_field(container, change, field):
    status, _, attr = problem(caller_of("ana").post(ONE, {**REPORT, **change}))

    assert (status, attr) == (400, field)
    assert Feedback.objects.count() == 0


def test_a_word_that_is_none_of_a_few_is_answered_with_them(container):
    answer = caller_of("ana").post(ONE, {**REPORT, "kind": "hated" * 100})

    assert problem(answer) == (400, "invalid_choice", "kind")
    assert answer.json()["errors"][0]["detail"] == f"“{('hated' * 100)[:60]}” is not one of: forgot, wrong."


def test_an_agents_usual_token_does_not_report_and_reading_needs_all_access(container):
    agent = caller_of("ana", scopes=AGENT)
    reporter = caller_of("bot", scopes=[Scope.FEEDBACK_WRITE, Scope.MEMORY_READ], containers=[container])

    assert problem(agent.post(ONE, REPORT))[0] == 403
    assert problem(agent.get(ONE))[0] == 403
    assert problem(reporter.get(ONE))[0] == 403


def test_a_container_that_the_token_may_not_use_does_not_exist(container):
    api = caller_of("eve", containers=[make_container("other", external_id="c2")])

    assert problem(api.post(ONE, REPORT))[0] == 404
    assert problem(api.get(ONE))[0] == 404


KINDS = {
    "all access": {"owner": "desk", "all_access": True},
    "all access to listed containers": {"owner": "desk", "all_access": True, "listed": True},
    "all access in a tenant": {"owner": "desk", "all_access": True, "tenant": "north"},
    "owner of the container": {"owner": "ana"},
    "container listed": {"owner": "bot", "listed": True},
    "container listed in a tenant": {"owner": "bot", "listed": True, "tenant": "north"},
    "backend role": {"owner": "bot", "backend_roles": ("agents",)},
    "backend role in a tenant": {"owner": "bot", "backend_roles": ("agents",), "tenant": "north"},
}


@pytest.fixture
def shared(db):
    """A container that several write in: every owner has a user of their own, and Max is two agents' user."""
    configuration.change("api_requests_per_minute", 1_000_000, actor=ACTOR, now=NOON)
    made = governed(
        a_policy(long_term={"retention_days": 30}, sessions={"retention_days": 30}),
        external_id="c1",
        owner={"name": "ana"},
        backend_roles=["agents"],
        tenant="north",
    )
    for owner in ("ana", "bot", "desk", "eve"):
        store(made, a_memory(f"tea for {owner}", user_id=f"user of {owner}", owner=owner))
    store(made, a_memory("milk", user_id="max", owner="bot"), a_memory("lemon", user_id="max", owner="eve"))
    return made


def reporter(container, *, owner, listed=False, **details):
    containers = {"containers": [container]} if listed else {}
    return caller_of(owner, scopes=[Scope.FEEDBACK_WRITE], **containers, **details)


def answers(api, **changed):
    """Return what the API says to a report, without what differs from report to report."""
    answer = api.post(ONE, {**REPORT, **changed})
    return answer.status_code if answer.status_code == 201 else (answer.status_code, answer.content)


@pytest.mark.parametrize("kind", KINDS)
def test_a_token_learns_of_no_user_that_it_may_not_read(shared, kind):
    api = reporter(shared, **KINDS[kind])

    theirs, nobody = (answers(api, user_id=name) for name in ("user of eve", "nobody"))

    assert nobody[0] == 400
    assert theirs == (201 if "all access" in kind else nobody)
    assert answers(api, user_id=f"user of {KINDS[kind]['owner']}") == 201


@pytest.mark.parametrize("kind", KINDS)
def test_a_token_learns_of_no_item_that_it_may_not_read(shared, kind):
    api, owner = reporter(shared, **KINDS[kind]), KINDS[kind]["owner"]
    store(
        shared, *(a_session(f"s-{name}", user_id="max", owner=name) for name in {owner, "eve"}), a_memory("rum", user_id="max", owner=owner)
    )
    strange = "00000000-0000-0000-0000-000000000001"

    for field, model in (("memory_uid", LongTermMemory), ("session_uid", Session)):
        own, eves = (str(model.objects.filter(subject__user_id="max", owner=name).first().uid) for name in (owner, "eve"))
        nothing = answers(api, user_id="max", **{field: strange})
        assert nothing[0] == 400
        assert answers(api, user_id="max", **{field: eves}) == (201 if "all access" in kind else nothing)
        assert answers(api, user_id="max", **{field: own}) == 201


@pytest.mark.parametrize("item", [a_memory, a_session, a_message, a_change], ids=lambda make: make.__name__)
def test_whatever_a_token_has_written_of_a_user_lets_it_report(shared, item):
    details = {"session_ref": None} if item is a_message else {}
    store(shared, item(user_id="new", owner="bot", **details))

    assert answers(reporter(shared, owner="bot", listed=True), user_id="new") == 201
    assert answers(reporter(shared, owner="eve", listed=True), user_id="new")[0] == 400


@pytest.mark.parametrize(("item", "field"), [(a_memory, "memory_uid"), (a_session, "session_uid")], ids=["memory", "session"])
def test_a_user_of_whom_only_the_archive_is_left_is_reported_by_who_wrote_it_and_nobody_else(shared, item, field):
    store(shared, item("penicillin", user_id="old", days_old=40, owner="bot"))
    carry_out(preview(shared))
    copy = Archived.objects.get(subject__user_id="old")
    writer, other = (reporter(shared, owner=name, listed=True) for name in ("bot", "eve"))

    assert copy.owner == "bot"
    assert not any(model.objects.filter(subject__user_id="old").exists() for model in (LongTermMemory, Session, HistoryEntry))
    assert answers(other, user_id="old") == answers(other, user_id="nobody")
    assert answers(writer, user_id="old", **{field: str(copy.uid)}) == 201


def test_an_imported_copy_names_its_writer(shared):
    store(shared, IncomingArchived(user_id="old", item=a_memory(user_id="old", owner="bot"), reason="age", archived_at=NOON))

    assert answers(reporter(shared, owner="bot", listed=True), user_id="old") == 201


def test_copies_from_before_are_given_their_writers_by_the_migration(shared):
    named = {name: a_memory(name, user_id=name, owner=name) for name in ("ana", "bot", "eve")}
    copies = [IncomingArchived(user_id=name, item=item, reason="age", archived_at=NOON) for name, item in named.items()]
    store(shared, *copies, IncomingArchived(user_id="x", item=a_memory(user_id="x"), reason="age", archived_at=NOON))
    Archived.objects.update(owner=None)
    Archived.objects.filter(subject__user_id="eve").update(payload=b"unreadable")

    import_module("memadmin.store.migrations.0022_archived_owner_filled").fill(apps, None)

    assert dict(Archived.objects.values_list("subject__user_id", "owner")) == {"ana": "ana", "bot": "bot", "eve": None, "x": None}


def test_what_is_restricted_is_not_told_of(shared):
    LongTermMemory.objects.filter(subject__user_id="user of bot").update(restricted=True)
    api = reporter(shared, owner="bot", listed=True)

    assert answers(api, user_id="user of bot") == answers(api, user_id="nobody")
