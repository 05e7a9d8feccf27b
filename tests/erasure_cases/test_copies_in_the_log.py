"""Five words in a row of what the person said, copied into a reason in the audit log: found, and a reviewer decides."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from memadmin.access.actors import actor_of
from memadmin.access.roles import Role
from memadmin.audit import verification
from memadmin.audit.models import AuditPayload
from memadmin.erasure import deciding, sharing
from memadmin.erasure.models import Manifest, Status
from memadmin.store import pinning
from memadmin.store.models import Container
from tests.erasure.workflow import discovered, officer, opened, opened_for
from tests.erasure_cases.test_words_in_the_log import NOT_THEM, TAKE_OUT, carried_out
from tests.factories import ACTOR, NOON, a_memory, make_container, make_memory, store
from tests.people import a_browser_of

pytestmark = pytest.mark.django_db(transaction=True)
SAID = "My daughter Zoe is allergic to peanuts and walnuts"
COPIED = "Keep: daughter Zoe is allergic to peanuts, she says"
FOUR = "Keep: is allergic to peanuts"


def reasons(container: Container, *said: str) -> None:
    """Let somebody write these beside entries about bob's memories."""
    for number, reason in enumerate(said):
        pinning.pin(make_memory(container, f"fact {number}", user_id="bob"), reason=reason, actor=ACTOR, now=NOON)


@pytest.fixture
def container() -> Container:
    made = make_container()
    store(made, a_memory(SAID))
    reasons(made, COPIED, FOUR)
    return made


def in_the_log(manifest: Manifest) -> list[tuple[str, str, str]]:
    rows = manifest.items.filter(location="store.audit_payloads").order_by("pk")
    return list(rows.values_list("item_class", "reason_code", "decision"))


def written(words: str) -> bool:
    return AuditPayload.objects.filter(body__contains=words).exists()


def test_five_words_in_a_row_wait_for_a_reviewer_and_four_are_not_found(container: Container):
    assert in_the_log(discovered(opened())) == [("D", "copied_text", "waiting")]


def test_what_the_reviewer_takes_out_goes_whole_and_the_chain_stays(container: Container):
    request = opened()
    manifest = discovered(request)
    waiting = manifest.items.filter(decision="waiting").values_list("pk", flat=True)
    deciding.decide(request, list(waiting), TAKE_OUT, actor=actor_of(officer()), now=NOON)

    carried_out(request)

    assert (request.state, written("peanuts, she says"), written(FOUR)) == (Status.COMPLETED, False, True)
    assert verification.verify(connection).findings == []


def test_what_the_reviewer_leaves_stays_and_is_no_residue(container: Container):
    request = opened()
    manifest = discovered(request)
    waiting = manifest.items.filter(decision="waiting").values_list("pk", flat=True)
    deciding.decide(request, list(waiting), NOT_THEM, actor=actor_of(officer()), now=NOON)

    carried_out(request)

    assert (request.state, written("peanuts, she says")) == (Status.COMPLETED, True)


def test_the_same_copy_in_a_memory_and_in_the_log_is_decided_about_once(container: Container):
    make_memory(container, COPIED, user_id="bob")
    request = opened()
    [group] = sharing.groups_of(discovered(request))

    assert (group.why, group.notes) == ("copied_text", 1)
    assert sharing.decide_shared(request, [group.matched], NOT_THEM, actor=actor_of(officer()), now=NOON) == group.items


def test_what_several_others_say_too_is_no_copy(container: Container):
    store(container, *(a_memory(SAID, user_id=name) for name in ("bob", "cem", "dan")))

    assert in_the_log(discovered(opened())) == []


def test_a_request_about_single_items_finds_what_was_copied_from_them():
    made = make_container()
    memory = make_memory(made, "The key lies under the third pot of herbs", user_id="bob")
    reasons(made, "It says the key lies under the third pot", COPIED)

    assert in_the_log(discovered(opened_for(memory))) == [("D", "copied_text", "waiting")]


def test_the_reviewer_reads_the_passage_where_it_stands(container: Container):
    reasons(container, "It was looked at. " * 40 + "Then daughter Zoe is allergic to peanuts was read.")
    request = opened()
    discovered(request)

    page = a_browser_of(Role.COMPLIANCE, login="lea").get(reverse("pages:erasure-items", args=[request.uid]) + "?item_class=D")

    assert "daughter Zoe is allergic to peanuts was read" in page.content.decode()


def test_looking_for_copies_reads_no_more_of_the_log_than_looking_for_ids(container: Container):
    def statements_on_the_log() -> int:
        with CaptureQueriesContext(connection) as made:
            discovered(opened())
        return sum('FROM "audit_payload"' in each["sql"] for each in made)

    few = statements_on_the_log()
    reasons(container, *(f"nothing of theirs in these words, number {number}" for number in range(30)))

    assert statements_on_the_log() == few
