"""Whom a request may name, tried through every entrance that takes one in. The numbers are those of the lists of what broke others."""

import io
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone

from memadmin.access.actors import actor_of
from memadmin.access.roles import Role
from memadmin.erasure import intake
from memadmin.erasure.intake import NobodyMeant, Opening
from memadmin.erasure.models import Channel, ErasureRequest, Ground, Kind
from memadmin.store.models import LongTermMemory
from tests.erasure.workflow import officer
from tests.factories import a_memory, make_container, store
from tests.people import PASSWORD, a_browser_of
from tests.tokens import api_of

pytestmark = pytest.mark.django_db
FORM = {"kind": "erase_subject", "ground": "17_1_b", "profile": "gdpr", "received_on": "", "identity": "", "aliases": "", "note": ""}
NAMES_NOBODY = ["*", "%", " * ", "**", "?", "_", "%_", ".", "   ", "\t", "\u200b", "\N{NO-BREAK SPACE}", ""]
Way = Callable[[str, Any], str]


def by_looking_on_the_page(user_id: str, _: Any) -> str:
    return (
        a_browser_of(Role.COMPLIANCE, login="lea").post(reverse("pages:erasure-find"), {"user_id": user_id}, follow=True).content.decode()
    )


def by_sending_the_form_by_hand(user_id: str, _: Any) -> str:
    """Without looking first, as if the page had said that no container knows this id."""
    answer = a_browser_of(Role.COMPLIANCE, login="lea").post(
        reverse("pages:erasure-open"), {**FORM, "user_id": user_id, "unknown": "yes"}, follow=True
    )
    return answer.content.decode()


def by_the_api(user_id: str, _: Any) -> str:
    return api_of(all_access=True).post("/api/v1/erasure-requests", {"user_id": user_id}).content.decode()


def by_the_command(user_id: str, monkeypatch: Any) -> str:
    officer()
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{PASSWORD}\n"))
    with pytest.raises(CommandError) as refused:
        call_command("erasure", "open", "--user", user_id, "--as", "cora", "--password-stdin", stdout=io.StringIO())
    return str(refused.value)


def by_the_verb(user_id: str, _: Any) -> str:
    opening = Opening(kind=Kind.SUBJECT, ground=Ground.CONSENT_WITHDRAWN, channel=Channel.PAGE, unknown=[user_id])
    with pytest.raises(NobodyMeant) as refused:
        intake.open_request(opening, actor=actor_of(officer()), now=timezone.now())
    return str(refused.value)


WAYS: dict[Way, str] = {
    by_looking_on_the_page: "no wildcards",
    by_sending_the_form_by_hand: "no wildcards",
    by_the_api: "no wildcards",
    by_the_command: "no wildcards",
    by_the_verb: "no wildcards",
}
SAID_OTHERWISE = {
    (by_looking_on_the_page, ""): "Type the id",
    (by_sending_the_form_by_hand, ""): "User id",
    (by_the_api, ""): "may not be blank",
}


@pytest.mark.parametrize("user_id", NAMES_NOBODY)
@pytest.mark.parametrize("way", WAYS)
def test_f03_a_wildcard_or_nothing_to_see_names_nobody_at_any_entrance(way: Way, user_id: str, monkeypatch: Any):
    store(make_container("shop"), a_memory(), a_memory(user_id="bob"))

    said = way(user_id, monkeypatch)

    assert SAID_OTHERWISE.get((way, user_id), WAYS[way]) in said
    assert (ErasureRequest.objects.count(), LongTermMemory.objects.count()) == (0, 2)


@pytest.mark.parametrize("user_id", ["*", "   "])
def test_f03_a_user_who_is_called_so_is_taken_in_alone_from_their_own_page(user_id: str):
    store(make_container("shop"), a_memory(), a_memory(user_id=user_id))
    subject = LongTermMemory.objects.get(subject__user_id=user_id).subject

    a_browser_of(Role.COMPLIANCE, login="lea").post(
        reverse("pages:erasure-open"), {**FORM, "user_id": user_id, "shown": str(subject.uid), "tick": str(subject.uid)}
    )

    assert list(ErasureRequest.objects.get().subjects.values_list("subject_id", "user_id", "ticked")) == [(subject.pk, user_id, True)]


def test_f03_an_application_that_sends_a_wildcard_does_not_mean_the_user_who_is_called_so():
    store(make_container("shop"), a_memory(user_id="*"))

    answer = api_of(all_access=True).post("/api/v1/erasure-requests", {"user_id": "*"})

    assert (answer.status_code, ErasureRequest.objects.count()) == (400, 0)


@pytest.mark.parametrize("alias", ["*", "   ", "\u200b", "%"])
def test_f03_a_name_to_search_for_is_no_wildcard_either(alias: str):
    store(make_container("shop"), a_memory())

    answer = api_of(all_access=True).post("/api/v1/erasure-requests", {"user_id": "ann", "aliases": [alias]})

    assert (answer.status_code, ErasureRequest.objects.count()) == (422, 0)
    assert "no wildcards" in answer.content.decode()
