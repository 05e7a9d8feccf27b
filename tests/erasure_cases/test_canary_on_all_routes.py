"""A person's id through every address and every way to fail: it is shown to who may see it, and kept nowhere that outlives an erasure."""

import html
import re
from urllib.parse import unquote
from uuid import UUID

import pytest
from django.apps import apps
from django.core.cache import cache
from django_q.models import OrmQ

from memadmin.access.roles import Role
from memadmin.audit.models import AuditEntry, AuditPending
from memadmin.jobs.models import Job
from memadmin.logs import NamesOfAgents
from memadmin.store import pinning
from memadmin.store.models import LongTermMemory, Session
from tests.addresses import addresses
from tests.factories import ACTOR, NOON, a_change, a_memory, a_message, a_session, make_container, store, subject_of
from tests.people import a_browser_of
from tests.tokens import api_of

pytestmark = pytest.mark.django_db
WHO = "ann.canary-6b2f@example.org"
FIELDS = ("q", "user", "reason", "words", "note", "value", "target", "actor", "login", "user_id", "text", "number", "after")
# Not "name": titles do say what a container is called.
PUBLIC = {"logout", "login"}
_ADDRESS = re.compile(r"""\s(?:href|src|action|formaction|hx-(?:get|post|push-url|replace-url))="([^"]*)\"""")
_TITLE = re.compile(r"<title>(.*?)</title>", re.DOTALL)
WORDS = {
    "key": "preview_keep_days",
    "kind": "nightly",
    "scope": "user",
    "name": "long-term",
    "mid": WHO,
    "rest": f"nowhere/{WHO}",
    "days": "7",
}


@pytest.fixture
def container(db):
    made = make_container(external_id="c1", owner={"name": "ana"})
    own = {"user_id": WHO, "owner": "ana"}
    store(made, a_session(**own), a_message(**own), a_memory(**own), a_memory("allergic", **own), a_change(**own))
    pinning.pin(LongTermMemory.objects.latest("id"), reason="allergy", actor=ACTOR, now=NOON)
    return made


@pytest.fixture
def paths(container):
    """Every address, about things of this person."""
    uids = {"containers": container.uid, "users": subject_of(container, WHO).uid, "sessions": Session.objects.get().uid}
    uids["memories"] = LongTermMemory.objects.earliest("id").uid
    known = {**WORDS, "cid": str(container.uid), "number": "1", "pk": "1", "serial": str(UUID(int=0))}

    def path(pattern: str) -> str:
        uid = str(uids.get(pattern.split("/")[1], uids["memories"]))
        named = {**known, "uid": uid}
        return re.sub(r"<(?:(\w+):)?(\w+)>", lambda part: named.get(part[2], str(UUID(int=0)) if part[1] == "uuid" else "1"), pattern)

    return [(path(pattern), name) for pattern, name, _ in addresses() if name not in PUBLIC]


def test_89_no_address_and_no_failure_leaves_the_id_where_an_erasure_does_not_look(paths, caplog):
    browser, api = a_browser_of(*Role, login="eve"), api_of("ana", all_access=True)
    sent = dict.fromkeys(FIELDS, WHO)
    told = []

    for path, _ in paths:
        if path.startswith(("/_", "/api/")):
            for method in ("GET", "POST", "PUT", "DELETE"):
                api.call(method, path, None if method == "GET" else {**sent, "query": {"term": {"namespace.user_id": WHO}}})
        else:
            told += [(path, what) for answer in (browser.get(path, sent), browser.post(path, sent)) for what in _shown_outside(answer)]

    assert told == []
    assert _kept() == []
    assert [record.getMessage() for record in caplog.records if not record.name.startswith("django.db") and WHO in _whole(record)] == []


def test_89_no_page_tells_another_site_where_one_was(paths):
    browser = a_browser_of(*Role, login="eve")

    policies = {browser.get(path).headers.get("Referrer-Policy") for path, _ in paths[:40] if not path.startswith(("/_", "/api/"))}

    assert policies == {"same-origin"}


def test_89_no_page_leads_to_an_address_that_has_the_id_in_it(paths):
    browser = a_browser_of(*Role, login="eve")
    pages = [path for path, _ in paths if not path.startswith(("/_", "/api/"))]
    read, led = 0, set()

    for path in pages:
        answer = browser.get(path.replace(WHO, "mine"))
        if not answer.streaming:
            content = answer.content.decode("utf8", "replace")
            read += WHO in html.unescape(content)
            led |= {(path, found) for found in _ADDRESS.findall(content) if _has_the_id(found)}

    assert read > 10  # pages that show the id as text
    assert led == set()


def _has_the_id(address):
    return WHO in unquote(html.unescape(address))


def _shown_outside(answer):
    """Yield where an answer puts the id beyond its page: the address that it leads to, another header, the title in a browser's history."""
    for name, value in answer.headers.items():
        if WHO in value and name not in {"X-Problem"}:
            yield name
    if not answer.streaming and any(WHO in html.unescape(title) for title in _TITLE.findall(answer.content.decode("utf8", "replace"))):
        yield "title"


def _kept():
    found = [f"leaf {seq}" for seq, leaf in AuditEntry.objects.values_list("seq", "leaf") if WHO in leaf]
    found += [f"pending {pk}" for pk, facts in AuditPending.objects.values_list("pk", "facts") if WHO in facts]
    found += [f"job {job.kind}" for job in Job.objects.all() if WHO in f"{job.target} {job.cursor} {job.error_code}"]
    found += ["cache" for key in getattr(cache, "_cache", {}) if WHO in str(key)]
    for model in apps.get_app_config("django_q").get_models():
        # an entry of the queue is packed: its task is what it says
        found += [model.__name__ for row in model.objects.all() if WHO in f"{vars(row)} {getattr(row, 'task', '')}"]
    assert OrmQ.objects.exists()  # something was queued at all
    return found


def _whole(record):
    """Return what the handler of the installation writes."""
    NamesOfAgents().filter(record)
    return f"{record.getMessage()} {record.exc_info or ''} {record.exc_text or ''}"
