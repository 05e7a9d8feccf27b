from datetime import timedelta

import pytest
from django.test import Client, override_settings

from memadmin.access import people
from memadmin.access.roles import Role
from memadmin.access.throttling import MOST_FOR_LOGIN, MOST_FROM_ADDRESS
from memadmin.audit.models import AuditEntry
from tests.factories import ACTOR, NOON
from tests.people import PASSWORD, make_person

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def clock(time_machine):
    time_machine.move_to(NOON, tick=False)
    return time_machine


def sign_in(login: str = "sam", password: str = PASSWORD, *, address: str = "203.0.113.7", **headers: str):
    return Client(REMOTE_ADDR=address, headers=headers).post("/login/", {"login": login, "password": password})


def fail(times: int, login: str = "sam", **where: str) -> None:
    for _ in range(times):
        assert sign_in(login, "wrong", **where).status_code == 422


def test_after_some_failures_even_the_right_password_has_to_wait_and_the_page_says_how_long(clock):
    make_person(Role.SUPPORT)
    fail(MOST_FOR_LOGIN)
    clock.move_to(NOON + timedelta(minutes=2, seconds=30), tick=False)

    answer = sign_in()

    assert answer.status_code == 429
    assert answer["Retry-After"] == "750"
    assert "Too many failed attempts. Wait 13 minutes and try again" in answer.content.decode()


def test_after_the_wait_the_right_password_is_taken(clock):
    make_person(Role.SUPPORT)
    fail(MOST_FOR_LOGIN)
    assert sign_in().status_code == 429

    clock.move_to(NOON + timedelta(minutes=15, seconds=1), tick=False)

    assert sign_in().status_code == 302


def test_a_success_begins_the_count_anew():
    make_person(Role.SUPPORT)
    for _ in range(3):
        fail(MOST_FOR_LOGIN - 1)

        assert sign_in().status_code == 302


def test_the_spelling_of_a_login_does_not_get_around_the_wait():
    make_person(Role.SUPPORT)
    fail(MOST_FOR_LOGIN, "SAM")

    assert sign_in(" sam").status_code == 429


def test_a_login_that_nobody_has_waits_like_any_other():
    fail(MOST_FOR_LOGIN, "nobody")

    assert sign_in("nobody").status_code == 429
    assert sign_in("somebody", "wrong").status_code == 422


def test_a_new_password_from_an_administrator_ends_the_wait():
    person = make_person(Role.SUPPORT)
    fail(MOST_FOR_LOGIN)

    password = people.reset_password(person, actor=ACTOR, now=NOON)

    assert sign_in(password=password).status_code == 302


def test_one_address_that_tries_many_logins_waits_and_another_does_not():
    make_person(Role.SUPPORT)
    for number in range(MOST_FROM_ADDRESS):
        fail(1, f"guess-{number}")

    assert sign_in().status_code == 429
    assert sign_in(address="203.0.113.8").status_code == 302


def test_behind_a_proxy_of_ours_the_address_is_the_one_that_the_proxy_names():
    make_person(Role.SUPPORT)
    for number in range(MOST_FROM_ADDRESS):
        fail(1, f"guess-{number}", address="127.0.0.1", **{"X-Forwarded-For": "198.51.100.1, 203.0.113.7"})

    assert sign_in(address="127.0.0.1", **{"X-Forwarded-For": "203.0.113.7"}).status_code == 429
    assert sign_in(address="127.0.0.1", **{"X-Forwarded-For": "198.51.100.1"}).status_code == 302


@override_settings(TRUSTED_PROXIES=["10.0.0.1"])
def test_a_stranger_cannot_name_another_address():
    make_person(Role.SUPPORT)
    for number in range(MOST_FROM_ADDRESS):
        fail(1, f"guess-{number}", **{"X-Forwarded-For": f"198.51.100.{number}"})

    assert sign_in(**{"X-Forwarded-For": "198.51.100.99"}).status_code == 429
    assert sign_in(address="10.0.0.1", **{"X-Forwarded-For": "203.0.113.9"}).status_code == 302


def test_a_wait_is_audited_once_and_the_log_holds_neither_login_nor_address():
    fail(MOST_FOR_LOGIN, "my-secret-password")
    for _ in range(3):
        sign_in("my-secret-password")

    entries = AuditEntry.objects.order_by("seq")
    assert [entry.reason_code for entry in entries] == ["unknown_login"] * MOST_FOR_LOGIN + ["throttled"]
    assert entries.last().counts == {"wait_seconds": 900}
    assert "my-secret" not in "".join(entry.leaf for entry in entries)
    assert "203.0.113.7" not in "".join(entry.leaf for entry in entries)
