"""One request: its dates, what was found by place, decisions, approval, and the log of what was done. Counts come from the manifest."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from memadmin.access.actors import actor_of, names_of
from memadmin.access.rights import Right
from memadmin.audit.actions import Action
from memadmin.audit.models import AuditEntry, Stream
from memadmin.erasure import answered, bulk_decisions, deciding, discovery, drift, grounds, manifests, sharing, workflow
from memadmin.erasure.approving import NotFresh, SamePerson
from memadmin.erasure.certificates.issuing import TooLate
from memadmin.erasure.execution.resuming import Stopped
from memadmin.erasure.intake import target_of, today
from memadmin.erasure.models import Approval, ErasureRequest, Ground, IdentityLevel, Kind, Manifest, Status
from memadmin.erasure.models.manifests import Answer
from memadmin.erasure.moves import BEFORE_EXECUTION, Refusal, WrongState
from memadmin.erasure.outcomes import outcome_in_words
from memadmin.erasure.visibility import get_request, visible_requests
from memadmin.pages.container_names import names_told_apart
from memadmin.pages.decorators import may
from memadmin.pages.erasure import after, guiding
from memadmin.pages.erasure.asking import question_of
from memadmin.pages.erasure.binding import bonds_of, refused_by
from memadmin.pages.erasure.export_cards import card_of
from memadmin.pages.erasure.inbox import clock_of
from memadmin.pages.erasure.letters import telling_of
from memadmin.pages.erasure.progress import BEGUN, about_execution, shown_of
from memadmin.pages.erasure.searches import searches_of
from memadmin.pages.erasure.stopping import stop_of
from memadmin.pages.erasure.undoable import undoable_in
from memadmin.pages.htmx import PersonRequest, notice
from memadmin.store import locations
from memadmin.store.locations import ItemClass

TIMELINE = 20
RETURNED = {
    drift.HOLD: "The erasure did not begin: a hold was placed or released after the search. Search again: then what is held is withheld.",
    drift.NEW: "The erasure did not begin: something was stored after the search. Search again, so that it is in the manifest.",
    drift.DIGEST: "The erasure did not begin: the manifest was not as it had been approved. Search again.",
    bulk_decisions.UNDONE: "A decision about many was undone while the list waited for its approval.",
    "sent_back": "Whoever approves has sent it back. The reason stands under Notes and letters.",
}
STATUS_OF: dict[type[Refusal], int] = {WrongState: 409, Stopped: 409, TooLate: 409, SamePerson: 403, NotFresh: 403}


@require_safe
@may("erasure.view")
def erasure_detail(request: PersonRequest, uid: UUID) -> HttpResponse:
    return show(request, get_request(request.user, uid))


def show(request: PersonRequest, found: ErasureRequest, *, refused: str = "", status: int = 200) -> HttpResponse:
    """Render the page of a request; `refused` says why what was just asked for did not happen."""
    manifest = _manifest(found)
    entries = list(AuditEntry.objects.in_stream(Stream.GOVERNANCE).on_target(target_of(found)).newest_first()[:TIMELINE])
    export = card_of(found)
    bonds = bonds_of(found, _subjects(found))
    handed_by = export.live.handed_by if export and export.live else ""
    actors = {found.opened_by, found.reviewed_by, found.identity_by, handed_by}
    actors |= {entry.actor for entry in entries} | {bond.by for bond in bonds}
    state = Status(found.state)
    context: dict[str, Any] = {
        **_choices(),
        "found": found,
        "clock": clock_of(found, today(timezone.now())),
        **_asked(found),
        "bonds": bonds,
        "returned": _why_returned(entries) if state == Status.REVIEW else "",
        "refusals": refused_by(found),
        "notes": list(found.notes.order_by("-written_at", "-id")[:TIMELINE]) if request.user.may(Right.ERASURE_REVIEW) else [],
        **_looked_for(found, manifest),
        "shows": shown_of(found, export.state if export else ""),
        "duplicate_of": _duplicate_of(request, found),
        **guiding.told_of(request.user, found),
        "approval": _standing_approval(found),
        "entries": entries,
        "names": names_of(actors - {""}),
        "refused": refused,
        "written": _written(request) if refused and (state not in BEFORE_EXECUTION or status == STATUS_OF[WrongState]) else "",
        "open": state in BEFORE_EXECUTION,
        "state": state,
        **_whom_it_waits_for(request, found, now=timezone.now()),
        "export": export,
        "may_tick": request.user.may(Right.ERASURE_REVIEW) and state in {Status.RECEIVED, Status.REVIEW},
        "undecided": any(row.ticked is None for row in _subjects(found)),
        **about_execution(found),
        **_offered(request, found, undoable=manifest is not None and vars(manifest)["undoable"]),
    }
    return render(request, "erasure/detail.html", context, status=status)


def _written(request: PersonRequest) -> str:
    """Return what came along with something that is not possible any more: its form is not on the page, and the words would be lost."""
    return "\n\n".join(text for name in ("letter", "reason", "text") if (text := request.POST.get(name, "").strip()))


def _manifest(found: ErasureRequest) -> Manifest | None:
    """Return the manifest that counts, with what it has: a decision about many to undo, mixed items and mentions that wait."""
    mixed, mentions = bulk_decisions.waits(ItemClass.MIXED), bulk_decisions.waits(ItemClass.MENTION)
    counting = found.manifests.filter(number=found.manifest_number or 0)
    return counting.annotate(undoable=bulk_decisions.MADE_HERE, mixed=mixed, mentions=mentions).first()


def _looked_for(found: ErasureRequest, manifest: Manifest | None) -> dict[str, Any]:
    """Return what the searches found, the present one place by place, and what it lacks to go on."""
    places = _places(manifest)
    return {"manifest": manifest, "searches": searches_of(found), **places, "missing": _missing(found, manifest, places["places"])}


def _offered(request: PersonRequest, found: ErasureRequest, *, undoable: bool) -> dict[str, Any]:
    """Return what can be undone, stopped, and told to the person."""
    is_near = found.state in BEGUN | {Status.AWAITING_APPROVAL, Status.APPROVED}
    stop = stop_of(request.user) if is_near else {}
    undo = undoable_in(found) if undoable else {}
    return {**undo, **telling_of(found, now=timezone.now()), **stop, "stopped": stop.get("stop_on", False)}


def _why_returned(entries: list[AuditEntry]) -> str:
    """Return why a manifest came back, where nothing has been searched since."""
    telling = (Action.ERASURE_RETURNED, Action.ERASURE_DISCOVERED)
    last = next((entry for entry in entries if entry.action in telling), None)
    return RETURNED.get(last.reason_code, "") if last and last.action == Action.ERASURE_RETURNED else ""


def _standing_approval(found: ErasureRequest) -> Approval | None:
    return found.approvals.filter(voided_at=None, used_at=None).first() if found.state == Status.APPROVED else None


def _whom_it_waits_for(request: PersonRequest, found: ErasureRequest, *, now: datetime) -> dict[str, Any]:
    return {**question_of(request.user, found), "ended": after.what_follows(found, now=now), "answer": after.after_answer(found, now=now)}


def _choices() -> dict[str, Any]:
    return {
        "labels": {action.value: action.label for action in Action},
        "levels": IdentityLevel.choices,
        "refusal_codes": workflow.REFUSAL_CODES.items(),
        "extension_codes": workflow.EXTENSION_CODES.items(),
    }


def _subjects(found: ErasureRequest) -> list[Any]:
    if not hasattr(found, "_named"):
        found._named = list(found.subjects.select_related("container").order_by("id"))  # type: ignore[attr-defined]
    rows: list[Any] = found._named  # type: ignore[attr-defined]
    return rows


def _asked(found: ErasureRequest) -> dict[str, Any]:
    """Return what is asked for, on which ground, and about whom."""
    containers = {row.container_id: row.container for row in _subjects(found) if row.container}
    asked = {"kind": Kind(found.kind), "ground": grounds.words(Ground(found.ground)), "outcome": outcome_in_words(found.outcome_code)}
    return {**asked, "subjects": _subjects(found), "told_apart": names_told_apart(containers.values())}


def _duplicate_of(request: PersonRequest, found: ErasureRequest) -> ErasureRequest | None:
    return visible_requests(request.user).filter(pk=found.duplicate_of_id).first() if found.duplicate_of_id else None


def _places(manifest: Manifest | None) -> dict[str, list[dict[str, Any]]]:
    """Return every place with its answer and lines, in the order of an erasure; those that hold nothing apart."""
    if manifest is None or manifest.completed_at is None:
        return {"places": [], "empty_places": []}
    lines: dict[str, list[Any]] = {}
    for line in manifest.lines.order_by("item_class", "act"):
        lines.setdefault(line.location, []).append(line)
    answers = {row.location: row for row in manifest.answers.all()}
    rows: list[dict[str, Any]] = []
    for name in manifests.order_of(answers):
        known = locations.LOCATIONS.get(name)
        title, goes = (known.title, known.goes) if known else (name, "")
        answer = answers[name]
        rows.append({"name": name, "title": title, "goes": goes, "answer": answer, "lines": lines.get(name, [])})
    telling = {Answer.FOUND, Answer.FAILED, Answer.UNREACHABLE}
    return {
        "places": [row for row in rows if row["answer"].answer in telling],
        "empty_places": [row for row in rows if row["answer"].answer not in telling],
    }


def _missing(found: ErasureRequest, manifest: Manifest | None, places: list[dict[str, Any]]) -> list[str]:
    undecided = any(row.ticked is None for row in _subjects(found))
    not_asked = any(place["answer"].answer in deciding.NOT_ASKED for place in places)
    return guiding.missing_before(found, manifest, undecided=undecided, not_asked=not_asked)


Verb = Callable[..., object]


def status_of(refusal: Refusal) -> int:
    return STATUS_OF.get(type(refusal), 422)


def act(request: PersonRequest, uid: UUID, verb: Verb, *given: Any, said: str, **details: Any) -> HttpResponse:
    """Do one verb on a request; what it refuses is said on the request's page, and nothing has changed."""
    found = get_request(request.user, uid)
    try:
        verb(found, *given, actor=actor_of(request.user), now=timezone.now(), **details)
    except Refusal as refusal:
        return show(request, get_request(request.user, uid), refused=str(refusal), status=status_of(refusal))
    notice(request, said)
    return redirect("pages:erasure-detail", uid)


