import io
import json

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from memadmin.store.counts import store_counts

pytestmark = pytest.mark.django_db


def run(**options):
    out = io.StringIO()
    call_command("make_demo", stdout=out, **options)
    return out.getvalue()


def test_it_says_what_the_store_holds_now():
    printed = run(users=5, memories=1_100)

    assert "Loaded the demo" in printed
    assert "1,100" in printed


def test_a_second_run_says_that_nothing_was_added():
    run(users=5, memories=20)

    assert "Nothing was added" in run(users=5, memories=20)


def test_without_numbers_it_takes_the_demo_that_is_there():
    run(users=5, memories=20, seed=7)

    run()

    assert store_counts()["long_term"] == 20


def test_another_seed_is_refused():
    run(users=5, memories=20)

    with pytest.raises(CommandError, match="seed 1"):
        run(users=5, memories=20, seed=2)


def test_a_size_that_makes_no_sense_is_refused():
    with pytest.raises(CommandError, match="not 0 and 10"):
        run(users=0, memories=10)


def test_a_small_demo_says_that_the_worked_example_is_missing():
    assert "worked example is in demos of 40 users and 1,500 memories" in run(users=5, memories=20)


def test_as_json_it_prints_one_object():
    answer = json.loads(run(users=5, memories=20, seed=3, json=True))

    assert answer["already_there"] is False
    assert answer["recipe"]["seed"] == 3
    assert answer["added"]["long-term"] == answer["store"]["long_term"] == 20
