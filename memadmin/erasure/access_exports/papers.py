"""The person's own requests: a search does not find them, since they are its papers, but they are about the person all the same."""

from __future__ import annotations

from memadmin.erasure import grounds
from memadmin.erasure.access_exports.left_out import NOTES
from memadmin.erasure.access_exports.records import Record, plain
from memadmin.erasure.models import ErasureRequest, Ground, NoteKind, RequestNote
from memadmin.erasure.querysets import RequestQuerySet

PLACE, NOTES_PLACE = "erasure.requests", "erasure.notes"


def requests_of(request: ErasureRequest) -> list[Record]:
    """Return what is kept of this and the person's other requests, with the letters that they got, the oldest first."""
    letters: dict[int, list[str]] = {}
    for key, text in (
        RequestNote.objects.filter(request__in=_of(request), kind=NoteKind.LETTER).order_by("id").values_list("request", "text")
    ):
        letters.setdefault(key, []).append(text)
    return [_record(each, letters.get(each.pk, [])) for each in _of(request).order_by("number")]


def not_given(request: ErasureRequest) -> list[Record]:
    """Return what is left out of the same requests: notes of those who handle them."""
    notes = RequestNote.objects.filter(request__in=_of(request)).exclude(kind=NoteKind.LETTER).order_by("id")
    return [
        {"place": NOTES_PLACE, "class": "A", "reason": NOTES, "reference": str(uid), "dated": plain(at)}
        for uid, at in notes.values_list("uid", "written_at")
    ]


def _of(request: ErasureRequest) -> RequestQuerySet:
    return ErasureRequest.objects.of_refs(request.subjects.filter(ticked=True).values_list("subject_ref", flat=True))


def _record(request: ErasureRequest, letters: list[str]) -> Record:
    return {
        "place": PLACE,
        "uid": str(request.uid),
        "number": request.number,
        "kind": request.get_kind_display(),
        "ground": grounds.words(Ground(request.ground)),
        "state": request.get_state_display(),
        "received_at": plain(request.received_at),
        "due_on": plain(request.due_on),
        "identified": request.get_identity_level_display() if request.identity_level is not None else None,
        "completed_at": plain(request.completed_at),
        "letters": letters,
    }
