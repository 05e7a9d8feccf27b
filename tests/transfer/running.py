"""Running the two commands as an operator would, and seeing what they answer."""

import gzip
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.core.management import CommandError, call_command


@dataclass
class Run:
    """What a command answered: its exit code, what `--json` printed, and its words on failure."""

    code: int
    answer: dict[str, Any]
    words: str = ""

    @property
    def refused(self) -> dict[str, int]:
        return self.answer["refused_by_reason"]


def run(command: str, *arguments: Any) -> Run:
    out = io.StringIO()
    code, words = 0, ""
    try:
        call_command(command, *map(str, arguments), "--json", stdout=out, stderr=io.StringIO())
    except CommandError as error:
        code, words = error.returncode, str(error)
    return Run(code, json.loads(out.getvalue() or "{}"), words)


def import_memories(name: str, path: Path, *arguments: Any, container: str | None = "pharmacy") -> Run:
    return run("import_memories", name, path, *([] if container is None else [f"--container={container}"]), *arguments)


def export_memories(to: Path, *arguments: Any) -> list[dict[str, Any]]:
    done = run("export_memories", "--to", to, *arguments)
    assert done.code == 0, done.words
    content = gzip.decompress(to.read_bytes()) if to.suffix == ".gz" else to.read_bytes()
    return [json.loads(line) for line in content.split(b"\n") if line]


def write_lines(path: Path, *records: Any) -> Path:
    """Write records, or lines that are bytes already."""
    lines = [record if isinstance(record, bytes) else json.dumps(record).encode() for record in records]
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path
