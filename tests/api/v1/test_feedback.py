import pytest

from memadmin.access.scopes import AGENT, Scope
from memadmin.lifecycle.feedback import match
from memadmin.lifecycle.suspects import suspects_of
from memadmin.store.models import Feedback
from tests.api.v1.calls import caller_of, problem, said
from tests.factories import ACTOR, NOON, a_memory, days, make_container, store
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
