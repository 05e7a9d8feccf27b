"""Acts tried with real requests under the net of `unaudited.py`: each leaves an entry, and the net notices when it does not."""

import inspect
from collections.abc import Iterator
from typing import Any

import pytest

from memadmin.access.roles import Role
from memadmin.audit import log
from memadmin.audit.models import AuditEntry
from memadmin.erasure import workflow
from memadmin.erasure.models import ErasureRequest
from memadmin.store import configuration
from memadmin.store.models import Container, Setting
from tests import sources, unaudited
from tests.addresses import addresses
from tests.erasure.workflow import discovered, opened, submitted
from tests.factories import NOON, make_container, make_memory, make_session, subject_of
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


REQUESTS: dict[str, tuple[Any, dict[str, str]]] = {
    "accept": (lambda: _waiting(), {"item_class": "D"}),
    "pause": (lambda: opened(identity=None), {}),
    "resume": (lambda: _paused(), {}),
    "send-back": (lambda: _submitted(), {"reason": "look at the mentions again"}),
    "nothing-held": (lambda: _empty(), {"letter": "We hold nothing of yours."}),
}


def _waiting() -> ErasureRequest:
    make_memory(Container.objects.get(), "asked about annika", user_id="bob")
    make_memory(Container.objects.get(), "likes mate", user_id="annika")
    request = opened("annika")
    discovered(request)
    return request


def _paused() -> ErasureRequest:
    request = opened(identity=None)
    workflow.pause(request, actor="person/1", now=NOON)
    return request


def _submitted() -> ErasureRequest:
    request = opened()
    submitted(request)
    return request


def _empty() -> ErasureRequest:
    request = opened("ghost", ticked=[], unknown=["ghost"])
    discovered(request)
    return request


@pytest.mark.parametrize("verb", REQUESTS)
def test_an_act_on_a_request_leaves_an_entry(verb: str):
    make_memory(make_container())
    browser, (made, sent) = a_browser_of(*Role, login="eve"), REQUESTS[verb]
    request = made()
    before = AuditEntry.objects.filter(target=request.target).count()

    answer = browser.post(f"/erasure/{request.uid}/{verb}/", sent)

    assert answer.status_code == 302, answer.content.decode()
    assert AuditEntry.objects.filter(target=request.target).count() > before


@pytest.mark.parametrize("verb", [verb for verb in REQUESTS if verb != "nothing-held"])  # its certificate is an entry beside
def test_an_act_on_a_request_that_left_none_would_be_noticed(verb: str, monkeypatch: Any):
    make_memory(make_container())
    browser, (made, sent) = a_browser_of(*Role, login="eve"), REQUESTS[verb]
    request = made()
    monkeypatch.setattr(log, "append", lambda *given, **named: None)

    with pytest.raises(unaudited.Unaudited):
        browser.post(f"/erasure/{request.uid}/{verb}/", sent)


def test_every_page_that_is_posted_to_is_tried_by_some_test_under_the_net():
    """The net is in every test: here it is asked that each address stands in one of them."""
    said = "\n".join(path.read_text("utf8") for path in sorted(sources.ROOT.glob("tests/**/*.py")))

    assert [name for path, name in _posted_to() if not _is_tried(path, name, said)] == []
    assert not _is_tried("/erasure/<uuid:uid>/undo-it/", "erasure-undo-it", said.replace("undo-it", ""))


def _posted_to() -> Iterator[tuple[str, str]]:
    for path, name, view in addresses():
        source = inspect.getsource(inspect.unwrap(view))
        if not hasattr(view, "scopes") and "@require_safe" not in source and "@require_GET" not in source:
            yield path, name


def _is_tried(path: str, name: str, said: str) -> bool:
    """Whether tests name an address whole, by the end of its path, or as a verb that is put behind what it is done to."""
    if any(form in said for form in (f'"{name}"', f'pages:{name}"', f"/{path.strip('/').rpartition('/')[2]}/")):
        return True
    words = name.split("-")
    parts = [("-".join(words[:n]), "-".join(words[n:])) for n in range(1, len(words))]
    return any(
        (f"pages:{what}-{{" in said and f'"{verb}"' in said) or (f"pages:{what}{{" in said and f'"-{verb}"' in said) for what, verb in parts
    )


def test_a_setting_that_is_set_to_its_default_has_its_entry_and_one_that_is_set_again_keeps_who_set_it():
    key = "preview_keep_days"
    default = configuration.value(key)
    entries = AuditEntry.objects.filter(action="setting.changed")

    for given, actor in ((default, "person/1"), (default, "person/2")):
        configuration.change(key, given, actor=actor, now=NOON)
    assert (entries.count(), Setting.objects.get(key=key).changed_by) == (1, "person/1")
    for _ in range(2):
        configuration.change(key, None, actor="person/3", now=NOON)

    assert (entries.count(), Setting.objects.filter(key=key).exists()) == (2, False)


def test_what_was_rolled_back_needs_no_entry():
    browser = a_browser_of(Role.ADMINISTRATOR, login="eve")

    with unaudited.net():
        browser.post("/settings/preview_keep_days/", {"value": "many"})

    assert not Container.objects.exists()