@require_POST
@may("erasure.review")
def erasure_discover(request: PersonRequest, uid: UUID) -> HttpResponse:
    return act(request, uid, discovery.start, said="Every place is being asked.")


@require_POST
@may("erasure.intake")
def erasure_identity(request: PersonRequest, uid: UUID) -> HttpResponse:
    level = request.POST.get("level", "")
    if level not in {str(value) for value in IdentityLevel.values}:
        return show(request, get_request(request.user, uid), refused="Choose how it is known who asks.", status=422)
    return act(request, uid, workflow.note_identity, IdentityLevel(int(level)), said="It is noted how the person was identified.")


@require_POST
@may("erasure.intake")
def erasure_pause(request: PersonRequest, uid: UUID) -> HttpResponse:
    return act(request, uid, workflow.pause, said="The time stands until the person has proved who they are.")


@require_POST
@may("erasure.intake")
def erasure_resume(request: PersonRequest, uid: UUID) -> HttpResponse:
    return act(request, uid, workflow.resume, said="The time runs on.")


@require_POST
@may("erasure.review")
def erasure_extend(request: PersonRequest, uid: UUID) -> HttpResponse:
    try:
        noticed_on = date.fromisoformat(request.POST.get("noticed_on", ""))
    except ValueError:
        return show(request, get_request(request.user, uid), refused="Say on which day the person was told.", status=422)
    return act(request, uid, workflow.extend, request.POST.get("code", ""), noticed_on=noticed_on, said="The time was extended.")


