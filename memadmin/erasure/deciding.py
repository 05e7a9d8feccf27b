"""What a reviewer says about things in a manifest, and freezing it for a second person."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from django.db.models import QuerySet

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.erasure import asking, manifests
from memadmin.erasure.intake import note, target_of, today
from memadmin.erasure.models import Decision, ErasureRequest, Kind, Manifest, ManifestItem, NoteKind, Status
from memadmin.erasure.models.manifests import Answer
from memadmin.erasure.moves import Refusal, WrongState, move
from memadmin.erasure.refusals import audited
from memadmin.store import locations
from memadmin.store.locations import Act, ItemClass, row_uid
from memadmin.store.models import Pin

WITHHOLD_CODES = {
    "art_17_3_a": "freedom of expression and information (17(3)(a))",
    "art_17_3_b": "a legal duty to keep it (17(3)(b))",
    "art_17_3_c": "public health (17(3)(c))",
    "art_17_3_d": "archiving, research or statistics (17(3)(d))",
    "art_17_3_e": "legal claims (17(3)(e))",
}
KEEP_CODES = {
    "others_rights": "it belongs to somebody else, whose rights weigh more",
    "not_about_them": "it is not about this person: a word, a namesake",
    "account_name": "it is the name of an account or program that wrote it",
}
NOT_ASKED = (Answer.UNREACHABLE, Answer.FAILED)
UNLINK_CODES = {"other_sources": "other sources say the same"}
# The right of access knows other limits than the right to erasure: what must be kept is given all the same.
WITHHELD_FROM_ACCESS = {
    "art_15_4": "it would touch the rights and freedoms of others (15(4))",
    "art_23": "a law restricts the right of access to it (23)",
    "privileged": "it is protected by professional secrecy or legal privilege",
}
ALLOWED: dict[str, tuple[Act, ...]] = {
    ItemClass.OWNED: (Act.DELETE, Act.WITHHOLD),
    ItemClass.DERIVED: (Act.DELETE, Act.WITHHOLD),
    ItemClass.MIXED: (Act.REDERIVE, Act.DELETE, Act.UNLINK, Act.WITHHOLD),
    ItemClass.MENTION: (Act.REDACT, Act.DELETE, Act.KEEP, Act.WITHHOLD),
    ItemClass.COPY: (),
    ItemClass.BACKUP: (),
    ItemClass.RECIPIENT: (),
}
ALL_CODES = {**WITHHOLD_CODES, **KEEP_CODES, **UNLINK_CODES, **WITHHELD_FROM_ACCESS}
CODES: dict[Act, dict[str, str]] = {Act.WITHHOLD: WITHHOLD_CODES, Act.KEEP: KEEP_CODES, Act.UNLINK: UNLINK_CODES}

PINS, PINNABLE = "store.pins", ("store.long_term", "store.sessions")


class NotDecidable(Refusal):
    """The thing cannot be treated so, or the decision lacks its reason or its day of review."""

    code = "not_decidable"


class NotReady(Refusal):
    """The manifest cannot be frozen yet; the message says what is missing."""

    code = "not_ready"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What is done with some things: withheld ones need a code in law and a day on which somebody looks again, kept ones a code."""

    act: Act
    code: str = ""
    review_on: date | None = None


def current(request: ErasureRequest) -> Manifest:
    """Return the finished manifest that counts. Raises WrongState."""
    manifest = request.manifests.filter(number=request.manifest_number or 0, completed_at__isnull=False).first()
    if manifest is None:
        raise WrongState(f"Request {request.number} has no manifest: start the search first.")
    return manifest


@audited(Action.ERASURE_DECIDED)
def decide(request: ErasureRequest, ids: Sequence[int], verdict: Verdict, *, actor: str, now: datetime) -> int:
    """Treat these lines of the manifest so, and return how many there were. Raises NotDecidable, WrongState."""
    manifest = in_review(request)
    items = ManifestItem.objects.filter(manifest=manifest, pk__in=list(ids))
    check(
        items.order_by("item_class").values_list("item_class", flat=True).distinct(), verdict, codes_for(request.kind, verdict.act), now=now
    )
    check_places(items, verdict)
    if items.filter(reason_code=manifests.HELD).exists():
        raise NotDecidable("Some of these are held. A hold is released where it was placed, not here.")
    values = {"act": verdict.act, "reason_code": verdict.code, "review_on": verdict.review_on}
    values |= {"bulk": None, "planned": "", "decision": Decision.MADE, "decided_by": actor}
    pins = _pins_on(manifest, items)
    changed = items.update(**values)
    pins.update(**values)
    if not changed:
        raise NotDecidable("None of these is in the manifest (any more).")
    manifests.recount(manifest)
    code = verdict.code or verdict.act.value
    log.append(Action.ERASURE_DECIDED, actor=actor, target=target_of(request), at=now, reason_code=code, counts={"items": changed})
    return changed


def _pins_on(manifest: Manifest, items: QuerySet[ManifestItem]) -> QuerySet[ManifestItem]:
    """Return the lines of the pins on these things: a pin goes, or stays, with what it keeps."""
    pinned = items.filter(location__in=PINNABLE).values_list("row_uid", flat=True)
    pins = Pin.objects.filter(target_uid__in=list(pinned)).values_list("pk", flat=True)
    return manifest.items.filter(location=PINS, row_uid__in=[row_uid(PINS, pk) for pk in pins])


