"""Acts tried with real requests under the net of `unaudited.py`: each leaves an entry, and the net notices when it does not."""

import pytest

from memadmin.access.roles import Role
from memadmin.audit import log
from memadmin.audit.models import AuditEntry
from memadmin.store.models import Container
from tests import unaudited
from tests.factories import make_container, make_memory, make_session, subject_of
from tests.people import a_browser_of, make_person
from tests.tokens import make_token

pytestmark = pytest.mark.django_db
HOLD = {"kind": "hold", "authority": "court_order", "reason": "asked for by a court", "review_on": "2100-01-01"}


def _things() -> dict[str, str]:
    """Return the addresses of what there is, by its kind."""
    container = make_container()
    memory = make_memory(container)
    return {
        "memory": f"/memories/{memory.uid}",
        "session": f"/sessions/{make_session(container).uid}",
        "user": f"/users/{subject_of(container).uid}",
        "hold": f"/holds/memory/{memory.uid}",
        "person": f"/people/{make_person(Role.SUPPORT, login='pat').uid}",
        "token": f"/tokens/{make_token()[0].uid}",
    }


ACTS = {
    "memory-pin": ("{memory}/pin/", {"reason": "allergy"}),
    "memory-delete": ("{memory}/delete/", {"sure": "yes", "reason": "asked for"}),
    "session-pin": ("{session}/pin/", {"reason": "complaint"}),
    "setting-change": ("/settings/preview_keep_days/", {"value": "9"}),
    "schedule-change": ("/schedules/nightly/", {"cron": "0 5 * * *"}),
    "schedule-run-now": ("/schedules/account/run-now/", {}),
    "person-deactivate": ("{person}/deactivate/", {"sure": "yes"}),
    "token-revoke": ("{token}/revoke/", {"sure": "yes"}),
    "webhook-create": ("/webhooks/create/", {"url": "https://hooks.example.org/x", "events": ["run.finished"], "reach": "all"}),
    "audit-verify": ("/audit/verify/", {}),
    "logout": ("/logout/", {}),
}


@pytest.fixture
def act(request):
    path, sent = ACTS[request.param]
    browser, things = a_browser_of(*Role, login="eve"), _things()

    def go():
        with unaudited.net():
            answer = browser.post(path.format(**things), sent)
        assert answer.status_code < 400, answer.content.decode()

    return go


@pytest.mark.parametrize("act", ACTS, indirect=True)
def test_an_act_leaves_an_entry(act):
    before = AuditEntry.objects.count()

    act()

    assert AuditEntry.objects.count() > before


@pytest.mark.parametrize("act", [name for name in ACTS if name != "logout"], indirect=True)
def test_an_act_that_left_none_would_be_noticed(act, monkeypatch):
    monkeypatch.setattr(log, "append", lambda *given, **named: None)

    with pytest.raises(unaudited.Unaudited):
        act()


def test_what_was_rolled_back_needs_no_entry():
    browser = a_browser_of(Role.ADMINISTRATOR, login="eve")

    with unaudited.net():
        browser.post("/settings/preview_keep_days/", {"value": "many"})

    assert not Container.objects.exists()
