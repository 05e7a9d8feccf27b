import io

import pytest
from django.contrib.auth import authenticate
from django.core.management.base import OutputWrapper

from memadmin.access.models import Person
from memadmin.management import first_steps
from tests.factories import make_container
from tests.people import PASSWORD, make_person

pytestmark = pytest.mark.django_db


@pytest.fixture
def out() -> OutputWrapper:
    return OutputWrapper(io.StringIO())


@pytest.fixture
def typing(monkeypatch):
    def types(login: str, *passwords: str) -> None:
        answers = iter(passwords)
        monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
        monkeypatch.setattr("builtins.input", lambda _: login)
        monkeypatch.setattr("getpass.getpass", lambda _: next(answers))

    return types


def test_every_start_of_the_demo_tells_logins_that_work(out, monkeypatch):
    monkeypatch.setattr(first_steps, "call_command", lambda name, stdout: make_container(name))

    first, second = first_steps.load_demo(out), first_steps.load_demo(out)

    login, password = next(line for line in second if line.startswith("  sam")).split()[:2]
    assert authenticate(login=login, password=password) is not None
    assert not set(first) & {line for line in second if line.startswith("  ")}


def test_a_demo_whose_loading_was_interrupted_is_finished_at_the_next_start(out, monkeypatch):
    def interrupted(name: str, stdout: object) -> None:
        calls.append(make_container(name + str(len(calls))))
        raise KeyboardInterrupt

    calls: list[object] = []
    monkeypatch.setattr(first_steps, "call_command", interrupted)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            first_steps.load_demo(out)

    assert len(calls) == 2


def test_a_store_with_real_memories_gets_no_demo_logins(out):
    make_container()

    first_steps.load_demo(out)

    assert not Person.objects.exists()


def test_the_first_administrator_can_sign_in(out, typing):
    typing("Ann", "short", "short", PASSWORD, "another one", PASSWORD, PASSWORD)

    assert first_steps.offer_administrator(out) == ["You can sign in as Ann."]
    assert authenticate(login="ann", password=PASSWORD).role_names == ["Administrator"]


def test_a_login_that_cannot_be_used_stops_nothing(out, typing):
    typing("a\x07b", PASSWORD, PASSWORD)

    assert "create_person" in first_steps.offer_administrator(out)[0]
    assert not Person.objects.exists()


def test_nobody_is_asked_where_somebody_can_sign_in(out):
    make_person()

    assert first_steps.offer_administrator(out) == []
