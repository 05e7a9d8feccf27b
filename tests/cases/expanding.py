"""The nasty inputs of shared/data as files to import: each case between two healthy neighbours."""

import base64
import json
from pathlib import Path
from typing import Any

Case = dict[str, Any]

BEFORE = {
    "user_id": "neighbour one",
    "id": "n-1",
    "memory": "the neighbour likes liquorice",
    "created_at": "2025-03-04T09:00:00Z",
    "metadata": {"ticket": "T-9"},
}
AFTER = {
    "user_id": "neighbour two",
    "session_id": "n-2",
    "messages": [{"id": "n-3", "role": "user", "content": "the neighbour rows at dawn", "created_at": "2025-03-04T11:00:00Z"}],
}
BOM = b"\xef\xbb\xbf"


def cases_in(shared_data: Path) -> dict[int, Case]:
    """Return the cases by their number."""
    lines = (shared_data / "cases_open.jsonl").read_text(encoding="ascii").splitlines()
    return {int(case["id"].removeprefix("O-")): case for case in map(json.loads, lines)}


def content_of(case: Case) -> bytes:
    """Return what somebody would send: one JSON value a line, or the exact bytes that the case gives."""
    if "raw_b64" in case:
        return base64.b64decode(case["raw_b64"])
    template = case.get("body_template", {})
    if "$raw_concat" in template:
        return "".join(filled(part) for part in template["$raw_concat"]).encode()
    body = case.get("body", {}).get("setup") if isinstance(case.get("body"), dict) else None
    body = body or case.get("body") or filled(template)
    return b"\n".join(json.dumps(record).encode() for record in (body if isinstance(body, list) else [body]))


def between_neighbours(content: bytes) -> bytes:
    """Return a file with a healthy record before and after the content; the one before is line 1."""
    before, after = json.dumps(BEFORE).encode(), json.dumps(AFTER).encode()
    if content.startswith(BOM):
        array = content.removeprefix(BOM).strip()
        return BOM + b"[" + before + b"," + array[1:-1] + b"," + after + b"]"
    return b"\n".join([before, content.rstrip(b"\n"), after, b""])


def filled(template: Any, number: int | None = None) -> Any:
    """Return the value that a template describes. `number` is what {i} stands for."""
    match template:
        case {"$repeat": [text, times]}:
            return text * times
        case {"$concat": parts}:
            return "".join(filled(part, number) for part in parts)
        case {"$each": {"n": count, "item": item}}:
            return [filled(item, each) for each in range(count)]
        case dict():
            return {name: filled(value, number) for name, value in template.items()}
        case list():
            return [filled(part, number) for part in template]
        case str() if number is not None:
            return template.replace("{i}", str(number))
    return template
