"""What a chat is about: the words on both sides, and what the agent keeps of it. `{slots}` are filled by `words.draw`."""

from dataclasses import dataclass

from memadmin.demo.kinds import SUMMARY, Kind


@dataclass(frozen=True, slots=True)
class Fact:
    """One memory that comes out of a chat, and the exchange (from 0) in which it was said."""

    kind: Kind
    exchange: int
    text: str


@dataclass(frozen=True, slots=True)
class Topic:
    name: str
    weight: int  # how often, beside the other topics
    summary: str
    exchanges: tuple[tuple[str, str], ...]  # what the customer said, what the agent answered
    facts: tuple[Fact, ...]
    pin_reason: str | None = None  # why support would keep the whole session
    language: str = "en"

    @property
    def outcome(self) -> tuple[Fact, ...]:
        """Everything that the agent may keep: the facts, and a summary of the whole chat."""
        return (*self.facts, Fact(SUMMARY, len(self.exchanges) - 1, self.summary))
