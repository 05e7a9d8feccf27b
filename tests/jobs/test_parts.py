import logging

import pytest

from memadmin.jobs.lease import LeaseLost
from memadmin.jobs.parts import do_part

pytestmark = pytest.mark.django_db


def fail(error):
    raise error


def test_a_part_that_ends_well_has_no_error():
    assert do_part(lambda: None, name="run 1") == ""


def test_an_error_is_known_by_its_class_and_its_text_goes_nowhere(caplog):
    with caplog.at_level(logging.ERROR):
        code = do_part(lambda: fail(ValueError("likes tea")), name="run 1")

    assert code == "ValueError"
    assert "tea" not in caplog.text


def test_a_lost_lease_is_the_affair_of_the_whole_job():
    with pytest.raises(LeaseLost):
        do_part(lambda: fail(LeaseLost()), name="run 1")
