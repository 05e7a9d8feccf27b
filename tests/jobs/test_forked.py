"""The test tools themselves: work in a copy of this process."""

import os
import signal

import pytest
from django.db import connection

from tests.jobs.forked import KILLED, Raised, in_a_process


def breaks():
    raise ValueError("a row too many")


def test_work_that_raises_in_a_copy_raises_here_and_says_where():
    with pytest.raises(Raised, match=r"(?s)exit status 1.*in breaks.*ValueError: a row too many"):
        in_a_process(breaks)


def begins_without_a_connection():
    assert connection.connection is None


@pytest.mark.django_db(transaction=True)
def test_a_copy_shares_no_connection_not_even_one_from_before_a_browser_was_started(request):
    connection.ensure_connection()
    request.getfixturevalue("browser")
    connection.ensure_connection()

    assert in_a_process(begins_without_a_connection) == 0


def test_work_that_ends_or_is_killed_is_told_apart():
    assert in_a_process(lambda: None) == 0
    assert in_a_process(lambda: os.kill(os.getpid(), signal.SIGKILL)) == KILLED
