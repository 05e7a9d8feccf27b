"""Policy documents for the pure tests."""

LIMITS = [
    ("retention.sessions.retention_days", 3_650),
    ("retention.sessions.max_count", 10_000_000),
    ("retention.long-term.retention_days", 3_650),
    ("retention.long-term.max_count", 10_000_000),
    ("retention.history.max_count", 10_000_000),
    ("relevance.ttl_days", 3_650),
    ("relevance.max_records", 1_000_000),
    ("relevance.max_tokens", 1_000_000_000),
]
FIELDS = [field for field, _ in LIMITS]


def document(field: str, value: object) -> dict:
    """A document with one value at a dotted path."""
    for key in reversed(field.split(".")):
        value = {key: value}
    return value


def sessions(**limits: object) -> dict:
    return {"retention": {"sessions": limits}}