@require_POST
@may("erasure.review")
def erasure_tick(request: PersonRequest, uid: UUID) -> HttpResponse:
    """Those shown and ticked are meant, those shown and not ticked are not."""
    ticks = set(request.POST.getlist("tick"))
    decided = {ref: ref in ticks for ref in request.POST.getlist("shown")}
    return act(request, uid, workflow.tick, decided, said="It is noted who is meant.")


@require_POST
@may("erasure.review")
def erasure_note(request: PersonRequest, uid: UUID) -> HttpResponse:
    return act(request, uid, workflow.add_note, request.POST.get("text", ""), said="The note was added.")


@require_POST
@may("erasure.review")
def erasure_accept(request: PersonRequest, uid: UUID) -> HttpResponse:
    item_class = request.POST.get("item_class", "")
    if item_class not in {ItemClass.MIXED, ItemClass.MENTION}:
        return show(request, get_request(request.user, uid), refused="Choose mixed items or mentions.", status=422)
    if item_class == ItemClass.MENTION:
        return act(
            request, uid, sharing.accept_uncommon, said="They will be treated as planned. What many users share waits for a decision."
        )
    return act(request, uid, bulk_decisions.accept_planned, ItemClass(item_class), said="They will be treated as planned.")


@require_POST
@may("erasure.review")
def erasure_submit(request: PersonRequest, uid: UUID) -> HttpResponse:
    return act(request, uid, deciding.submit, said="The manifest is frozen and waits for another person's approval.")


@require_POST
@may("erasure.review")
def erasure_refuse(request: PersonRequest, uid: UUID) -> HttpResponse:
    letter, code = request.POST.get("letter", ""), request.POST.get("code", "")
    return act(request, uid, workflow.refuse, code, letter=letter, said="The request was refused.")


@require_POST
@may("erasure.intake")
def erasure_cancel(request: PersonRequest, uid: UUID) -> HttpResponse:
    return act(request, uid, workflow.cancel, said="The request was withdrawn. Nothing was erased.")


@require_POST
@may("erasure.review")
def erasure_nothing_held(request: PersonRequest, uid: UUID) -> HttpResponse:
    letter = request.POST.get("letter", "")
    return act(request, uid, workflow.end_as_nothing_held, letter=letter, said="The request ended: nothing is held.")


@require_POST
@may("erasure.hold")
def erasure_lift(request: PersonRequest, uid: UUID) -> HttpResponse:
    reason, letter = request.POST.get("reason", ""), request.POST.get("letter", "")
    try:
        told_on = date.fromisoformat(request.POST.get("told_on", ""))
    except ValueError:
        return show(request, get_request(request.user, uid), refused="Say on which day the person was told.", status=422)
    details = {"letter": letter, "told_on": told_on}
    return act(request, uid, answered.lift_restriction, reason, said="The restriction is lifted.", **details)


@require_POST
@may("erasure.review")
def erasure_answer(request: PersonRequest, uid: UUID) -> HttpResponse:
    letter, code = request.POST.get("letter", ""), request.POST.get("code", "")
    return act(request, uid, workflow.answer, code, letter=letter, said="The request was answered.")
