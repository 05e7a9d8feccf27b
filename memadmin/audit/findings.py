"""What a verification of the log found, and what that comes to."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from enum import IntEnum

from memadmin.audit.anchors import Anchored

COULD_NOT_RUN = 10
UNACCOUNTED = "it is gone, and no redaction accounts for it"
MOST_FINDINGS = 1000  # kept for the report; all are counted
MOST_TURNS = 100


class Kind(IntEnum):
    """What can be wrong, by exit code; where several are, the lowest counts."""

    ALTERED = 20
    CUT_OFF = 21
    PAYLOAD_MISSING = 22
    PROTECTION_MISSING = 23


WORDS = {
    Kind.ALTERED: "altered",
    Kind.CUT_OFF: "cut off",
    Kind.PAYLOAD_MISSING: "payload missing",
    Kind.PROTECTION_MISSING: "protection missing",
}


MEANS = {
    Kind.ALTERED: "An entry, or what stands beside it, is not what was written, or one is missing in the middle.",
    Kind.CUT_OFF: "Entries at the end are gone, or the checkpoints that named them.",
    Kind.PAYLOAD_MISSING: "What a person wrote beside an entry is gone, and nothing accounts for it.",
    Kind.PROTECTION_MISSING: "Triggers of the database that refuse changes of the log are gone or changed: nothing stops a change now.",
}


@dataclass(frozen=True)
class Finding:
    kind: Kind
    stream: str
    seq: int | str | None
    field: str
    message: str

    def __str__(self) -> str:
        where = "/".join(str(bit) for bit in (self.stream, self.seq) if bit not in ("", None))
        return f"{WORDS[self.kind].upper()} {where} {self.field}: {self.message}".replace("  ", " ")


@dataclass(frozen=True)
class ClockTurn:
    """Before this row the clock was set back by so many seconds. It alters nothing: the order is that of the numbers."""

    stream: str
    seq: int | str
    seconds: int

    def __str__(self) -> str:
        return f"the clock went back by {timedelta(seconds=self.seconds)} before {self.stream}/{self.seq}"


@dataclass
class StreamReport:
    stream: str
    rows: int = 0
    first_seq: object = None
    last_seq: object = None
    last_hash: str = ""


@dataclass
class Report:
    streams: list[StreamReport] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    found: Counter[Kind] = field(default_factory=Counter)
    redacted: int = 0
    clock_turns: list[ClockTurn] = field(default_factory=list)
    clock_went_back: int = 0  # how often
    anchors_asked: bool = False
    anchors: Anchored = field(default_factory=Anchored)
    missing: dict[str, set[int]] = field(default_factory=dict)  # payloads that are gone, until redactions account for them
    justified: set[tuple[str, int]] = field(default_factory=set)

    @property
    def worst_first(self) -> list[Finding]:
        return sorted(self.findings, key=lambda each: each.kind)

    @property
    def tail_pinned(self) -> bool:
        """Whether the last row of every stream is anchored outside the database."""
        streams = [part for part in self.streams if part.rows]
        return bool(streams) and all(self.anchors.highest(part.stream) == part.last_seq for part in streams)

    @property
    def unanchored(self) -> int:
        """How many rows came after the last checkpoint."""
        last = {part.stream: part.last_seq for part in self.streams if isinstance(part.last_seq, int)}
        return sum(max(0, seq - self.anchors.highest(stream)) for stream, seq in last.items())

    @property
    def exit_code(self) -> int:
        return min(self.found, default=0)

    def add_turn(self, stream: str, seq: object, by: timedelta) -> None:
        self.clock_went_back += 1
        if len(self.clock_turns) < MOST_TURNS:
            self.clock_turns.append(ClockTurn(stream, seq if isinstance(seq, int) else str(seq), int(by.total_seconds())))

    def add(self, kind: Kind, stream: str, seq: object, field: str, message: str) -> None:
        self.found[kind] += 1
        if len(self.findings) < MOST_FINDINGS:
            self.findings.append(Finding(kind, stream, seq if seq is None or isinstance(seq, int) else str(seq), field, message))


def severity(said: str) -> int:
    """Return by what findings are sorted that were written down in words: the worst have the lowest."""
    return next((int(kind) for kind, words in WORDS.items() if said.startswith(words.upper())), max(WORDS))
