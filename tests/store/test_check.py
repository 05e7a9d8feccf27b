import json

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from memadmin.audit.models import AuditEntry
from memadmin.store.check import check
from memadmin.store.models import Container, LongTermMemory, PolicyState, Subject
from tests.factories import a_change, a_memory, a_message, a_pin, make_container, make_memory, make_session, store, subject_of

pytestmark = pytest.mark.django_db


def filled():
    container = make_container()
    store(container, a_message(), a_memory(tokens=5), a_memory("allergy", pin=a_pin(), tokens=3), a_change(), a_memory(user_id=None))
    return container


def kinds(**options):
    return [finding.kind for finding in check(**options)]


def test_a_store_that_only_its_verbs_have_touched_agrees_with_itself():
    filled()

    assert kinds() == []


def test_a_wrong_counter_is_found_with_both_numbers_and_repaired():
    container = filled()
    Subject.objects.filter(user_id="ann").update(long_term=9)

    found = list(check(repair=True))

    assert [(finding.kind, finding.stored, finding.found) for finding in found] == [("counter.long_term", 9, 2)]
    assert subject_of(container).long_term == 2
    assert kinds() == []


def test_a_pin_flag_without_a_pin_is_found_and_repaired():
    filled()
    LongTermMemory.objects.filter(text="likes tea").update(pinned=True)

    assert kinds(repair=True)[:2] == ["pin.flag", "pin.flag"]
    assert kinds() == []
    assert LongTermMemory.objects.pinned().count() == 1


def test_a_pin_without_its_memory_is_found_and_repaired():
    filled()
    LongTermMemory.objects.pinned()._raw_delete("default")

    assert "pin.without_item" in kinds(repair=True)
    assert kinds() == []


def test_an_item_of_a_missing_user_is_found():
    memory = make_memory(make_container())
    Subject.objects.filter(pk=memory.subject_id)._raw_delete("default")

    assert "item.without_subject" in kinds()


def test_a_policy_state_that_no_version_backs_is_found():
    make_container()
    Container.objects.update(policy_state=PolicyState.SET)

    assert kinds() == ["policy.state"]


def test_the_command_says_what_is_wrong_and_exits_with_1(capsys):
    filled()
    Subject.objects.filter(user_id="ann").update(history=4)

    with pytest.raises(SystemExit) as ended:
        call_command("check_store")
    call_command("check_store", "--repair")
    entry = AuditEntry.objects.get(action="store.repaired")
    assert (entry.actor, sum(entry.counts.values())) == ("command/check_store", 1)
    call_command("check_store", "--json")

    out = capsys.readouterr().out
    assert ended.value.code == 1
    assert "counter.history" in out
    assert "stored 4, rows say 1" in out
    assert json.loads(out.splitlines()[-1]) == {"findings": [], "repaired": False}


def test_counts_name_every_kind(capsys):
    filled()
    make_session(make_container("clinic"), messages=2)

    call_command("store_counts", "--json")
    call_command("store_counts", "--container", "clinic", "--json")

    whole, clinic = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert whole == {
        "containers": 2,
        "subjects": 2,
        "sessions": 2,
        "working": 3,
        "messages": 3,
        "long_term": 3,
        "history": 1,
        "pinned": 1,
        "archived": 0,
    }
    assert (clinic["containers"], clinic["sessions"], clinic["long_term"]) == (1, 1, 0)


def test_counts_of_an_unknown_container_name_the_known_ones():
    make_container()

    with pytest.raises(CommandError, match="pharmacy"):
        call_command("store_counts", "--container", "nowhere")
