"""A certificate's document as titles, sentences and tables, the same for the page and the PDF."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from memadmin.erasure import grounds
from memadmin.erasure.deciding import ALL_CODES
from memadmin.erasure.manifests import HELD
from memadmin.erasure.mentions import IDENTIFIER
from memadmin.erasure.models import Ground, Kind, NoticeState
from memadmin.erasure.models.verifications import Outcome
from memadmin.plurals import counted

_COUNTS = {"erased": "erased", "redacted": "with words taken out", "rederived": "derived anew", "absent": "gone before", "withheld": "kept"}
_REACHED = {
    "L1": "gone for every query",
    "L2": "gone, with its indexes, vectors and statistics",
    "L3": "gone, and its pages on disk are overwritten",
    "L4": "gone, and the backups from before have ended",
}
_KINDS: dict[str, str] = {kind.value: str(kind.label) for kind in Kind}
_GROUNDS: dict[str, str] = {ground.value: grounds.words(ground) for ground in Ground}
_STATES: dict[str, str] = {state.value: str(state.label) for state in NoticeState}
_LOOKS: dict[str, str] = {outcome.value: str(outcome.label) for outcome in Outcome}
_ANSWERS = {
    "found": "held something",
    "absent": "held nothing",
    "cleared": "go with what they copy",
    "unreachable": "could not be asked",
    "failed": "failed",
}
_KNOWN_BY = {
    "inventory": "by the inventory of backups",
    "setting": "by how long this installation says that it keeps them",
    "unknown": "nobody has said how long they are kept",
}
_TIMES = {
    "received_at": "request received",
    "cutoff_at": "what was stored until",
    "approved_at": "approved",
    "executed_from": "erasing began",
    "verified_at": "verified",
    "completed_at": "complete",
    "issued_at": "issued",
}
WHY_KEPT = {**ALL_CODES, HELD: "a hold, or what is kept hangs on it"}
_STAYS = {
    **WHY_KEPT,
    IDENTIFIER: "an account, token, address or container is called so",
    "other_sources": "other sources say the same: the link is gone",
}
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z")
_PEOPLE = {"opened_by": "taken in by", "identity": "identity of the person", "reviewed_by": "reviewed by", "approved_by": "approved by"}


@dataclass(frozen=True, slots=True)
class Part:
    title: str
    rows: list[list[str]] = field(default_factory=list)
    head: list[str] | None = None
    sentences: list[str] = field(default_factory=list)


def parts_of(document: dict[str, Any]) -> list[Part]:
    """Return the parts of a certificate in the order in which a reader wants them."""
    parts = [
        _about(document),
        Part("When", [[label, _moment(document["times"][name])] for name, label in _TIMES.items() if document["times"].get(name)]),
        _people(document["people"]),
        _places(document["places"]),
        _verified(document),
        _withheld(document["withheld"]),
        _kept(document.get("kept", [])),
        Part("Recipients and backups", _outside(document)),
        Part("What this certificate does not say", sentences=list(document["limits"])),
        Part("Proof", _proof(document)),
    ]
    return [part for part in parts if part.rows or part.sentences]


def _about(document: dict[str, Any]) -> Part:
    request, software = document["request"], document["software"]
    revision = f" ({software['revision'][:12]})" if software.get("revision") else ""
    rows = [["Request", f"{request['number']}: {_KINDS.get(request['kind'], request['kind'])}, under {request['profile'].upper()}"]]
    rows.append(["Ground", _GROUNDS.get(request["ground"], request["ground"])])
    answers = document["manifest"].get("answers", {})
    if answers:
        rows.append(["Places asked", ", ".join(f"{count} {_ANSWERS.get(said, said)}" for said, count in answers.items())])
    rows += [
        ["Serial", document["serial"]],
        ["Issued by", f"{software['name']} {software['version']}{revision}, installation {document['instance']}"],
    ]
    return Part("About", rows)


def _people(people: dict[str, Any]) -> Part:
    rows = [[label, people[name]] for name, label in _PEOPLE.items() if people.get(name)]
    return Part("Who", [*rows, ["two people", "yes" if people["four_eyes"] else "no"]] if rows else [])


def _places(places: list[dict[str, Any]]) -> Part:
    full = [place for place in places if any(place[name] for name in _COUNTS)]
    rows = [[place["title"], done_at(place), place["method"], _far(place)] for place in full]
    empty = [place["title"] for place in places if place not in full and place.get("controls")]
    said = [f"Looked at, and nothing was there: {'; '.join(empty)}."] if empty else []
    return Part("What was done, place by place", rows, ["place", "items", "how", "how far"], said)


def _far(place: dict[str, Any]) -> str:
    return "; ".join(filter(None, [_REACHED.get(place["reached"], place["reached"]), _controls(place)]))


def _controls(place: dict[str, Any]) -> str:
    return f"{place['controls_seen']} of {place['controls']} controls seen" if place.get("controls") else ""


def done_at(place: Mapping[str, Any]) -> str:
    """Say what was done in a place, from its numbers."""
    return ", ".join(f"{place[name]:,} {word}" for name, word in _COUNTS.items() if place[name]) or "nothing there"


def _moment(written: str) -> str:
    """Return a time of the document as people read it; the file has it to the microsecond."""
    return f"{written[:10]} {written[11:19]} UTC" if _MOMENT.fullmatch(written) else written


def _verified(document: dict[str, Any]) -> Part:
    rows = [
        [
            f"look {look['number']}",
            _LOOKS.get(look["outcome"], look["outcome"]),
            f"{look['controls_seen']} of {look['controls']} controls seen, {look['tables']} tables, "
            f"{look['findings']} findings, {look['found']} of {look['expected']} kept items there",
        ]
        for look in document["verification"]["looks"]
    ]
    return Part("How it was verified", rows)


def _withheld(withheld: list[dict[str, Any]]) -> Part:
    rows = [[WHY_KEPT.get(each["reason"], each["reason"]), f"{each['items']:,}", each["review_on"]] for each in withheld]
    return Part("What is kept, and why", rows, ["reason", "items", "looked at again on"])


def _kept(kept: list[dict[str, Any]]) -> Part:
    rows = [[_STAYS.get(each["reason"], each["reason"]), f"{each['items']:,}"] for each in kept]
    return Part("What stays with others, and why", rows, ["reason", "items"])


def _outside(document: dict[str, Any]) -> list[list[str]]:
    told = [[f"recipients: {_STATES.get(state, state)}", str(count)] for state, count in sorted(document["recipients"].items())]
    return [*told, *_backups(document["backups"])]


def _backups(backups: dict[str, Any]) -> list[list[str]]:
    if not backups:
        return []
    known = _KNOWN_BY.get(backups.get("known_by", ""), "")
    rows = [["backups from before expire", f"{_moment(backups['expire_at'])}{f', {known}' if known else ''}"]]
    if backups.get("kinds"):
        counts = ", ".join(f"{count} {kind}" for kind, count in backups["kinds"].items())
        rows.append(["backups in the inventory", f"{counts}; {backups['not_yet_destroyed']} not yet confirmed to be destroyed"])
    if backups.get("inventory_checked_at"):
        rows.append(["inventory last said to be whole", _moment(backups["inventory_checked_at"])])
    return rows


def _named(manifest: dict[str, Any]) -> str:
    approved = f", approved by {manifest['approved_by']}, {_moment(manifest['approved_at'])}" if manifest.get("approved_by") else ""
    return f"{manifest['digest']}, {counted(manifest['items'], 'item')}, root {manifest['root']}{approved}"


def _proof(document: dict[str, Any]) -> list[list[str]]:
    manifest, audit = document["manifest"], document["audit"]
    rows = [["audit log", f"{audit['stream']} {audit['seq']}, {audit['row_hash']}"]]
    rows += [[f"entry {entry['action']}", f"{entry['seq']}, {entry['row_hash']}"] for entry in audit.get("entries", [])]
    if audit.get("checkpoint", {}).get("number"):
        anchored = audit["checkpoint"]
        rows.append(["checkpoint", f"{anchored['number']} of {_moment(anchored['at'])}, to entry {anchored['seq']}, {anchored['digest']}"])
    rows += [["ledger", f"{line['kind']}, line {line['seq']}, {line['hash']}"] for line in document.get("ledger", [])]
    if manifest:
        earlier = document.get("earlier_manifests", [])
        name = f"manifest {manifest['number']}" if earlier else "manifest"
        rows = [[name, _named(manifest)], *([f"manifest {each['number']}, carried out before", _named(each)] for each in earlier), *rows]
    rows += [["commitment", each] for each in document["subject_commitments"]]
    return [*rows, ["follows", document["follows"]]] if document["follows"] else rows
