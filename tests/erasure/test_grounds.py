"""Each right has grounds of its own, on the form, over the API and in a shell."""

import json

import pytest
from django.test import Client
from django.urls import reverse

from memadmin.access.roles import Role
from memadmin.erasure import grounds
from memadmin.erasure.grounds import WrongGround
from memadmin.erasure.models import ErasureRequest, Ground, Kind
from tests.erasure.on_pages import DETAILS, taken_in
from tests.erasure.workflow import opened, opened_for
from tests.factories import a_memory, make_container, make_memory, store, subject_of
from tests.people import a_browser_of
from tests.tokens import api_of

pytestmark = pytest.mark.django_db
PATH = "/api/v1/erasure-requests"
FITTING = [(kind, ground) for kind, fitting in grounds.GROUNDS_OF.items() for ground in fitting]


@pytest.fixture
def cora() -> Client:
    return a_browser_of(Role.COMPLIANCE, login="cora")


def test_every_kind_has_grounds_and_every_ground_a_kind():
    assert set(grounds.GROUNDS_OF) == set(Kind)
    assert {ground for _, ground in FITTING} == set(Ground)


def test_only_another_right_of_the_person_is_a_ground_of_several_rights():
    rights = [set(grounds.GROUNDS_OF[kinds[0]]) for kinds in grounds.RIGHTS.values()]

    for n, right in enumerate(rights):
        for other in rights[n + 1 :]:
            assert right & other == {Ground.OTHER}


@pytest.mark.parametrize(
    ("ground", "words"),
    [
        (Ground.CONSENT_WITHDRAWN, "consent withdrawn (GDPR Art. 17(1)(b))"),
        (Ground.OBJECTION_PENDING, "objection to the processing, while it is being weighed (GDPR Art. 18(1)(d))"),
        (Ground.INACCURATE, "what is stored is inaccurate (GDPR Art. 16)"),
        (Ground.OTHER, "another right of the person"),
    ],
)
def test_a_ground_is_said_in_words_with_its_article(ground: Ground, words: str):
    assert grounds.words(ground) == words


@pytest.mark.parametrize("kind", [Kind.RESTRICT, Kind.RECTIFY, Kind.ACCESS])
def test_a_ground_of_the_right_to_erasure_is_refused_for_another_right(kind: Kind):
    store(make_container(), a_memory())

    with pytest.raises(WrongGround, match="consent withdrawn"):
        opened(kind=kind, ground=Ground.CONSENT_WITHDRAWN)

    assert not ErasureRequest.objects.exists()


def test_storage_limitation_is_the_ground_of_what_the_clock_gathers_alone():
    memory = make_memory(make_container())

    with pytest.raises(WrongGround):
        opened(kind=Kind.SUBJECT, ground=Ground.STORAGE_LIMIT)

    assert opened_for(memory).ground == Ground.OTHER


def test_a_request_that_follows_another_has_the_ground_of_that():
    memory = make_memory(make_container())
    first = opened_for(memory)
    first.ground = Ground.STORAGE_LIMIT

    second = opened_for(memory, follows=first, ground=Ground.STORAGE_LIMIT)

    assert second.ground == Ground.STORAGE_LIMIT


class TestOnThePage:
    def opened(self, browser: Client, **details: str) -> tuple[int, str]:
        uid = str(subject_of(make_container_of_ann()).uid)
        answer = browser.post(reverse("pages:erasure-open"), {**DETAILS, "user_id": "ann", "shown": uid, "tick": uid, **details})
        return answer.status_code, answer.content.decode()

    def test_the_form_offers_the_grounds_by_right(self, cora: Client):
        make_container_of_ann()

        page = cora.post(reverse("pages:erasure-find"), {"user_id": "ann"}, follow=True).content.decode()

        assert [page.count(f'<optgroup label="{right}">') for right in grounds.RIGHTS] == [1, 1, 1, 1]
        assert 'data-for="restrict"' in page
        assert 'data-for="access" data-usual="access"' in page
        assert 'value="5_1_e"' not in page

    @pytest.mark.parametrize(
        ("kind", "ground", "right"),
        [
            ("access", "17_1_b", "Right of access"),
            ("restrict", "16_inaccurate", "Right to restriction"),
            ("erase_subject", "15", "Right to erasure"),
        ],
    )
    def test_the_ground_of_another_right_is_refused_beside_its_field(self, cora: Client, kind: str, ground: str, right: str):
        status, page = self.opened(cora, kind=kind, ground=ground)

        assert status == 422
        assert f"Choose one under “{right}”." in page
        assert not ErasureRequest.objects.exists()

    def test_the_page_of_a_request_says_its_ground_with_the_article(self, cora: Client):
        make_container_of_ann()
        request = taken_in(cora, kind="restrict", ground="18_1_c")

        page = cora.get(reverse("pages:erasure-detail", args=[request.uid])).content.decode()

        assert "needed by the person for legal claims (GDPR Art. 18(1)(c))" in page

    def test_an_old_request_to_restrict_shows_the_ground_it_was_taken_in_with(self, cora: Client):
        make_container_of_ann()
        request = taken_in(cora, kind="restrict")
        ErasureRequest.objects.update(ground=Ground.UNLAWFUL)

        page = cora.get(reverse("pages:erasure-detail", args=[request.uid])).content.decode()

        assert "Ground: processed unlawfully (GDPR Art. 17(1)(d))." in page


class TestOverTheApi:
    @pytest.mark.parametrize(("kind", "ground"), [("erase_subject", "17_1_b"), ("rectify", "16_inaccurate"), ("access", "15")])
    def test_the_usual_ground_is_taken_where_none_is_given(self, kind: str, ground: str):
        make_container_of_ann()

        answer = api_of(all_access=True).post(PATH, {"user_id": "ann", "kind": kind})

        assert (answer.status_code, json.loads(answer.content)["ground"]) == (201, ground)

    @pytest.mark.parametrize("ground", ["18_1_a", "18_1_b", "18_1_c", "18_1_d", "other"])
    def test_a_request_to_restrict_says_its_ground(self, ground: str):
        make_container_of_ann()
        api = api_of(all_access=True)

        without = api.post(PATH, {"user_id": "ann", "kind": "restrict"})
        answer = api.post(PATH, {"user_id": "ann", "kind": "restrict", "ground": ground})

        assert (without.status_code, answer.status_code) == (400, 201)
        assert "18_1_a" in json.loads(without.content)["errors"][0]["detail"]

    def test_the_ground_of_another_right_is_refused_with_those_that_fit(self):
        make_container_of_ann()

        answer = api_of(all_access=True).post(PATH, {"user_id": "ann", "kind": "access", "ground": "17_1_a"})

        assert answer.status_code == 400
        assert "15, to know what is stored about them" in answer.content.decode()


def make_container_of_ann():
    container = make_container()
    store(container, a_memory())
    return container
