"""A program notes of whom it gave data to a recipient."""

import json

import pytest

from memadmin.access.scopes import Scope
from memadmin.erasure import disclosures
from memadmin.erasure.models import Disclosure
from memadmin.store.models import Container
from tests.api.v1.calls import caller_of, problem, said
from tests.erasure.giving import THEIRS, told_by_mail
from tests.factories import make_container, make_memory

pytestmark = pytest.mark.django_db
PATH = "/containers/pharmacy/disclosures"


@pytest.fixture
def recipient():
    make_memory(make_container(external_id="pharmacy"), "likes tea", user_id="ann")
    return told_by_mail()


def body(whom, **changes):
    return {"recipient": str(whom.uid), "user_id": "ann", "own_id": THEIRS, "at": "2026-01-05T10:00:00Z", **changes}


def test_it_is_noted_once_under_one_key_and_no_answer_repeats_an_id(recipient):
    api = caller_of(all_access=True)

    first = api.post(PATH, body(recipient), Idempotency_Key="k1")
    again = api.post(PATH, body(recipient), Idempotency_Key="k1")

    shown = said(first, 201)
    assert said(again, 201) == shown
    assert again.headers["Idempotency-Replayed"] == "true"
    assert shown["own_id_known"] is True
    assert shown["first_at"] == shown["last_at"] == "2026-01-05T10:00:00Z"
    assert THEIRS not in json.dumps(shown)
    assert "ann" not in json.dumps({**shown, "container": ""})
    found = Disclosure.objects.get()
    assert disclosures.own_ids(recipient, [found.subject_id]) == {found.subject_id: [THEIRS]}


def test_said_again_it_moves_the_last_time(recipient):
    api = caller_of(all_access=True)
    said(api.post(PATH, body(recipient)), 201)

    shown = said(api.post(PATH, body(recipient, at="2026-02-05T10:00:00Z")), 200)

    assert (shown["first_at"], shown["last_at"]) == ("2026-01-05T10:00:00Z", "2026-02-05T10:00:00Z")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"user_id": "nobody"}, "user_id"),
        ({"recipient": "00000000-0000-4000-8000-000000000000"}, "recipient"),
        ({"own_id": " "}, "own_id"),
        ({"own_id": "x" * 513}, "own_id"),
        ({"at": "9000-01-01T00:00:00Z"}, "at"),
        ({"name": "Ann"}, "name"),
    ],
)
def test_what_cannot_be_noted_is_said_at_its_field(recipient, change, field):
    answer = caller_of(all_access=True).post(PATH, body(recipient, **change))

    assert problem(answer)[::2] == (400, field)
    assert THEIRS not in answer.content.decode()
    assert not Disclosure.objects.exists()


def test_55_without_the_scope_all_access_or_the_container_nothing_is_noted(recipient):
    other = make_container("other")
    without_scope = caller_of("bo", all_access=True, scopes=[Scope.MEMORY_WRITE])
    own_alone = caller_of("cy", containers=[other])
    elsewhere = caller_of("di", containers=[other], all_access=True)

    statuses = [each.post(PATH, body(recipient)).status_code for each in (without_scope, own_alone, elsewhere)]

    assert statuses == [403, 404, 404]
    assert caller_of("ed").post(PATH, body(recipient)).status_code in (403, 404)
    assert not Disclosure.objects.exists()


def test_a_recipient_of_other_containers_is_not_told_from_none(recipient):
    hidden = told_by_mail(make_container("hidden"), name="Hidden")
    api = caller_of(all_access=True)

    one = api.post(PATH, body(hidden))
    none = api.post(PATH, body(recipient, recipient="00000000-0000-4000-8000-000000000000"))

    assert one.content == none.content


class TestAtOnce:
    PATH = f"{PATH}/at-once"

    def people(self, *user_ids):
        return [{"user_id": user_id, "own_id": f"crm-{user_id}"} for user_id in user_ids]

    def test_several_are_noted_once_under_one_key_and_no_answer_repeats_an_id(self, recipient):
        make_memory(Container.objects.get(), "gin", user_id="bob")
        api = caller_of(all_access=True)
        sent = {"recipient": str(recipient.uid), "people": self.people("ann", "bob")}

        first = api.post(self.PATH, sent, Idempotency_Key="k1")
        again = api.post(self.PATH, sent, Idempotency_Key="k1")
        later = api.post(self.PATH, sent)

        assert said(first, 200) == said(again, 200) == {"noted": 2, "new": 2}
        assert said(later, 200) == {"noted": 2, "new": 0}
        assert Disclosure.objects.count() == 2

    def test_what_is_wrong_is_named_by_its_place_and_nothing_is_noted(self, recipient):
        api = caller_of(all_access=True)

        unknown = api.post(self.PATH, {"recipient": str(recipient.uid), "people": self.people("ann", "zoe")})
        wrong = api.post(self.PATH, {"recipient": str(recipient.uid), "people": [{"user_id": "ann", "own_id": " "}]})

        assert [error["attr"] for error in json.loads(unknown.content)["errors"]] == ["people.1.user_id"]
        assert [error["attr"] for error in json.loads(wrong.content)["errors"]] == ["people.0.own_id"]
        assert "zoe" not in unknown.content.decode()
        assert (unknown.status_code, wrong.status_code, Disclosure.objects.count()) == (400, 400, 0)

    @pytest.mark.parametrize("people", [[], [{"user_id": "ann"}] * 501, "ann", [{"user_id": "ann", "name": "x"}]])
    def test_a_list_that_is_none_is_refused(self, recipient, people):
        answer = caller_of(all_access=True).post(self.PATH, {"recipient": str(recipient.uid), "people": people})

        assert (answer.status_code, Disclosure.objects.count()) == (400, 0)
