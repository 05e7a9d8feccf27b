"""Facts and rules for the pure tests: plain functions, no Django."""

from datetime import UTC, datetime, timedelta

from retention.records import MemoryFacts

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


def memory(key: int, *, days_old: float | None = 0, read_days_ago: float | None = None, **facts: object) -> MemoryFacts:
    """A memory created and last changed `days_old` days before NOON (None: undated), never read unless said so."""
    created_at = None if days_old is None else NOON - timedelta(days=days_old)
    read_at = None if read_days_ago is None else NOON - timedelta(days=read_days_ago)
    given = {"created_at": created_at, "last_updated_at": created_at, "last_accessed_at": read_at, **facts}
    return MemoryFacts(key, **given)  # type: ignore[arg-type]


def keys(victims: list) -> list[int]:
    return [victim.key for victim in victims]
