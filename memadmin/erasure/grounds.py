"""Which ground a request may give: each right has its own, and none is borrowed from the right to erasure.

Rows from before this was so keep the code that they have, and it is shown as it is.
"""

from __future__ import annotations

from memadmin.erasure.models import Ground, Kind
from memadmin.erasure.moves import Refusal

TO_ERASE = (Ground.CONSENT_WITHDRAWN, Ground.NOT_NEEDED, Ground.OBJECTION, Ground.UNLAWFUL, Ground.LEGAL_DUTY, Ground.CHILD, Ground.OTHER)
GROUNDS_OF: dict[Kind, tuple[Ground, ...]] = {
    **{kind: TO_ERASE for kind in Kind if kind.erases},
    Kind.STORAGE_LIMIT: (Ground.STORAGE_LIMIT,),
    Kind.RECTIFY: (Ground.INACCURATE, Ground.INCOMPLETE, Ground.OTHER),
    Kind.RESTRICT: (
        Ground.ACCURACY_CONTESTED,
        Ground.UNLAWFUL_BUT_KEPT,
        Ground.NEEDED_FOR_CLAIMS,
        Ground.OBJECTION_PENDING,
        Ground.OTHER,
    ),
    Kind.ACCESS: (Ground.ACCESS, Ground.OTHER),
}
RIGHTS: dict[str, tuple[Kind, ...]] = {
    "Right to erasure": tuple(kind for kind in Kind if kind.erases and kind.is_taken_in),
    "Right to rectification": (Kind.RECTIFY,),
    "Right to restriction": (Kind.RESTRICT,),
    "Right of access": (Kind.ACCESS,),
}
ARTICLES = {
    Ground.ACCESS: "15",
    Ground.INACCURATE: "16",
    Ground.INCOMPLETE: "16",
    Ground.STORAGE_LIMIT: "5(1)(e)",
    **{ground: f"{ground[:2]}(1)({ground[-1]})" for ground in Ground if ground[:5] in ("17_1_", "18_1_")},
}


class WrongGround(Refusal):
    """The ground belongs to another right, or none is given where none can be taken for granted."""

    code = "wrong_ground"


def usual_for(kind: Kind) -> Ground | None:
    """Return the ground of a request that names none; None: one of several has to be said, as the restriction follows from it."""
    return None if kind is Kind.RESTRICT else GROUNDS_OF[kind][0]


def words(ground: Ground) -> str:
    """Return the ground in words, with the article that it is in."""
    article = ARTICLES.get(ground)
    return f"{ground.label} (GDPR Art. {article})" if article else str(ground.label)


def right_of(kind: Kind) -> str:
    """Return the right that a request of this kind uses, as people call it."""
    return next(right for right, kinds in RIGHTS.items() if kind in kinds)


def given_or_usual(kind: Kind, given: str | None) -> Ground:
    """Return the ground of a request of this kind. Raises WrongGround."""
    ground = Ground(given) if given else usual_for(kind)
    if ground is None:
        raise WrongGround(f"A request to {kind.label} says on which ground: {_codes(kind)}.")
    check(kind, ground)
    return ground


def check(kind: Kind, ground: Ground) -> None:
    """Raise WrongGround where the ground is none of this kind."""
    if ground not in GROUNDS_OF[kind]:
        raise WrongGround(f"“{words(ground)}” is no ground to {kind.label}. Grounds for that: {_codes(kind)}.")


def _codes(kind: Kind) -> str:
    return "; ".join(f"{ground.value}, {ground.label}" for ground in GROUNDS_OF[kind])