@audited(Action.ERASURE_SUBMITTED)
def submit(request: ErasureRequest, *, actor: str, now: datetime) -> None:
    """Freeze the manifest and ask for a second person's approval. Raises NotReady, WrongState."""
    manifest = in_review(request)
    missing = what_is_missing(request, manifest)
    if missing:
        raise NotReady(" ".join(missing))
    manifests.sum_up(manifest)
    Manifest.objects.filter(pk=manifest.pk).update(frozen_at=now)
    move(
        request,
        Status.AWAITING_APPROVAL,
        now=now,
        expect=Status.REVIEW,
        manifest_number=manifest.number,
        manifest_digest=manifest.digest,
        reviewed_by=actor,
    )
    counts = {"manifest": manifest.number, "items": manifest.items_total}
    log.append(Action.ERASURE_SUBMITTED, actor=actor, target=target_of(request), at=now, counts=counts)


def what_is_missing(request: ErasureRequest, manifest: Manifest) -> list[str]:
    """Return, in sentences, what keeps the manifest from being frozen."""
    if not Kind(request.kind).erases:
        return [f"A request to {Kind(request.kind).label} is answered, not approved."]
    not_asked = manifest.answers.filter(answer__in=NOT_ASKED).exists()
    return missing_of(request, manifest, undecided=request.subjects.filter(ticked=None).exists(), not_asked=not_asked)


def missing_of(request: ErasureRequest, manifest: Manifest, *, undecided: bool, not_asked: bool) -> list[str]:
    """Return, in sentences, what has to be done before a request in review goes on: its freezing, or its answer where it erases nothing.

    For who knows already whether a look-alike waits to be ticked, and whether a place could not be asked.
    """
    erases = Kind(request.kind).erases
    sentences = {
        "Note first how it is known that the request comes from the person.": request.identity_level is None
        and request.kind != Kind.STORAGE_LIMIT,
        "Decide which of the ids that look alike are meant.": undecided,
        f"{manifest.undecided:,} mixed or mentioning items wait for a decision on the request's page.": erases and manifest.undecided > 0,
        "A place could not be asked. Search again once it answers.": erases and not_asked,
        "Nothing was found: end the request as nothing held.": erases and not manifest.items_total and not request.attempt,
    }
    return [sentence for sentence, holds in sentences.items() if holds]


@audited(Action.ERASURE_RETURNED)
def send_back(request: ErasureRequest, *, reason: str, actor: str, now: datetime) -> None:
    """Let the reviewer look again; an approval that stands is void. Raises NothingWritten, WrongState."""
    note(request, reason, kind=NoteKind.REASON, actor=actor, now=now)
    if request.state not in {Status.AWAITING_APPROVAL, Status.APPROVED}:
        raise WrongState(f"Request {request.number} is {Status(request.state).label}: there is nothing to send back.")
    return_to_review(request, code="sent_back", actor=actor, now=now)


def return_to_review(request: ErasureRequest, *, code: str, actor: str, now: datetime) -> None:
    """Open the frozen manifest again, inside the caller's transaction."""
    request.approvals.filter(voided_at=None, used_at=None).update(voided_at=now, void_code=code)
    Manifest.objects.filter(request=request, number=request.manifest_number or 0).update(frozen_at=None)
    move(request, Status.REVIEW, now=now, manifest_digest="", reviewed_by="")
    log.append(Action.ERASURE_RETURNED, actor=actor, target=target_of(request), at=now, reason_code=code)


def in_review(request: ErasureRequest) -> Manifest:
    """Return the manifest that decisions are made about, its request locked. Raises WrongState."""
    locked = ErasureRequest.objects.select_for_update().get(pk=request.pk)
    if locked.state != Status.REVIEW:
        raise WrongState(f"Request {request.number} is {Status(locked.state).label}: its manifest is not open for review.")
    return current(locked)


def codes_for(kind: str, act: Act) -> dict[str, str]:
    """Return the reasons of which one has to be given, none where none is."""
    return WITHHELD_FROM_ACCESS if kind == Kind.ACCESS and act == Act.WITHHOLD else CODES.get(act, {})


def check(classes: Iterable[str], verdict: Verdict, codes: Mapping[str, str], *, now: datetime) -> None:
    """Raise NotDecidable where things of these classes cannot be treated so, or a reason or day is missing."""
    for item_class in classes:
        if verdict.act not in ALLOWED[item_class]:
            raise NotDecidable(f"What is {ItemClass(item_class).label} cannot be treated so: {verdict.act.label}.")
    if codes and verdict.code not in codes:
        raise NotDecidable(f"Choose the reason: {'; '.join(codes.values())}.")
    if not codes and verdict.code:
        raise NotDecidable("A reason is given for what stays only.")
    if verdict.act == Act.WITHHOLD and (verdict.review_on is None or verdict.review_on <= today(now)):
        raise NotDecidable("Say on which day, ahead of today, somebody looks again at what is withheld.")


def check_places(items: QuerySet[ManifestItem], verdict: Verdict) -> None:
    """Raise NotDecidable where something is to be deleted in a place from which only words are taken out."""
    if verdict.act != Act.DELETE:
        return
    for name in items.order_by("location").values_list("location", flat=True).distinct():
        if not asking.can_delete(name):
            raise NotDecidable(f"{locations.get(name).title}: none of it is deleted by itself. Take the words out, or leave it.")


def codes_of(kind: str) -> dict[str, str]:
    """Return the reasons that a decision in a request of this kind may have, whatever is decided, with what they mean."""
    withheld = WITHHELD_FROM_ACCESS if kind == Kind.ACCESS else WITHHOLD_CODES
    return {**withheld, **KEEP_CODES, **UNLINK_CODES}
