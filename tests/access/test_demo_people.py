import pytest
from django.contrib.auth import authenticate

from memadmin.access import demo_people
from memadmin.access.models import Person
from tests.factories import NOON
from tests.people import PASSWORD, make_person


@pytest.mark.django_db
def test_every_job_of_the_demo_has_somebody_who_can_sign_in():
    logins = demo_people.make_demo_people(NOON)

    assert [(made.login, made.roles) for made in logins] == [
        ("sam", ["Support"]),
        ("pia", ["Policy editor"]),
        ("piet", ["Policy editor"]),
        ("cora", ["Compliance officer"]),
        ("ada", ["Auditor"]),
        ("ali", ["Administrator"]),
    ]
    assert all(authenticate(login=made.login, password=made.password) for made in logins)


@pytest.mark.django_db
def test_the_next_start_makes_nobody_twice_and_changes_the_passwords():
    first = demo_people.make_demo_people(NOON)
    second = demo_people.make_demo_people(NOON)

    assert Person.objects.count() == 6
    assert not {made.password for made in first} & {made.password for made in second}
    assert authenticate(login="sam", password=first[0].password) is None
    assert authenticate(login="sam", password=second[0].password) is not None


@pytest.mark.django_db
def test_a_real_person_with_a_demo_login_keeps_their_account():
    make_person(login="sam")

    logins = demo_people.make_demo_people(NOON)

    assert "sam" not in [made.login for made in logins]
    assert authenticate(login="sam", password=PASSWORD) is not None
