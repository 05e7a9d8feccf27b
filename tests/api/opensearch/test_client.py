"""The client of OpenSearch drives a whole life over real HTTP."""

from typing import Any

import pytest
from django.utils import timezone
from opensearchpy import AuthenticationException, NotFoundError, OpenSearch
from pytest_django.live_server_helper import LiveServer

from memadmin.jobs.models import Job
from memadmin.jobs.runner import run_inline
from memadmin.lifecycle import nightly
from memadmin.store.check import check
from memadmin.store.models import Container, LongTermMemory, WorkingMemory
from tests.bots import SAID
from tests.tokens import BASE, make_token

pytestmark = pytest.mark.django_db(transaction=True)
POLICY = {"sessions": {"max_count": 2}, "long-term": {"max_count": 1}}
MODELS = {"llm_id": "m", "embedding_model_type": "SPARSE_ENCODING", "embedding_model_id": "e"}


class Bot:
    """One container, through the methods of the client."""

    def __init__(self, url: str, secret: str) -> None:
        self.client = OpenSearch(hosts=[url], http_auth=("anybody", secret), use_ssl=False)
        self.ml = self.client.plugins.ml
        self.cid = ""

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """What the client has no method for."""
        return self.client.transport.perform_request(method, BASE + path, body=body)

    def create(self, policy: Any) -> None:
        body = {"name": "bot", "configuration": {"index_prefix": "life", **MODELS, "retention_policy": policy}}
        self.cid = self.ml.create_memory_container(body=body)["memory_container_id"]

    def container(self) -> Any:
        return self.ml.get_memory_container(memory_container_id=self.cid)

    def open(self, name: str) -> Any:
        return self.ml.create_memory_container_session(memory_container_id=self.cid, body={"session_id": name, "summary": f"talk {name}"})

    def say(self, **namespace: str) -> str:
        body = {"messages": SAID, "namespace": namespace, "tags": {"topic": "tea"}}
        return str(self.ml.add_agentic_memory(memory_container_id=self.cid, body=body)["working_memory_id"])

    def learn(self, text: str) -> str:
        fact = {"memory": text, "namespace": {"user_id": "bob"}}
        return str(self.ask("POST", f"/{self.cid}/memories/long-term", fact)["memory_id"])

    def get(self, kind: str, mid: str) -> Any:
        return self.ml.get_agentic_memory(memory_container_id=self.cid, doc_type=kind, id=mid)

    def change(self, kind: str, mid: str, **body: Any) -> Any:
        return self.ml.update_agentic_memory(memory_container_id=self.cid, doc_type=kind, id=mid, body=body)

    def find(self, kind: str, **body: Any) -> list[str]:
        found = self.ml.search_agentic_memory(memory_container_id=self.cid, doc_type=kind, body={"query": {"match_all": {}}, **body})
        return [hit["_id"] for hit in found["hits"]["hits"]]

    def delete(self, kind: str, mid: str) -> Any:
        return self.ml.delete_agentic_memory(memory_container_id=self.cid, doc_type=kind, id=mid)

    def delete_found(self, kind: str, query: Any) -> Any:
        return self.ml.delete_agentic_memory_query(memory_container_id=self.cid, doc_type=kind, body={"query": query})

    def end(self) -> Any:
        return self.ml.delete_memory_container(memory_container_id=self.cid, params={"delete_all_memories": "true"})


@pytest.fixture
def bot(live_server: LiveServer) -> Any:
    bot = Bot(live_server.url, make_token("ana", all_access=True)[1])
    yield bot
    bot.client.close()


def switch_on(bot: Bot) -> None:
    settings = {"persistent": {"plugins.ml_commons.memory.retention_enabled": True}}
    assert bot.client.cluster.put_settings(body=settings)["acknowledged"]


def test_a_client_greets_the_server(bot):
    assert bot.client.ping()
    assert bot.client.info()["version"]["distribution"] == "opensearch"


def test_a_whole_life(bot, monkeypatch):
    monkeypatch.setattr(nightly.time, "sleep", lambda seconds: None)
    switch_on(bot)
    bot.create(POLICY)
    assert bot.container()["configuration"]["retention_policy"] == POLICY
    assert [bot.open(name)["status"] for name in ("s0", "s1", "s2", "s3")] == ["created"] * 4
    said = bot.say(user_id="bob", session_id="s3")
    facts = [bot.learn(f"likes tea {number}") for number in range(3)]

    assert bot.find("working", query={"term": {"namespace.user_id": "bob"}}, sort=[{"created_time": {"order": "desc"}}]) == [said]
    assert set(bot.find("long-term", query={"match": {"memory": "tea"}})) == set(facts)
    assert bot.get("sessions", "s0")["summary"] == "talk s0"
    assert bot.change("working", said, tags={"topic": "updated"})["result"] == "updated"
    assert bot.change("sessions", "s0", pinned=True)["result"] == "updated"

    plan = bot.ask("POST", f"/{bot.cid}/_retention/_dry_run")["would_delete"]
    assert (plan["sessions"]["total"], plan["long_term"]["total"]) == (1, 2)
    assert bot.ask("POST", "/_retention/_execute")["status"] == "triggered"
    run_inline(Job.objects.get(kind="nightly"), now=timezone.now())
    assert sorted(bot.find("sessions")) == ["s0", "s2", "s3"]
    assert bot.find("long-term") == facts[2:]

    gone = bot.delete_found("working", {"match": {"owner_id": "ana"}})
    assert (gone["deleted"], gone["failures"]) == (1, [])
    assert bot.delete("sessions", "s0")["result"] == "deleted"
    assert list(check()) == []
    assert bot.end()["result"] == "deleted"
    with pytest.raises(NotFoundError):
        bot.container()
    assert not Container.objects.standing().exists()
    assert (LongTermMemory.objects.count(), WorkingMemory.objects.count()) == (0, 0)


def test_a_client_with_a_wrong_password_is_refused(live_server):
    bot = Bot(live_server.url, "mem_wrong")

    with pytest.raises(AuthenticationException):
        bot.client.info()
    bot.client.close()
