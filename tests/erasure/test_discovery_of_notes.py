"""What is found of a person in what people here wrote: beside entries of the log, and elsewhere."""

from typing import Any

import pytest
from django.db import transaction

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.erasure.models import Manifest
from memadmin.store.models import Mode, SuppressedKind, Suppression
from tests.erasure.workflow import discovered, found, opened
from tests.factories import ACTOR, NOON, a_memory, make_container, make_memory, store, subject_of

pytestmark = pytest.mark.django_db


def in_the_log(said: str, *, target: str = "settings/audit", **more: Any) -> None:
    with transaction.atomic():
        log.append(Action.SETTING_CHANGED, actor=ACTOR, target=target, at=NOON, payload={"reason": said, **more})


def of_the_log(manifest: Manifest) -> list[tuple[str, str, str]]:
    items = manifest.items.filter(location="store.audit_payloads").order_by("pk")
    return [(item.item_class, item.act, item.decision) for item in items]


def test_34_a_reason_in_the_log_that_has_a_word_which_is_an_id_waits_for_a_reviewer():
    store(make_container(), a_memory("mine", user_id="may"), a_memory("It may rain", user_id="bob"))
    in_the_log("May be wrong")

    manifest = discovered(opened("may"))

    assert of_the_log(manifest) == [("D", "redact", "waiting")]
    assert manifest.undecided == 2


def test_what_is_written_beside_an_entry_about_the_person_or_names_them_beyond_doubt_goes_without_a_review():
    shop = make_container()
    mine, others = make_memory(shop, "mine", user_id="may"), make_memory(shop, "theirs", user_id="bob")
    for target in (f"long-term/{mine.uid}", f"users/{subject_of(shop, 'may').uid}"):
        in_the_log("asked for it", target=target)
    in_the_log("may be wrong", target=f"long-term/{others.uid}")
    in_the_log("asked for it", target=f"long-term/{others.uid}")
    in_the_log(f"came from {mine.uid}")

    assert of_the_log(discovered(opened("may"))) == [*[("E", "redact", "")] * 3, ("D", "redact", "waiting")]


@pytest.mark.parametrize("user_id", ["text", "2026", "support", "30"])
def test_codes_and_days_beside_an_entry_are_no_words_of_anybody(user_id: str):
    store(make_container(), a_memory("mine", user_id=user_id))
    in_the_log("a court asks", fields=["text"], review_on="2026-12-01", before="2026-11-01T10:00:00+00:00", after=30, roles=["support"])

    assert of_the_log(discovered(opened(user_id))) == []


def test_what_staff_wrote_elsewhere_waits_too_where_the_id_is_a_word():
    store(make_container(), a_memory("mine", user_id="may"), a_memory("mine", user_id="annika-77"))
    lifted = {"lifted_by": ACTOR, "lifted_at": NOON, "lift_reason": "annika-77 may come back"}
    Suppression.objects.create(kind=SuppressedKind.TEXT, digest="d", mode=Mode.LIFTED, since=NOON, **lifted)

    by_word, by_id = discovered(opened("may")), discovered(opened("annika-77"))

    assert found(by_word)["store.lift_reasons", "D", "redact"] == 1
    assert found(by_id)["store.lift_reasons", "E", "redact"] == 1
