"""A request that was searched more than once: all of its manifests are on its page and its certificate."""

import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from memadmin.access.actors import actor_of
from memadmin.access.roles import Role
from memadmin.erasure.certificates.reading import parts_of
from memadmin.erasure.execution import resuming
from memadmin.erasure.models import ErasureRequest, Status
from memadmin.erasure.planting import plant_person
from memadmin.store.models import Archived
from tests.erasure.executing import CANARY, execute, go_through, with_a_residue
from tests.erasure.workflow import approved, officer, opened
from tests.factories import ACTOR, NOON, make_container
from tests.people import a_browser_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def cora() -> Client:
    return a_browser_of(Role.COMPLIANCE, login="lea")


@pytest.fixture
def residue(monkeypatch: pytest.MonkeyPatch) -> ErasureRequest:
    plant_person(make_container(), CANARY, actor=ACTOR, now=NOON)
    return with_a_residue(monkeypatch)


def go_on(request: ErasureRequest) -> ErasureRequest:
    resuming.go_on(request, actor=actor_of(officer()), now=NOON)
    return go_through(request)


def page_of(browser: Client, request: ErasureRequest, name: str = "erasure-detail", **query: Any) -> str:
    return " ".join(browser.get(reverse(f"pages:{name}", args=[request.uid]), query).content.decode().split())


def test_after_going_on_both_manifests_are_on_the_page_the_newest_first_with_what_became_of_each(cora: Client, residue: ErasureRequest):
    go_on(residue)

    assert residue.state == Status.COMPLETED
    card = page_of(cora, residue).partition('id="manifests"')[2]
    first, second = residue.manifests.order_by("number")
    places = [card.index(each.digest[:16]) for each in (second, first)]
    assert places == sorted(places)
    assert "Carried out; look 2 over the database: nothing but what was to stay" in card
    assert "Carried out; look 1 over the database: something is left" in card
    assert "Searched since manifest 1 had left something" in card
    assert "by the approval of manifest 1" in card
    assert f"?manifest={first.number}" in card


def test_a_request_that_was_searched_once_has_no_such_list(cora: Client):
    plant_person(make_container(), CANARY, actor=ACTOR, now=NOON)
    request = opened(CANARY)
    approved(request)

    assert 'id="manifests"' not in page_of(cora, request)
    execute(request)
    assert 'id="manifests"' not in page_of(cora, request)


def test_an_earlier_manifest_is_read_and_not_decided_about(cora: Client, residue: ErasureRequest):
    resuming.back_to_review(residue, actor=actor_of(officer()), now=NOON)
    go_through(residue)
    assert residue.state == Status.REVIEW

    assert "by the approval of" not in page_of(cora, residue)  # what is in review needs one of its own
    earlier, current = (page_of(cora, residue, "erasure-items", manifest=number) for number in (1, 2))

    assert "This is an earlier manifest: what counts now is" in earlier
    assert residue.manifests.get(number=1).digest in earlier
    assert ('type="checkbox" name="item"' in earlier, 'type="checkbox" name="item"' in current) == (False, True)
    for nonsense in ("x", "99", "\u00b2"):
        assert residue.manifests.get(number=2).digest in page_of(cora, residue, "erasure-items", manifest=nonsense)


def test_the_certificate_names_every_manifest_that_was_carried_out_and_its_approval(residue: ErasureRequest):
    first = residue.manifests.get()
    go_on(residue)

    document = json.loads(residue.certificates.get().document)
    [earlier] = document["earlier_manifests"]
    proof = dict(next(part for part in parts_of(document) if part.title == "Proof").rows)
    approval = residue.approvals.get()

    first.refresh_from_db()
    assert (earlier["number"], earlier["digest"], earlier["root"]) == (1, first.digest, first.root)
    assert earlier["approved_by"] == approval.approver
    assert document["manifest"]["number"] == 2
    assert proof["manifest 1, carried out before"].startswith(first.digest)
    assert not Archived.objects.exists()


def test_a_certificate_of_one_manifest_names_no_other():
    plant_person(make_container(), CANARY, actor=ACTOR, now=NOON)
    request = opened(CANARY)
    approved(request)
    execute(request)

    document = json.loads(request.certificates.get().document)

    assert document["earlier_manifests"] == []
    assert "manifest" in dict(next(part for part in parts_of(document) if part.title == "Proof").rows)
