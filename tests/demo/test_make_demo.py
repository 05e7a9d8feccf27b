import io
import json

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from memadmin.access.models import Person
from memadmin.access.roles import Role
from memadmin.demo.management.commands.make_demo import WHAT_FOR
from memadmin.store.counts import store_counts

pytestmark = pytest.mark.django_db


def run(**options):
    out = io.StringIO()
    call_command("make_demo", stdout=out, **options)
    return out.getvalue()


def test_it_says_what_the_store_holds_now():
    printed = run(users=5, memories=20)

    assert "Loaded the demo" in printed
    assert "sessions" in printed


def test_a_second_run_says_that_nothing_was_added():
    run(users=5, memories=20)

    assert "Nothing was added" in run(users=5, memories=20)


def test_without_numbers_it_takes_the_demo_that_is_there():
    run(users=5, memories=20, seed=7)

    assert "Nothing was added" in run()
    assert store_counts()["subjects"] == 5


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
    assert answer["added"]["long-term"] == 20
    assert answer["store"]["subjects"] == 5
    assert answer["people"] == []


def test_with_people_it_prints_logins_and_what_each_is_for():
    printed = run(users=5, memories=20, people=True)

    assert Person.objects.filter(demo=True).count() == 6
    for person in Person.objects.all():
        assert f"  {person.login} " in printed
    assert "Auditor: reads everything that was done, changes nothing" in printed


def test_every_role_says_what_it_is_for():
    assert set(WHAT_FOR) == set(Role)


def test_a_second_run_with_people_gives_new_passwords():
    first = json.loads(run(users=5, memories=20, people=True, json=True))["people"]

    second = json.loads(run(people=True, json=True))["people"]

    assert [each["login"] for each in first] == [each["login"] for each in second]
    assert not {each["password"] for each in first} & {each["password"] for each in second}
