from datetime import timedelta

import pytest

from memadmin.access import tokens
from memadmin.access.models import ApiToken, TokenUse
from memadmin.access.scopes import Scope
from memadmin.access.tokens import BadToken, TokenSpec
from memadmin.audit.models import AuditEntry
from tests.factories import ACTOR, NOON, make_container
from tests.tokens import make_token

pytestmark = pytest.mark.django_db


def test_a_token_is_found_by_its_secret_and_the_secret_is_not_kept():
    token, secret = make_token()

    assert tokens.find(secret) == token
    assert secret not in str(list(ApiToken.objects.values()))
    assert secret.startswith(token.beginning)


def test_making_a_token_is_audited_without_its_secret_or_its_owner():
    token, secret = make_token("ana")

    entry = AuditEntry.objects.get(action="token.created")
    assert entry.target == f"token/{token.uid}"
    assert secret not in entry.leaf
    assert "ana" not in entry.leaf


def test_a_revoked_token_works_no_longer():
    token, secret = make_token()

    tokens.revoke_token(token, actor=ACTOR, now=NOON)

    assert not tokens.find(secret).works(NOON)
    assert AuditEntry.objects.get(action="token.revoked").target == f"token/{token.uid}"


def test_a_token_is_revoked_once():
    token, _ = make_token()
    tokens.revoke_token(token, actor=ACTOR, now=NOON)

    with pytest.raises(tokens.AlreadyRevoked):
        tokens.revoke_token(token, actor=ACTOR, now=NOON)


def test_a_token_ends_at_its_time():
    _, secret = make_token(expires_at=NOON + timedelta(hours=1))

    assert tokens.find(secret).works(NOON + timedelta(minutes=59))
    assert not tokens.find(secret).works(NOON + timedelta(hours=1))


@pytest.mark.parametrize(
    "wrong",
    [{"label": " "}, {"owner_name": ""}, {"label": "x" * 201}, {"scopes": ()}, {"expires_at": NOON}, {"backend_roles": ("",)}],
)
def test_a_token_without_what_it_needs_is_not_made(wrong):
    spec = TokenSpec(**{"label": "agent", "owner_name": "ana", "scopes": (Scope.MEMORY_READ,), **wrong})

    with pytest.raises(BadToken):
        tokens.create_token(spec, actor=ACTOR, now=NOON)
    assert not ApiToken.objects.exists()


def test_requests_are_counted_by_the_minute():
    token, _ = make_token()

    counted = [tokens.note_use(token, now=NOON + timedelta(seconds=seconds)) for seconds in (0, 30, 59, 60)]

    assert counted == [1, 2, 3, 1]
    assert TokenUse.objects.count() == 1


def test_the_day_of_the_last_use_is_kept_and_no_more():
    token, _ = make_token()

    tokens.note_use(token, now=NOON)

    token.refresh_from_db()
    assert token.last_used_on == NOON.date()


def test_a_container_that_a_token_makes_is_added_to_those_it_lists():
    token, _ = make_token(containers=[])
    container = make_container()

    tokens.admit(token.uid, container)

    assert list(token.containers.all()) == [container]
