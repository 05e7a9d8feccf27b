from datetime import timedelta

import pytest

from memadmin.jobs import heartbeat
from tests.factories import NOON

pytestmark = pytest.mark.django_db


def test_without_a_worker_there_is_no_age():
    assert heartbeat.age(NOON) is None


def test_the_age_is_the_time_since_the_last_beat():
    heartbeat.beat(NOON - timedelta(minutes=9))
    heartbeat.beat(NOON - timedelta(minutes=2))

    assert heartbeat.age(NOON) == timedelta(minutes=2)


def test_a_beat_from_the_future_does_not_keep_a_dead_worker_alive():
    heartbeat.beat(NOON + timedelta(days=900))

    assert heartbeat.age(NOON) == timedelta(days=900)
