"""Who gets an export, how often, how long, and what is left of it afterwards."""

import json
import threading
from typing import Any

import pytest
from django.db import connection, transaction

from memadmin.access.actors import actor_of
from memadmin.audit.actions import Action
from memadmin.audit.models import AuditEntry
from memadmin.erasure import workflow
from memadmin.erasure.access_exports import collecting, ending, handing, sealing, starting
from memadmin.erasure.access_exports.collecting import NotYet, TooLate, WrongCode
from memadmin.erasure.access_exports.starting import NoExport, NotExportable
from memadmin.erasure.models import AccessExport, ErasureRequest, ExportPart, ExportState, ExportSubject, Kind, Status
from memadmin.erasure.models.manifests import Answer
from memadmin.erasure.moves import WrongState
from memadmin.store import configuration
from tests.erasure.access_exports.making import STRANGER, asked, collected, handed_out, made, started
from tests.erasure.workflow import discovered, officer, opened
from tests.factories import ACTOR, NOON, a_memory, days, make_container, store

pytestmark = pytest.mark.django_db


def ready(**details: Any) -> ErasureRequest:
    store(make_container(), a_memory("canary likes tea"))
    return asked(**details)


def state_of(export: AccessExport) -> str:
    export.refresh_from_db()
    return export.state


def test_an_export_is_taken_once_and_nothing_of_it_is_left():
    export, code = handed_out(ready())

    files = collected(export, code)

    assert b"canary likes tea" in files["data.json"]
    assert (state_of(export), export.wrapped_key, export.code_digest) == (ExportState.COLLECTED, None, "")
    assert not ExportPart.objects.exists()
    assert not ExportSubject.objects.exists()
    with pytest.raises(TooLate):
        collecting.collect(export.uid, code, actor=STRANGER, now=NOON)


def test_a_code_may_be_typed_in_any_case_with_blanks_and_digits_for_letters():
    export, code = handed_out(ready())
    typed = f" {code.lower().replace('-', ' ').replace('o', '0').replace('i', '1')} "

    assert collected(export, typed)


def test_a_wrong_code_opens_nothing_and_is_in_the_log_without_the_code():
    export, _ = handed_out(ready())

    with pytest.raises(WrongCode):
        collecting.collect(export.uid, "ABCD-EFGH", actor=STRANGER, now=NOON)

    entry = AuditEntry.objects.get(action=Action.ACCESS_EXPORT_CODE_REFUSED)
    assert (entry.outcome, entry.reason_code, state_of(export)) == ("refused", "wrong_code", ExportState.HANDED_OUT)
    assert "ABCD" not in entry.leaf


def test_the_code_of_another_export_opens_nothing():
    request = ready()
    store(make_container("other"), a_memory(user_id="bob"))
    first, code = handed_out(request)
    second, _ = handed_out(asked("bob"))

    with pytest.raises(WrongCode):
        collecting.collect(second.uid, code, actor=STRANGER, now=NOON)
    assert collected(first, code)


def test_who_tries_codes_has_to_wait_and_the_person_elsewhere_does_not():
    export, code = handed_out(ready())
    for _ in range(collecting.MOST_TRIES):
        with pytest.raises(WrongCode):
            collecting.collect(export.uid, "WRONG", actor=STRANGER, now=NOON)

    with pytest.raises(NotYet):
        collecting.collect(export.uid, code, actor=STRANGER, now=NOON)
    collecting.collect(export.uid, code, actor="system/login.ffffffffffffffff", now=NOON)


def test_an_export_expires_with_all_that_it_says():
    export, code = handed_out(ready())
    late = NOON + days(14)

    with pytest.raises(TooLate):
        collecting.collect(export.uid, code, actor=STRANGER, now=late)
    ending.end_old(now=late)

    assert (state_of(export), export.wrapped_key, export.code_digest) == (ExportState.EXPIRED, None, "")
    assert not ExportPart.objects.exists()
    assert AuditEntry.objects.filter(action=Action.ACCESS_EXPORT_EXPIRED).count() == 1


def test_how_long_it_is_kept_is_a_setting():
    configuration.change("access_export_days", 3, actor=ACTOR, now=NOON)
    export, _ = handed_out(ready())

    ending.end_old(now=NOON + days(2.9))
    assert state_of(export) == ExportState.HANDED_OUT
    ending.end_old(now=NOON + days(3))
    assert state_of(export) == ExportState.EXPIRED


def test_a_new_export_takes_the_place_of_the_old_one_and_its_link():
    request = ready()
    old, code = handed_out(request)

    new = made(request)

    assert (state_of(old), state_of(new)) == (ExportState.WITHDRAWN, ExportState.READY)
    with pytest.raises(TooLate):
        collecting.collect(old.uid, code, actor=STRANGER, now=NOON)


def test_an_export_of_a_request_that_was_refused_opens_nothing():
    request = ready()
    export, _ = handed_out(request)
    workflow.refuse(request, "unfounded", letter="No.", actor=ACTOR, now=NOON)

    ending.end_old(now=NOON)

    assert (state_of(export), export.error_code) == (ExportState.WITHDRAWN, "request_ended")


