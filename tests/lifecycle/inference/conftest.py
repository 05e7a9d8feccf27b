from collections.abc import Iterator
from typing import Any

import pytest

from memadmin.llm import client
from tests import model_server
from tests.model_server import ModelServer


@pytest.fixture
def model(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """A model server that the settings name."""
    monkeypatch.setattr(client, "PAUSE", 0)
    with model_server.running() as server:
        settings.LLM_URL, settings.LLM_MODEL, settings.LLM_API_KEY = server.url, "small", ""
        yield server
