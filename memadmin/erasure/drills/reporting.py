"""The report of a drill, for the page and the shell: codes, counts and seconds."""

from __future__ import annotations

from typing import Any

from memadmin.erasure.drills.planting import CONTROLS_ONLY
from memadmin.erasure.models import Drill, DrillPlace, DrillState, ErasureRequest
from memadmin.store import locations

IN_PLAIN = {
    "not_found": "planted, and the search did not find it",
    "not_erased": "planted, and not erased",
    "verification_not_clean": "the verification was not clean",
    "neighbour_changed": "a row of the neighbour is not as it was",
    "traces_left": "the made-up words can still be read in the database's files, rows or statistics",
    "traces_blind": "the look for traces did not see the made-up words before either, so that it says nothing",
    "no_certificate": "there is no certificate",
    "certificate_not_valid": "the certificate does not verify",
    "certificate_not_marked": "the certificate does not say that it is of a drill",
    "leftovers": "what was planted could not all be taken away",
    "stopped": "the drill itself stopped with an error",
    "request": "the request stopped",
    "approve": "the approval was refused",
    "execute": "the execution could not begin",
    "search": "the search stopped",
    "plant": "the person could not be planted",
}


def report_of(drill: Drill) -> dict[str, Any]:
    """Return the whole report as plain values. It has nothing of a real person in it."""
    request = ErasureRequest.objects.filter(drill=drill).first()
    seconds = (drill.ended_at - drill.started_at).total_seconds() if drill.ended_at else None
    return {
        "uid": str(drill.uid),
        "state": drill.state,
        "request": request.number if request else None,
        "started_at": drill.started_at.isoformat(),
        "seconds": seconds,
        "failures": [{"code": code, "means": in_plain(code)} for code in drill.failures],
        "neighbour_same": drill.neighbour_same,
        "traces_before": drill.traces_before,
        "traces_after": drill.traces_after,
        "tidied": drill.tidied,
        "places": [_place(place) for place in places_of(drill)],
        "controls_only": [
            {"place": name, "title": locations.get(name).title, "because": why}
            for name, why in CONTROLS_ONLY.items()
            if name in locations.LOCATIONS
        ],
    }


def in_plain(code: str) -> str:
    """Return what a code of a failure means: the place or error that it names stands behind the first point."""
    head, _, rest = code.partition(".")
    known = locations.LOCATIONS.get(rest)
    said = IN_PLAIN.get(head, code)
    return f"{known.title if known else rest}: {said}" if rest else said


def places_of(drill: Drill) -> list[DrillPlace]:
    """Return the places in the order of an erasure."""
    order = {location.name: at for at, location in enumerate(locations.in_order())}
    return sorted(drill.places.all(), key=lambda place: order.get(place.location, len(order)))


def lines_of(report: dict[str, Any]) -> list[str]:
    """Return the report as a table for a terminal."""
    rows = [["place", "planted", "found", "erased", "left"]]
    rows += [[str(place[name]) for name in ("title", "planted", "found", "erased", "left")] for place in report["places"]]
    widths = [max(len(row[at]) for row in rows) for at in range(5)]
    lines = ["  ".join([row[0].ljust(widths[0]), *(row[at].rjust(widths[at]) for at in range(1, 5))]) for row in rows]
    lines += [f"{each['title']}: tried by the verification's controls alone, since {each['because']}" for each in report["controls_only"]]
    same = {True: "byte for byte as before", False: "CHANGED", None: "not looked at"}[report["neighbour_same"]]
    lines.append(f"Neighbour with an id that begins alike: {same}")
    lines.append(f"Traces in the database itself: {report['traces_before']} before, {report['traces_after']} after")
    lines += [f"FAILED: {each['means']}" for each in report["failures"]]
    took = f" in {report['seconds']:.0f} s" if report["seconds"] is not None else ""
    left = "nothing of it is left" if report["tidied"] else "what it planted is STILL THERE"
    lines.append(f"Drill {DrillState(report['state']).label}{took}; {left}")
    return lines


def _place(place: DrillPlace) -> dict[str, Any]:
    known = locations.LOCATIONS.get(place.location)
    counts = {name: getattr(place, name) for name in ("planted", "found", "erased", "left")}
    return {"place": place.location, "title": known.title if known else place.location, **counts}
