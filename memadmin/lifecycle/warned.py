"""One warning, as machines and people read it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Warned:
    """One warning: a code for machines, a sentence for people, and whether it must be seen before anything else."""

    code: str
    text: str
    loud: bool = False