def test_calling_an_export_off_removes_it():
    request = ready()
    export, _ = handed_out(request)

    starting.withdraw(request, actor=ACTOR, now=NOON)

    assert state_of(export) == ExportState.WITHDRAWN
    assert not ExportPart.objects.exists()
    with pytest.raises(NoExport):
        starting.withdraw(request, actor=ACTOR, now=NOON)


def test_a_link_is_made_once():
    request = ready()
    handed_out(request)

    with pytest.raises(WrongState):
        handing.hand_out(request, actor=actor_of(officer()), now=NOON)


def test_an_export_from_before_another_secret_key_is_to_be_made_again_and_says_so(settings: Any):
    request = ready()
    made(request)
    settings.SECRET_KEY = "another-secret-key-of-this-installation-0123456789"

    with pytest.raises(WrongState, match="Make it again"):
        handing.hand_out(request, actor=ACTOR, now=NOON)


def test_there_is_no_link_to_what_is_not_made_yet():
    request = ready()
    started(request)

    with pytest.raises(NoExport):
        handing.hand_out(request, actor=actor_of(officer()), now=NOON)


def test_nothing_is_made_before_it_is_known_who_asks():
    request = ready(identity=None)

    with pytest.raises(NotExportable, match="how it is known"):
        started(request)


def test_nothing_is_made_while_a_place_could_not_be_asked():
    request = ready()
    request.manifests.get().answers.filter(location="store.feedback").update(answer=Answer.FAILED)

    with pytest.raises(NotExportable, match="Search again"):
        started(request)


def test_nothing_is_made_while_it_is_open_who_is_meant():
    store(make_container(), a_memory(), a_memory(user_id="Ann"))
    request = opened(kind=Kind.ACCESS)
    discovered(request)

    with pytest.raises(NotExportable, match="look alike"):
        started(request)


def test_nothing_is_made_of_an_old_search():
    with pytest.raises(NotExportable, match="more than a week old"):
        started(ready(), now=NOON + days(8))


def test_nothing_is_made_before_the_search_or_of_a_request_that_erases_nothing():
    store(make_container(), a_memory())

    with pytest.raises(NotExportable, match="while somebody reviews"):
        started(opened(kind=Kind.ACCESS))
    with pytest.raises(NotExportable, match="for access"):
        started(opened(kind=Kind.RECTIFY))


def test_a_person_gets_a_copy_before_everything_is_erased():
    request = ready(kind=Kind.SUBJECT)

    files = collected(*handed_out(request))

    assert b"canary likes tea" in files["data.json"]
    assert request.state == Status.REVIEW


def test_an_access_request_is_answered_by_an_export_or_in_part():
    request = ready()
    with pytest.raises(workflow.NotSoEnded, match="hand out its link"):
        workflow.answer(request, "done", letter="Here.", actor=ACTOR, now=NOON)

    handed_out(request)
    workflow.answer(request, "done", letter="Here.", actor=ACTOR, now=NOON)

    assert request.state == Status.COMPLETED


def test_after_the_link_was_made_the_server_cannot_open_it():
    export, code = handed_out(ready())
    wrapped = bytes(export.wrapped_key or b"")

    with pytest.raises(sealing.Unopened):
        sealing.unwrap_by_server(wrapped, export.uid)
    assert len(sealing.unwrap_by_code(wrapped, code, export.uid)) == sealing.KEY_BYTES
    stored = json.dumps([export.code_digest, wrapped.hex()])
    assert code not in stored
    assert sealing.tidy(code) not in stored


def test_a_part_opens_in_its_own_place_only():
    key = sealing.new_key()
    sealed = sealing.seal_part(b"likes tea", key, "a/data.json/1")

    assert sealing.open_part(sealed, key, "a/data.json/1") == b"likes tea"
    with pytest.raises(sealing.Unopened):
        sealing.open_part(sealed, key, "a/data.json/2")
    with pytest.raises(sealing.Unopened):
        sealing.open_part(sealed, sealing.new_key(), "a/data.json/1")


def test_what_is_sealed_is_taken_for_no_text():
    sealed = sealing.seal_part(b"x" * 300, sealing.new_key(), "a/data.json/1")

    assert set(sealed) <= set(range(0x80, 0xC0))


def test_what_a_broken_download_has_left_goes_after_an_hour():
    export, code = handed_out(ready())
    collecting.collect(export.uid, code, actor=STRANGER, now=NOON)  # never streamed

    ending.end_old(now=NOON + days(0.01))
    assert ExportPart.objects.exists()
    ending.end_old(now=NOON + days(0.05))
    assert not ExportPart.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_of_two_tabs_at_the_same_moment_one_gets_it():
    export, code = handed_out(ready())
    start, results = threading.Barrier(2), []

    def take() -> None:
        try:
            start.wait()
            collecting.collect(export.uid, code, actor=STRANGER, now=NOON)
            results.append("taken")
        except TooLate:
            results.append("late")
        finally:
            connection.close()

    tabs = [threading.Thread(target=take) for _ in range(2)]
    for tab in tabs:
        tab.start()
    for tab in tabs:
        tab.join()

    assert sorted(results) == ["late", "taken"]
    assert transaction.get_autocommit()
