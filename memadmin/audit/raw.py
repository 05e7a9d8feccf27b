"""Reading the log as it lies in the database, for the verifier: a value that somebody spoilt must be read, not converted.

Each page is one statement and carries the head of the same instant, so that writers may go on while the log is verified.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper

PAGE = 500
COLUMNS = (
    "leaf",
    "at",
    "actor",
    "action",
    "outcome",
    "target",
    "request_id",
    "reason_code",
    "counts",
    "payload_digest",
    "prev_hash",
    "row_hash",
)
_LOWEST = -(2**63)
_AT = """to_char(e.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.USZ')"""  # as CAST would write it in the server's own date style


@dataclass(frozen=True)
class Head:
    seq: object
    row_hash: str | None


@dataclass(frozen=True)
class Row:
    """One entry and its payload. `seq` is whatever the database holds, on SQLite perhaps a text."""

    stream: str
    seq: object
    columns: dict[str, str | None]
    payload: tuple[str | None, str | None] | None  # salt and body


@dataclass(frozen=True)
class Page:
    head: Head | None
    rows: list[Row]
    more: bool  # whether another page follows


def streams(connection: BaseDatabaseWrapper) -> list[str]:
    """Return the name of every stream that has an entry or a head, by hopping from one to the next along the keys."""
    found: set[str] = set()
    with connection.cursor() as cursor:
        for table in ("audit_entry", "audit_head"):
            cursor.execute(f"SELECT MIN(stream) FROM {table}")
            while (name := cursor.fetchone()[0]) is not None:
                found.add(name)
                cursor.execute(f"SELECT MIN(stream) FROM {table} WHERE stream > %s", [name])
    return sorted(found)


def pages(connection: BaseDatabaseWrapper, stream: str, *, behind: int = _LOWEST) -> Iterator[Page]:
    """Yield the stream in order of seq, from the row behind the given one; the head of the last page is the head of the whole.

    Each page reads one row too many: it begins the next one, unless it has the number of the row before it. Both are then in one page,
    or the second of the two would never be read.
    """
    sql = _page_sql(connection)
    last: Any = behind  # on SQLite a key may be of any type
    more = True
    while more:
        with connection.cursor() as cursor:
            cursor.execute(sql, [stream, stream, last, PAGE + 1, stream])
            page = _page(stream, cursor.fetchall())
        yield page
        more = page.more
        last = page.rows[-1].seq if more else None


def lonely_payloads(connection: BaseDatabaseWrapper) -> Iterator[tuple[str, object]]:
    """Yield stream and seq of each payload that has no entry."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT p.stream, p.seq FROM audit_payload p "
            "WHERE NOT EXISTS (SELECT 1 FROM audit_entry e WHERE e.stream = p.stream AND e.seq = p.seq) ORDER BY p.stream, p.seq"
        )
        while fetched := cursor.fetchmany(PAGE):
            yield from fetched


def _page_sql(connection: BaseDatabaseWrapper) -> str:
    kind = "BLOB" if connection.vendor == "sqlite" else "text"  # bytes that are no UTF-8 would stop the reader on SQLite
    shown = [_AT if name == "at" and kind == "text" else f"CAST(e.{name} AS {kind})" for name in COLUMNS]
    return (
        f"SELECT h.seq, CAST(h.row_hash AS {kind}), e.seq, p.seq, CAST(p.salt AS {kind}), CAST(p.body AS {kind}), {', '.join(shown)} "
        "FROM (SELECT 1) one LEFT JOIN audit_head h ON h.stream = %s "
        "LEFT JOIN (SELECT * FROM audit_entry WHERE stream = %s AND seq > %s ORDER BY seq LIMIT %s) e ON 1 = 1 "
        "LEFT JOIN audit_payload p ON p.stream = %s AND p.seq = e.seq ORDER BY e.seq"
    )


def _page(stream: str, fetched: list[tuple[object, ...]]) -> Page:
    head_seq, head_hash = fetched[0][:2]
    rows = []
    for _, _, seq, payload_seq, salt, body, *columns in fetched:
        if seq is not None:
            payload = None if payload_seq is None else (_text(salt), _text(body))
            rows.append(Row(stream, seq, dict(zip(COLUMNS, map(_text, columns), strict=True)), payload))
    more = len(rows) > PAGE
    if more and rows[-1].seq != rows[-2].seq:
        del rows[-1]
    return Page(head=None if head_seq is None else Head(head_seq, _text(head_hash)), rows=rows, more=more)


def _text(value: object) -> str | None:
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    return None if value is None else str(value)
