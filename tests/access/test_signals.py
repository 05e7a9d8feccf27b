import pytest
from django.contrib.auth import authenticate
from django.test import Client

from memadmin.access.roles import Role
from memadmin.audit.models import AuditEntry
from tests.people import PASSWORD, make_person

pytestmark = pytest.mark.django_db


def entries() -> list[tuple[str, str, str, str]]:
    return list(AuditEntry.objects.order_by("seq").values_list("action", "actor", "target", "reason_code"))


def test_signing_in_and_out_is_audited(client: Client):
    person = make_person(Role.SUPPORT)
    name = f"person/{person.uid}"

    client.post("/login/", {"login": "sam", "password": PASSWORD})
    client.post("/logout/")
    client.post("/logout/")

    assert entries() == [("login.succeeded", name, name, ""), ("login.ended", name, name, "")]


@pytest.mark.parametrize(
    ("login", "password", "code"),
    [("sam", "wrong", "wrong_password"), ("nobody", PASSWORD, "unknown_login"), ("gone", PASSWORD, "inactive")],
)
def test_a_refused_sign_in_is_audited_with_its_cause(login, password, code):
    make_person(login="sam")
    gone = make_person(login="gone")
    gone.is_active = False
    gone.save()

    assert authenticate(login=login, password=password) is None

    (action, actor, _, reason) = entries()[-1]
    assert (action, actor, reason) == ("login.failed", "system/login", code)


def test_what_was_typed_is_not_kept():
    authenticate(login="my-secret-password", password="sam")

    assert "my-secret-password" not in AuditEntry.objects.get().leaf
