import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from memadmin.access.models import ApiToken
from tests.factories import make_container
from tests.tokens import ApiClient

pytestmark = pytest.mark.django_db


def create_token(*arguments: str) -> str:
    out = StringIO()
    call_command("create_token", *arguments, stdout=out)
    return out.getvalue()


def test_a_made_token_works_at_once():
    make_container("bot", external_id="c1")

    made = json.loads(create_token("agent", "--owner", "ana", "--container", "bot", "--json"))

    assert ApiClient(made["secret"]).get("/c1").status_code == 200
    assert made["scopes"] == ["container.read", "memory.read", "memory.write"]


def test_people_read_the_secret_once():
    text = create_token(
        "agent", "--owner", "ana", "--all-containers", "--scope", "memory.read", "--all-access", "--expires-on", "2999-01-31"
    )

    token = ApiToken.objects.get()
    assert f"Secret: {token.beginning}" in text
    assert token.all_containers
    assert token.expires_at is not None
    assert token.expires_at.year == 2999


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--container", "nope"], "No container is called 'nope'"),
        (["--container", "twin"], "Several containers are called 'twin'"),
        (["--all-containers", "--expires-on", "soon"], "--expires-on is a day"),
        (["--all-containers", "--expires-on", "2999-02-31"], "--expires-on is a day"),
        (["--all-containers", "--expires-on", "2001-01-01"], "past its time already"),
    ],
)
def test_what_cannot_be_made_is_said_and_nothing_is_stored(arguments, words):
    make_container("twin"), make_container("twin")

    with pytest.raises(CommandError, match=words):
        create_token("agent", "--owner", "ana", *arguments)
    assert not ApiToken.objects.exists()
