"""`configuration` of a container: checked and completed as OpenSearch does, so that a GET answers what it would.

No model is hosted here: ids of models are kept and never looked up.
"""

from __future__ import annotations

import re
import secrets
from typing import Any

from memadmin.api.opensearch.errors import PARSE, ApiError, bad_argument, not_found
from memadmin.api.opensearch.fields import Document, flag_of, number_of, object_of, objects_of, shown, text_of, texts_of

RESULT_PATH = "$.output.message.content[0].text"
EMBEDDINGS = ("TEXT_EMBEDDING", "SPARSE_ENCODING")
STRATEGIES = ("SEMANTIC", "USER_PREFERENCE", "SUMMARY")
EMBEDDING_FIELDS = ("embedding_model_type", "embedding_model_id", "embedding_dimension")
INDEX_SETTINGS = ("session_index", "working_memory_index", "long_term_memory_index", "long_term_memory_history_index")
DEFAULT_INFER, MOST_INFER = 5, 10
FROZEN = "Cannot change embedding configuration once strategies are configured: the vectors that are stored would not fit the new ones."
LONGEST_PREFIX = 200  # with its ending it has to be an index name of at most 255 bytes

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_REPLACED = "\N{REPLACEMENT CHARACTER}"  # what a NUL of the body has become by now
_NOT_IN_PREFIX = re.compile(r'[\\/*?"<>|\s,#:]')

Configuration = dict[str, Any]


def new_configuration(given: Document) -> Configuration:
    """Return what a new container stores: known keys, with defaults. Raises ApiError."""
    system = flag_of(given, "use_system_index", default=True)
    made: Configuration = {
        "index_prefix": _prefix(given, system=system),
        "use_system_index": system,
        "disable_history": flag_of(given, "disable_history", default=False),
        "disable_session": flag_of(given, "disable_session", default=False),
        "parameters": {"llm_result_path": RESULT_PATH, **(object_of(given, "parameters") or {})},
        **_embedding(given),
        **_llm(given),
    }
    if settings := object_of(given, "index_settings"):
        made["index_settings"] = {name: value for name in INDEX_SETTINGS if (value := object_of(settings, name)) is not None}
    if strategies := [_new_strategy(strategy) for strategy in objects_of(given, "strategies") or []]:
        made["strategies"] = strategies
    return made


def merged_configuration(stored: Configuration, given: Document) -> Configuration:
    """Return the stored configuration with the changes that a PUT may make; all other keys are ignored. Raises ApiError."""
    changes = {**_embedding_change(stored, given), **_llm(given, default=stored.get("max_infer_size"))}
    made = {**stored, **changes}
    if (strategies := objects_of(given, "strategies")) is not None:
        made["strategies"] = _merged_strategies(stored.get("strategies") or [], strategies)
    return made


def check_models(configuration: Configuration) -> None:
    """Raise the answer for strategies without the models that would carry them out."""
    needed = {"llm_id": "LLM model (llm_id)", "embedding_model_id": "embedding model (embedding_model_id, embedding_model_type)"}
    missing = [words for name, words in needed.items() if not configuration.get(name)]
    if configuration.get("strategies") and missing:
        both = "Strategies require both an LLM model and embedding model to be configured."
        raise bad_argument(f"{both} Missing: {', '.join(missing)}")


def backend_roles_of(document: Document) -> list[str] | None:
    """Return the access list of a container. Raises ApiError."""
    roles = texts_of(document, "backend_roles")
    for role in roles or []:
        if not role.strip():
            raise ApiError(400, PARSE, "Backend role cannot be empty or blank")
        if len(role) > 128:
            raise ApiError(400, PARSE, f"Backend role exceeds maximum length of 128 characters: {shown(role)}")
        if not all(letter.isalnum() or letter in ":+=,.@-_/" for letter in role):
            raise ApiError(400, PARSE, f"Backend role contains invalid characters: {shown(role)}")
    return roles


def _prefix(given: Document, *, system: bool) -> str:
    prefix = text_of(given, "index_prefix")
    if not prefix:
        return "default" if system else secrets.token_hex(4)
    if _CONTROL.search(prefix) or _REPLACED in prefix:
        raise ApiError(400, PARSE, "Index prefix contains invalid control characters")
    if _NOT_IN_PREFIX.search(prefix) or prefix != prefix.lower() or prefix[0] in "-_+" or prefix in (".", ".."):
        raise bad_argument(f'Invalid index prefix [{shown(prefix)}]: lower case, without blanks and any of \\/*?"<>|,#: in it.')
    if len(prefix.encode()) > LONGEST_PREFIX:
        raise bad_argument(f"Invalid index prefix: at most {LONGEST_PREFIX} bytes.")
    return prefix


