"""A clock that is set back: the log keeps its order, and its verification says where. The numbers are those of the list of attacks."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection

from memadmin.audit import log, verification
from memadmin.audit.actions import Action
from memadmin.audit.findings import Report

pytestmark = pytest.mark.django_db
AT = datetime(2026, 3, 1, 12, tzinfo=UTC)


def verify() -> Report:
    return verification.verify(connection)


def act_at(*minutes: int) -> None:
    for each in minutes:
        log.append(Action.MEMORY_PINNED, actor="person/1", target="long-term/1", at=AT + timedelta(minutes=each))


def test_63_a_clock_that_was_set_back_is_named_before_each_row_and_the_log_is_whole_in_its_order():
    act_at(0, 3, -57, -56, 525_600, 4)  # an hour back; a year ahead, and back

    report = verify()

    assert (report.exit_code, report.clock_went_back) == (0, 2)
    assert [(turn.stream, turn.seq, turn.seconds) for turn in report.clock_turns] == [
        ("governance", 3, 60 * 60),
        ("governance", 6, (525_600 - 4) * 60),
    ]


def test_63_an_act_that_waited_for_another_one_is_no_clock_that_was_set_back():
    act_at(10, 0)

    assert verify().clock_went_back == 0
