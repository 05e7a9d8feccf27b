import json

import pytest
from django.core.management import CommandError, call_command

from memadmin.audit import anchors, checkpoints, log, signing
from memadmin.audit.actions import Action
from tests.factories import NOON

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def one(db):
    log.append(Action.RUN_FINISHED, actor="job/nightly", target="runs/1", at=NOON)


def run(capsys, *arguments):
    call_command("audit_log", *arguments, "--json")
    return json.loads(capsys.readouterr().out)


def test_nothing_is_done_until_it_is_committed(capsys):
    assert run(capsys, "anchor") == {"act": "anchor", "would_lose": {}}
    assert anchors.latest(checkpoints.folder()).lines == 0


def test_a_checkpoint_is_written_and_the_key_changed(capsys):
    assert run(capsys, "anchor", "--commit") == {"checkpoint": 1}
    old = signing.current().key_id

    assert run(capsys, "rotate-key", "--commit") == {"key": signing.current().key_id}
    assert signing.current().key_id != old


def test_accepting_a_restore_where_nothing_was_lost_is_refused(capsys):
    run(capsys, "anchor", "--commit")

    with pytest.raises(CommandError, match="as new as its anchors"):
        run(capsys, "accept-restore", "--commit")
