from collections.abc import Iterator

import pytest

from tests import model_server
from tests.model_server import ModelServer


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with model_server.running() as server:
        yield server
