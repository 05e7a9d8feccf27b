import io
import json

import pytest
from django.contrib.auth import authenticate
from django.core.management import CommandError, call_command

from memadmin.access.management.commands import create_person as command
from memadmin.access.models import Person
from memadmin.access.visibility import visible_containers
from tests.factories import make_container

pytestmark = pytest.mark.django_db


def run(*arguments: str, typed: str = "", monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    out = io.StringIO()
    call_command("create_person", *arguments, stdout=out)
    return out.getvalue()


def test_create_person_takes_the_password_from_standard_input_and_keeps_it_to_itself(monkeypatch):
    said = run("ann", "--role", "auditor", "--role=support", "--password-stdin", typed="correct horse battery\n", monkeypatch=monkeypatch)

    assert authenticate(login="ann", password="correct horse battery").role_names == ["Support", "Auditor"]
    assert "correct horse battery" not in said


def test_create_person_makes_a_password_where_nobody_can_be_asked(monkeypatch):
    said = json.loads(run("ann", "--role=auditor", "--json", monkeypatch=monkeypatch))

    assert authenticate(login="ann", password=said["password"]) is not None
    assert said["roles"] == ["auditor"]


def test_create_person_asks_twice_on_a_terminal(monkeypatch):
    answers = iter(["correct horse battery", "correct horse batter"])
    monkeypatch.setattr(command, "getpass", lambda _: next(answers))
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)

    with pytest.raises(CommandError, match="differ"):
        call_command("create_person", "ann", "--role=auditor")
    assert not Person.objects.exists()


@pytest.mark.parametrize(
    ("arguments", "typed", "why"),
    [
        (["ann", "--role=auditor", "--password-stdin"], "", "holds no password"),
        (["", "--role=auditor"], "", "printable"),
        (["ann", "--role=owner"], "", "invalid choice"),
        (["ann"], "", "--role"),
    ],
)
def test_create_person_says_what_is_wrong(arguments, typed, why, monkeypatch):
    with pytest.raises(CommandError, match=why):
        run(*arguments, typed=typed, monkeypatch=monkeypatch)


def test_create_person_refuses_a_login_that_is_taken(monkeypatch):
    run("ann", "--role=auditor", monkeypatch=monkeypatch)

    with pytest.raises(CommandError, match="already"):
        run("Ann", "--role=auditor", monkeypatch=monkeypatch)


def test_create_person_gives_the_named_containers_and_no_others(monkeypatch):
    shop, clinic = make_container("shop"), make_container("clinic")
    make_container("unseen")

    run("ann", "--role=support", "--container", "shop", str(clinic.uid), monkeypatch=monkeypatch)

    assert set(visible_containers(Person.objects.get())) == {shop, clinic}


def test_create_person_makes_nobody_for_a_container_that_is_not_there_or_not_the_only_one(monkeypatch):
    make_container("twice")
    make_container("twice")

    with pytest.raises(CommandError, match="There is no container nowhere"):
        run("ann", "--role=support", "--container", "nowhere", monkeypatch=monkeypatch)
    with pytest.raises(CommandError, match="2 containers are called twice"):
        run("ann", "--role=support", "--container", "twice", monkeypatch=monkeypatch)

    assert not Person.objects.exists()
