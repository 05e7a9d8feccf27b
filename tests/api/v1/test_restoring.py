import pytest

from memadmin.jobs.models import Job
from memadmin.jobs.runner import run_inline
from memadmin.lifecycle.models import Run
from memadmin.store.models import Archived, LongTermMemory
from tests.api.v1.calls import caller_of, problem, said
from tests.erasure.workflow import opened
from tests.factories import NOON, subject_of
from tests.runs import a_policy, assert_store_agrees, carry_out, fill, governed, preview, publish

pytestmark = pytest.mark.django_db
RESTORE = "/containers/c1/archive/restore"


@pytest.fixture
def api(db):
    return caller_of("root", all_access=True)


@pytest.fixture
def container(db, time_machine):
    time_machine.move_to(NOON, tick=False)
    container = governed(a_policy(relevance={"max_records": 3}), external_id="c1")
    fill(container, 6)
    carry_out(preview(container))
    return container


def test_all_of_a_user_comes_back_by_a_worker_once_it_is_forced(api, container):
    refused = problem(api.post(RESTORE, {"user_id": "ann"}))
    queued = said(api.post(RESTORE, {"user_id": "ann", "force": True}))
    run_inline(Job.objects.get(kind="restore-user"), now=NOON)

    assert refused[:2] == (409, "over_limit")
    assert (queued["queued"], queued["coming"], queued["would_go_again"]) == (True, 3, 3)
    assert subject_of(container).long_term == 6
    assert_store_agrees()


def test_one_item_and_a_whole_run_come_back_over_a_cap_only_when_it_is_forced(api, container):
    number, one = Run.objects.get().number, f"/containers/c1/archive/{Archived.objects.order_by('pk')[0].uid}/restore"
    answers = [api.post(one), api.post(f"/runs/{number}/restore")]
    refused, left = [problem(answer)[:2] for answer in answers], Archived.objects.count()

    item = said(api.post(one, {"force": True}))
    queued = said(api.post(f"/runs/{number}/restore", {"force": True}), 202)
    run_inline(Job.objects.get(kind="restore-run"), now=NOON)

    assert (refused, left) == ([(409, "over_limit")] * 2, 3)
    assert "the next run would evict at least 1 again" in answers[0].json()["errors"][0]["detail"]
    assert "the next run would evict at least 3 again" in answers[1].json()["errors"][0]["detail"]
    assert (item["items"], queued["number"], subject_of(container).long_term) == (1, number, 6)
    assert problem(api.post(one, {"force": "perhaps"}))[0] == 400


def test_what_stays_within_the_limits_comes_back_unasked(api, container):
    publish(container, a_policy(relevance={"max_records": 500}))
    one = Archived.objects.order_by("pk")[0]

    item = said(api.post(f"/containers/c1/archive/{one.uid}/restore"))
    queued = api.post(f"/runs/{Run.objects.get().number}/restore")

    assert (item["items"], queued.status_code) == (1, 202)


def test_named_items_come_back_at_once(api, container):
    publish(container, a_policy(relevance={"max_records": 500}))
    uids = [item["uid"] for item in said(api.get("/containers/c1/archive"))["items"]][:2]

    done = said(api.post(RESTORE, {"uids": uids}))

    assert (done["queued"], done["items"], done["would_go_again"]) == (False, 2, 0)
    assert (Archived.objects.count(), LongTermMemory.objects.count()) == (1, 5)
    assert api.post(RESTORE, {"uids": uids}).status_code == 404


@pytest.mark.parametrize(
    "body", [{}, {"uids": [], "force": True}, {"uids": ["x"]}, {"user_id": "ann", "uids": []}, {"user_id": "ann", "since": "x"}]
)
def test_a_wish_that_cannot_be_read_is_refused(api, container, body):
    assert problem(api.post(RESTORE, body))[0] == 400


def test_nobody_known_and_nothing_archived_are_not_found(api, container):
    assert api.post(RESTORE, {"user_id": "eve", "force": True}).status_code == 404
    assert api.post(RESTORE, {"user_id": None}).status_code == 404
    assert problem(caller_of("ana", containers=[container]).post(RESTORE, {"user_id": "ann"}))[0] == 403


def test_what_somebody_asked_to_have_erased_is_refused_in_words_by_item_and_by_user(api, container, settings, tmp_path):
    settings.SUPPRESSION_KEYS = str(tmp_path / "keys.json")
    opened("ann", containers=[container])
    one = Archived.objects.order_by("pk")[0]

    answers = [
        api.post(f"/containers/c1/archive/{one.uid}/restore"),
        api.post(RESTORE, {"uids": [str(one.uid)]}),
        api.post(RESTORE, {"user_id": "ann"}),
        api.post(RESTORE, {"user_id": "ann", "force": True}),
    ]

    assert [problem(answer)[:2] for answer in answers] == [(409, "erasure_asked")] * 4
    assert all("erasure was asked for or has been carried out" in answer.json()["errors"][0]["detail"] for answer in answers)
    assert (Archived.objects.count(), Job.objects.filter(kind="restore-user").exists()) == (3, False)


def test_a_run_of_which_everything_is_asked_to_be_erased_is_not_restored(api, container, settings, tmp_path):
    settings.SUPPRESSION_KEYS = str(tmp_path / "keys.json")
    number = Archived.objects.order_by("pk")[0].run_number
    opened("ann", containers=[container])

    refused = api.post(f"/runs/{number}/restore")

    assert problem(refused)[:2] == (409, "erasure_asked")
    assert "erasure was asked for or has been carried out" in refused.json()["errors"][0]["detail"]
    assert not Job.objects.filter(kind="restore-run").exists()


def test_what_is_asked_for_beside_others_is_left_out_of_the_numbers(api, container, settings, tmp_path):
    settings.SUPPRESSION_KEYS = str(tmp_path / "keys.json")
    fill(container, 6, user_id="ben")
    carry_out(preview(container))
    opened("ann", containers=[container])
    uids = [str(uid) for uid in Archived.objects.values_list("uid", flat=True)]

    asked = api.post(RESTORE, {"uids": uids})
    done = said(api.post(RESTORE, {"uids": uids, "force": True}))

    assert problem(asked)[:2] == (409, "over_limit")
    assert asked.json()["errors"][0]["detail"].startswith(
        "3 would come back, with 1 user over a cap: the next run would evict at least 3 again."
    )
    assert (done["coming"], done["items"], done["refused"], done["would_go_again"]) == (3, 3, 3, 3)
    assert (subject_of(container).long_term, subject_of(container, "ben").long_term) == (3, 6)
