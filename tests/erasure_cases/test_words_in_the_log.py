"""A person whose id is a word that staff write too: what they wrote is decided about, and the verification goes by what was decided."""

import pytest
from django.db import connection, transaction
from django.urls import reverse

from memadmin.access.actors import actor_of
from memadmin.access.roles import Role
from memadmin.audit import log, verification
from memadmin.audit.actions import Action
from memadmin.audit.models import AuditPayload
from memadmin.erasure import approving, deciding, sharing
from memadmin.erasure.deciding import NotDecidable, Verdict
from memadmin.erasure.models import ErasureRequest, Manifest, Status
from memadmin.store import pinning
from memadmin.store.locations import Act
from memadmin.store.models import Container, LongTermMemory
from tests.erasure.execution.test_execution import execute
from tests.erasure.workflow import a_word, discovered, officer, opened
from tests.factories import ACTOR, NOON, a_memory, make_container, make_memory, store
from tests.people import a_browser_of

pytestmark = pytest.mark.django_db(transaction=True)
NOT_THEM = Verdict(act=Act.KEEP, code="not_about_them")
TAKE_OUT = Verdict(act=Act.REDACT)
THEIRS, OTHERS = "may asked us to keep it", "May be wrong, look again in May"


@pytest.fixture
def container() -> Container:
    """Two reasons beside entries about bob's memory: one is about the person called may."""
    made = make_container()
    store(made, a_memory("mine", user_id="may"), a_memory("It may rain", user_id="bob"))
    for reason in (THEIRS, OTHERS):
        pinning.pin(make_memory(made, f"fact {len(reason)}", user_id="bob"), reason=reason, actor=ACTOR, now=NOON)
    return made


def said_in_the_log() -> list[str]:
    return [body for body in AuditPayload.objects.order_by("seq").values_list("body", flat=True) if "may" in body.casefold()]


def line_of(manifest: Manifest, words: str) -> int:
    payload = AuditPayload.objects.get(body__contains=words)
    return manifest.items.get(row_key=f'["{payload.stream}", {payload.seq}]').pk


def decided(request: ErasureRequest) -> None:
    """Take out what is about the person, leave all else that has the word."""
    manifest = discovered(request)
    deciding.decide(request, [line_of(manifest, THEIRS)], TAKE_OUT, actor=actor_of(officer()), now=NOON)
    waiting = manifest.items.filter(decision="waiting").values_list("pk", flat=True)
    deciding.decide(request, list(waiting), NOT_THEM, actor=actor_of(officer()), now=NOON)


def carried_out(request: ErasureRequest) -> None:
    deciding.submit(request, actor=actor_of(officer()), now=NOON)
    approving.approve(request, a_word(request), actor=actor_of(officer("carl")), now=NOON)
    execute(request)


def test_34_what_was_kept_as_not_about_them_stays_and_is_no_residue_and_what_was_taken_out_is_gone(container: Container):
    request = opened("may")
    decided(request)

    carried_out(request)

    assert (request.state, request.error_code) == (Status.COMPLETED, "")
    [left] = said_in_the_log()
    assert OTHERS in left
    assert LongTermMemory.objects.filter(text="It may rain").exists()
    assert verification.verify(connection).findings == []


def test_34_what_somebody_writes_after_the_search_is_decided_about_before_the_erasure_is_complete(container: Container):
    request = opened("may")
    decided(request)
    with transaction.atomic():
        log.append(Action.SETTING_CHANGED, actor=ACTOR, target="settings/audit", at=NOON, payload={"note": "this may help"})

    carried_out(request)

    assert request.state == Status.RESIDUE_FOUND
    assert [body for body in said_in_the_log() if "help" in body]


def test_words_in_the_log_and_in_memories_are_one_line_of_what_the_mentions_share(container: Container):
    request = opened("may")
    manifest = discovered(request)

    [group] = sharing.groups_of(manifest)

    assert (group.why, group.items, group.users, group.notes) == ("identifier", 5, 1, 2)
    assert sharing.decide_shared(request, [group.matched], NOT_THEM, actor=actor_of(officer()), now=NOON) == 5


def test_many_reasons_with_a_word_are_left_by_the_button_for_all(container: Container):
    for number in range(10):
        pinning.pin(make_memory(container, f"fact {number}", user_id="bob"), reason=f"may {number}", actor=ACTOR, now=NOON)

    [group] = sharing.groups_of(discovered(opened("may")), waiting=True)

    assert group.is_common


def test_what_is_written_in_the_log_cannot_be_deleted_by_itself(container: Container):
    request = opened("may")
    manifest = discovered(request)

    for decide, named in (
        (deciding.decide, [line_of(manifest, OTHERS)]),
        (sharing.decide_shared, [sharing.groups_of(manifest)[0].matched]),
    ):
        with pytest.raises(NotDecidable, match="beside entries of the audit log"):
            decide(request, named, Verdict(act=Act.DELETE), actor=actor_of(officer()), now=NOON)  # type: ignore[operator]


@pytest.mark.parametrize(("role", "shown"), [(Role.COMPLIANCE, True), (Role.AUDITOR, False)])
def test_the_reviewer_reads_what_was_written_and_beside_which_entry_and_who_may_not_read_memories_does_not(
    container: Container, role: Role, shown: bool
):
    request = opened("may")
    discovered(request)

    page = a_browser_of(role).get(reverse("pages:erasure-items", args=[request.uid]) + "?item_class=D").content.decode()

    assert "What people wrote beside entries of the audit log" in page
    assert (OTHERS in page, "memory was pinned" in page) == (shown, shown)
