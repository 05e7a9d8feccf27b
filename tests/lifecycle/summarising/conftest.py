import pytest

from memadmin.llm import client
from tests import model_server
from tests.summaries import covering


@pytest.fixture
def model(settings, monkeypatch):
    monkeypatch.setattr(client, "PAUSE", 0)
    with model_server.running() as server:
        settings.LLM_URL, settings.LLM_MODEL, settings.LLM_API_KEY = server.url, "small", ""
        server.answer(covering)
        yield server
