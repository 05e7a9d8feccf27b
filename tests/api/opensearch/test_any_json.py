"""Whatever JSON comes, the answer is one of the API's own and the store agrees with itself."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memadmin.store.check import check
from tests.bots import create, long_term, session, working
from tests.runs import switch_on
from tests.tokens import ApiClient, api_of

pytestmark = pytest.mark.django_db
NAMES = [
    *("session_id", "summary", "metadata", "agents", "additional_info", "namespace", "messages", "payload_type", "message_id"),
    *("binary_data", "structured_data", "structured_data_blob", "tags", "infer", "parameters", "checkpoint_id", "pinned", "memory"),
    *("strategy_id", "strategy_type", "importance", "name", "description", "configuration", "backend_roles", "memory_container_id"),
    *("delete_all_memories", "delete_memories", "persistent", "transient", "query", "size", "sort"),
]
INSIDE = [
    *("role", "content", "type", "text", "user_id", "session_id", "retention_policy", "sessions", "long-term", "history", "retention_days"),
    *("max_count", "strategies", "id", "enabled", "namespace", "index_prefix", "use_system_index", "llm_id", "max_infer_size"),
    *("embedding_model_type", "embedding_model_id", "embedding_dimension", "index_settings", "parameters", "disable_session"),
    *("plugins.ml_commons.memory.orphan_ttl_days", "plugins", "a.b", "", "\x00"),
]
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(), max_size=20)
    | st.sampled_from(["conversational", "DATA", "true", "30", "SEMANTIC", "TEXT_EMBEDDING", "sessions", "s1"])
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(INSIDE), inner, max_size=4),
    max_leaves=8,
)
BODIES = st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=6)
EXPECTED = {200, 400, 403, 404, 409}


def addresses(api: ApiClient) -> list[tuple[str, str]]:
    cid = create(api)
    paths = [session(api, cid), working(api, cid), long_term(api, cid)]
    return [
        ("POST", "/_create"),
        ("PUT", f"/{cid}"),
        ("POST", f"/{cid}/memories/sessions"),
        ("POST", f"/{cid}/memories"),
        ("POST", f"/{cid}/memories/long-term"),
        *(("PUT", path) for path in paths),
        ("PUT", "/_cluster/settings"),
        ("GET", f"/{cid}/memories/working/_search"),
        ("POST", f"/{cid}/_retention/_dry_run"),
        ("DELETE", f"/{cid}"),
    ]


def test_any_json_gets_an_answer_and_harms_nothing():
    switch_on()
    api = api_of("ana", all_access=True)
    places = addresses(api)

    @settings(suppress_health_check=[HealthCheck.too_slow], max_examples=max(settings().max_examples // 2, 1))
    @given(body=BODIES)
    def ask(body: dict[str, Any]) -> None:
        for method, path in places[:-1]:
            answer = api.call(method, path, body)
            assert answer.status_code in EXPECTED, (method, path, body, answer.content)

    ask()
    assert api.call(*places[-1]).status_code in EXPECTED
    assert list(check()) == []