def _embedding(given: Document) -> Configuration:
    kind, model = text_of(given, "embedding_model_type"), text_of(given, "embedding_model_id")
    dimension = number_of(given, "embedding_dimension")
    if kind is not None and kind.upper() not in EMBEDDINGS:
        raise bad_argument(f"Invalid embedding model type: {shown(kind)}. Must be {' or '.join(EMBEDDINGS)}")
    if model and not kind:
        raise bad_argument("Embedding model type is required when embedding model ID is provided")
    if kind and not model:
        raise bad_argument("Embedding model ID is required when embedding model type is provided")
    if not kind:
        return {}
    if kind.upper() == "TEXT_EMBEDDING" and dimension is None:
        raise bad_argument("Dimension is required for TEXT_EMBEDDING")
    if kind.upper() == "SPARSE_ENCODING" and dimension is not None:
        raise bad_argument("Dimension is not allowed for SPARSE_ENCODING")
    return {"embedding_model_type": kind.upper(), "embedding_model_id": model, "embedding_dimension": dimension}


def _embedding_change(stored: Configuration, given: Document) -> Configuration:
    if not any(given.get(name) is not None for name in EMBEDDING_FIELDS):
        return {}
    before = {name: stored.get(name) for name in EMBEDDING_FIELDS}
    # A change may name one field alone, and another kind of model drops the dimension of the old one.
    kept = {} if given.get("embedding_model_type") not in (None, before["embedding_model_type"]) else before
    after = _embedding({**kept, **{name: given[name] for name in EMBEDDING_FIELDS if given.get(name) is not None}})
    if stored.get("strategies") and after != before:
        raise bad_argument(FROZEN)
    return after


def _llm(given: Document, *, default: int | None = None) -> Configuration:
    model, most = text_of(given, "llm_id"), number_of(given, "max_infer_size")
    if most is not None and most > MOST_INFER:
        raise bad_argument(f"Maximum infer size cannot exceed {MOST_INFER}")
    if not model:
        return {}  # without a model its size means nothing
    return {"llm_id": model, "max_infer_size": most if most is not None else default or DEFAULT_INFER}


def _new_strategy(given: Document) -> dict[str, Any]:
    kind, namespace = _strategy_type(text_of(given, "type")), texts_of(given, "namespace")
    if not namespace:
        raise bad_argument("Strategy namespace is required. Please provide a non-empty namespace array.")
    made: dict[str, Any] = {
        "id": (text_of(given, "id") or "").strip() or f"{kind.lower()}_{secrets.token_hex(4)}",
        "enabled": flag_of(given, "enabled", default=True),
        "type": kind,
        "namespace": namespace,
    }
    if (configuration := _strategy_configuration(given)) is not None:
        made["configuration"] = configuration
    return made


def _strategy_type(kind: str | None) -> str:
    if kind is None or kind.upper() not in STRATEGIES:
        raise bad_argument(f"Invalid memory type: {shown(kind)}. Must be SEMANTIC, USER_PREFERENCE, or SUMMARY")
    return kind.upper()


def _strategy_configuration(given: Document) -> dict[str, Any] | None:
    configuration = object_of(given, "configuration")
    prompt = text_of(configuration or {}, "system_prompt")
    if prompt is not None and ('"facts"' not in prompt or "json" not in prompt.lower()):
        raise bad_argument('The system_prompt of a strategy must ask for JSON with "facts".')
    return configuration


def _merged_strategies(stored: list[dict[str, Any]], given: list[dict[str, Any]]) -> list[dict[str, Any]]:
    by_id = {str(strategy["id"]): dict(strategy) for strategy in stored}
    for change in given:
        name = (text_of(change, "id") or "").strip()
        if not name:
            new = _new_strategy(change)
            by_id[new["id"]] = new
        elif name in by_id:
            by_id[name] |= _strategy_change(by_id[name], change)
        else:
            raise not_found(f"Strategy with id {shown(name)} not found")
    return list(by_id.values())


def _strategy_change(stored: dict[str, Any], change: Document) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    kind = text_of(change, "type")
    if kind is not None and _strategy_type(kind) != stored["type"]:
        text = f"Cannot change strategy type from {stored['type']} to {_strategy_type(kind)} for strategy id {stored['id']}"
        raise bad_argument(text)
    if change.get("enabled") is not None:
        changes["enabled"] = flag_of(change, "enabled", default=True)
    if change.get("namespace") is not None:
        changes["namespace"] = _new_strategy({**stored, "namespace": change["namespace"]})["namespace"]
    if (configuration := _strategy_configuration(change)) is not None:
        changes["configuration"] = configuration
    return changes
