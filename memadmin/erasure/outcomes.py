"""How a request ended, in words."""

from __future__ import annotations

from memadmin.erasure.models import Level
from memadmin.erasure.workflow import REFUSAL_CODES

_ENDS = {
    "withdrawn": "withdrawn before anything was erased",
    "done": "followed wholly",
    "done_in_part": "followed in part",
    "drill_failed": "a drill that failed",
}


def outcome_in_words(code: str) -> str:
    """Return what a code of an outcome means; one that is none of ours is shown as it is."""
    titles = {level.value: str(level.label) for level in Level}
    return (titles | _ENDS | REFUSAL_CODES).get(code, code)
