"""What can be wrong with a record. A problem names the field, never the value: reports are read by people who may not see memories."""

from dataclasses import dataclass


class Refused(ValueError):
    """This record, or this message of it, cannot be stored. `field` is a path such as `messages[2].created_at`."""

    def __init__(self, code: str, words: str, *, field: str = "") -> None:
        super().__init__(words)
        self.code = code
        self.words = words
        self.field = field

    def within(self, prefix: str) -> "Refused":
        """Return the same problem, its field seen from the record that holds the part."""
        return Refused(self.code, self.words, field=f"{prefix}.{self.field}" if self.field else prefix)


class UnusableFile(Exception):
    """Nothing of the file can be read, or what it is meant for cannot be told. The text says what to do."""


@dataclass(frozen=True)
class Noted:
    """Something was read with a change or an assumption; the record is stored."""

    code: str
    words: str
    field: str = ""
