"""Whoever tries what they may not is in the log, and cannot flood it."""

import json

import pytest

from memadmin.access import refusals
from memadmin.access.roles import Role
from memadmin.access.scopes import Scope
from memadmin.audit.models import AuditEntry, AuditPending
from memadmin.store import suppression
from memadmin.store.models import Mode
from memadmin.store.suppression import Terms
from tests.factories import ACTOR, NOON, make_container
from tests.people import a_browser_of, support
from tests.tokens import BASE, api_of

pytestmark = pytest.mark.django_db
UID = "00000000-0000-0000-0000-000000000000"


def noted() -> list[tuple[str, str, str]]:
    """Return action, target and code of every refusal that waits to be sealed."""
    found = [json.loads(facts) for facts in AuditPending.objects.order_by("pk").values_list("facts", flat=True)]
    return [(each["action"], each["target"], each["reason_code"]) for each in found if each["outcome"] == "refused"]


@pytest.mark.parametrize("verb", ["approve", "submit", "discover", "cancel", "refuse", "decide", "extend"])
def test_a_verb_of_the_erasure_without_the_right_is_refused_and_noted(verb):
    assert support().post(f"/erasure/{UID}/{verb}/").status_code == 403

    ((action, target, code),) = noted()
    assert (action, target) == ("access.refused", f"rights/{code}")
    assert code.startswith("erasure.")


def test_looking_at_erasures_or_the_log_without_the_right_is_noted_and_looking_elsewhere_is_not():
    browser = a_browser_of(Role.POLICY_EDITOR, login="pia")

    assert [browser.get(path).status_code for path in ("/erasure/", "/audit/", "/people/")] == [403, 403, 403]

    assert [code for _, _, code in noted()] == ["erasure.view", "audit.view"]


@pytest.mark.parametrize(
    ("path", "method"), [("/api/v1/erasure-requests", "POST"), (f"{BASE}/_create", "POST"), ("/_cluster/settings", "PUT")]
)
def test_a_token_without_the_scope_is_refused_and_noted(path, method):
    assert api_of(scopes=[Scope.MEMORY_READ]).call(method, path, {}).status_code == 403

    ((action, target, code),) = noted()
    assert (action, target) == ("access.refused", f"scopes/{code}")


@pytest.mark.parametrize("own", [True, False])
def test_what_was_erased_and_comes_again_is_refused_and_noted_without_a_name(own):
    container = make_container(owner={"name": "ana"})
    suppression.suppress_users(
        ["ann-canary"], container=container, terms=Terms(mode=Mode.BLOCK), request_ref="erasure/1", actor=ACTOR, now=NOON
    )
    path = f"/api/v1/containers/{container.uid}/memories" if own else f"/{container.uid}/memories/long-term"
    body = {"user_id": "ann-canary", "text": "x"} if own else {"memory": "x", "namespace": {"user_id": "ann-canary"}}

    assert api_of().post(path, body).status_code == 409

    assert noted() == [("arrivals.refused", f"arrivals/api/{container.uid}", "subject_erased")]
    assert "canary" not in "".join(AuditPending.objects.values_list("facts", flat=True))


def test_of_one_who_tries_without_end_so_many_are_noted_as_can_wait():
    browser = support()

    codes = {browser.post(f"/erasure/{UID}/cancel/").status_code for _ in range(refusals.AT_MOST + 5)}

    assert codes == {403}
    assert len(noted()) == refusals.AT_MOST


def test_refusals_lock_nothing_that_the_acts_of_others_wait_for():
    before = AuditEntry.objects.count()
    browser = support()
    signed_in = AuditEntry.objects.count()

    browser.post(f"/erasure/{UID}/cancel/")

    assert signed_in - before == 1
    assert AuditEntry.objects.count() == signed_in
