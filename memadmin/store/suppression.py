"""What was erased and must not come back: placing, asking, changing and lifting suppressions.

Invariant: `Subject.suppressed` is the mode of the suppression that counts for its id, so that a user whose row says nothing costs no
look-up; it moves in the transaction that moves the suppression, with the subject locked. So a fence waits for the writers that are in
flight, and the writers after it find it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q, QuerySet

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.store import counters, ledger_lines, making_locks
from memadmin.store.models import Container, Mode, Subject, SuppressedKind, Suppression
from memadmin.store.querysets import SubjectQuerySet
from memadmin.store.suppression_keys import KeysUnusable, normal, ring
from memadmin.store.text import says_something

STRICTEST_FIRST = tuple(Mode)
STANDING = [mode for mode in Mode if mode is not Mode.LIFTED]
FORGOTTEN = "As the ledger says; the words were lost when an older database was put back."
AT_ONCE = 500  # digests in one look-up


class NothingToSuppress(Exception):
    """There is no id or text by which it could be known again."""


class NoReason(Exception):
    """Lifting a suppression needs a reason that the next person understands."""


class NotStanding(Exception):
    """The suppression was lifted already, or is not there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How long and how strictly: `block_until` None blocks as long as it is kept, `keep_until` None keeps it."""

    mode: Mode
    block_until: datetime | None = None
    keep_until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is to happen to something that arrives, and the suppression that says so."""

    mode: Mode
    uid: UUID


@transaction.atomic
def fence(user_ids: Iterable[str], *, container: Container | None, request_ref: str, actor: str, now: datetime) -> list[Suppression]:
    """Refuse everything new about these users, of one container or of all (None), until `settle` says how it goes on.

    Waits for writers in flight. From here on the database refuses rows of their subjects too, and their epoch has moved.
    Twice is once. Raises NothingToSuppress for an empty list.
    """
    names = sorted(set(user_ids))
    if not names:
        raise NothingToSuppress("Say which users are meant.")
    making_locks.shut_out(names)
    subjects = _rows_of(names, container)
    counters.lock(subjects.values_list("pk", flat=True))
    subjects.update(suppressed=Mode.FENCE, epoch=F("epoch") + 1)
    made = [_place(SuppressedKind.SUBJECT, name, container, Terms(mode=Mode.FENCE), request_ref=request_ref, now=now) for name in names]
    _say(Action.SUPPRESSION_PLACED, request_ref, actor=actor, now=now, counts={"fence": len(made)})
    return made


@transaction.atomic
def suppress_users(
    user_ids: Iterable[str], *, container: Container | None, terms: Terms, request_ref: str, actor: str, now: datetime
) -> list[Suppression]:
    """Suppress users without a fence before: what `reapply` does for an erasure that the database has forgotten."""
    names = sorted(set(user_ids))
    if not names:
        raise NothingToSuppress("Say which users are meant.")
    making_locks.shut_out(names)
    subjects = _rows_of(names, container)
    counters.lock(subjects.values_list("pk", flat=True))
    made = [_place(SuppressedKind.SUBJECT, name, container, terms, request_ref=request_ref, now=now) for name in names]
    subjects.update(suppressed=terms.mode)
    _say(Action.SUPPRESSION_PLACED, request_ref, actor=actor, now=now, counts={terms.mode.value: len(made)})
    return made


@transaction.atomic
def suppress_texts(
    texts: Iterable[str], *, container: Container | None, terms: Terms, request_ref: str, actor: str, now: datetime
) -> list[Suppression]:
    """Know erased texts again when they come back word for word. Texts that say nothing are passed over."""
    forms = sorted({form for text in texts if (form := normal(text))})
    made = [_place(SuppressedKind.TEXT, form, container, terms, request_ref=request_ref, now=now) for form in forms]
    if made:
        _say(Action.SUPPRESSION_PLACED, request_ref, actor=actor, now=now, counts={f"text.{terms.mode}": len(made)})
    return made


@transaction.atomic
def settle(request_ref: str, *, terms: Terms, user_ids: Collection[str] = (), actor: str, now: datetime) -> int:
    """Put other terms on all that a request suppresses, and return how many that are. `user_ids`: whose subjects' rows still stand."""
    standing = Suppression.objects.filter(request_ref=request_ref, mode__in=STANDING)
    for suppression in standing.filter(kind=SuppressedKind.SUBJECT):
        _mark(_rows_with(suppression, user_ids), terms.mode)
    changed = standing.update(mode=terms.mode, block_until=terms.block_until, keep_until=terms.keep_until)
    _say(Action.SUPPRESSION_CHANGED, request_ref, actor=actor, now=now, counts={terms.mode.value: changed})
    return changed


@transaction.atomic
def keep_until(request_ref: str, until: datetime, *, actor: str, now: datetime) -> int:
    """Let go of all that a request suppresses at this time, or when its block ends where that is later. Returns how many that are."""
    standing = Suppression.objects.filter(request_ref=request_ref, mode__in=STANDING).exclude(mode=Mode.FENCE)
    later = standing.filter(block_until__gt=until).update(keep_until=F("block_until"))
    changed = later + standing.exclude(block_until__gt=until).update(keep_until=until)
    if changed:
        _say(Action.SUPPRESSION_CHANGED, request_ref, actor=actor, now=now, counts={"ends": changed})
    return changed


@transaction.atomic
def lift(suppression: Suppression, *, reason: str, actor: str, now: datetime) -> None:
    """Let what was suppressed in again. It brings nothing back: who comes under the id now begins anew.

    Raises NoReason, NotStanding, LedgerUnusable.
    """
    if not says_something(reason):
        raise NoReason("Say why this may come back: the next person will ask.")
    if suppression.mode == Mode.FENCE:
        raise NotStanding("An erasure is running: what it fences cannot be lifted.")
    _end(suppression, lifted_by=actor, lifted_at=now, lift_reason=reason.strip())
    target = f"suppressions/{suppression.uid}"
    log.append(Action.SUPPRESSION_LIFTED, actor=actor, target=target, at=now, payload={"reason": reason.strip()})
    ledger_lines.suppression_lifted(suppression, now=now)


@transaction.atomic
def lift_again(suppression: Suppression, *, by: str, at: datetime, actor: str, now: datetime) -> None:
    """Lift what the ledger says was lifted, in a database that has forgotten it. Raises NotStanding."""
    _end(suppression, lifted_by=by, lifted_at=at, lift_reason=FORGOTTEN)
    log.append(Action.SUPPRESSION_LIFTED, actor=actor, target=f"suppressions/{suppression.uid}", at=now, reason_code="ledger")


def remember(digest: str, *, key_id: str, container: Container, terms: Terms, request_ref: str, now: datetime) -> bool:
    """Suppress a user who has no row and whose id is known by this digest alone; return whether that is new.

    The caller has the transaction, and says it in the log.
    """
    if Suppression.objects.filter(digest=digest, container=container, mode__in=STANDING).exists():
        return False
    named = {"kind": SuppressedKind.SUBJECT, "digest": digest, "key_id": key_id, "container": container, "request_ref": request_ref}
    values = {"mode": terms.mode, "block_until": terms.block_until, "keep_until": terms.keep_until}
    Suppression.objects.create(**named, **values, since=now)
    return True


def block_until(request_ref: str, until: datetime | None) -> None:
    """Let what a request blocks or sets aside be so until then: for as long as was meant at first. The caller says it in the log."""
    Suppression.objects.filter(request_ref=request_ref, mode__in=[Mode.BLOCK, Mode.QUARANTINE]).update(block_until=until)


@transaction.atomic
def end_drill(request_ref: str) -> int:
    """Take away what a drill's request suppresses: made-up ids, which nobody brings back. Return how many that were."""
    gone, _ = Suppression.objects.filter(request_ref=request_ref).delete()
    return gone


def verdicts(container: Container, user_ids: Iterable[str | None], *, now: datetime) -> dict[str, Verdict]:
    """Return what is to happen to each user that is suppressed here: one indexed look-up. Raises KeysUnusable."""
    return _look_up(SuppressedKind.SUBJECT, container, {name: name for name in user_ids if name is not None}, now=now)


def text_verdicts(container: Container, texts: Iterable[str], *, now: datetime, origin: Container | None = None) -> dict[str, Verdict]:
    """Return what is to happen to each text that is suppressed here, or where it comes from. Raises KeysUnusable."""
    forms = {text: normal(text) for text in texts}
    found = _look_up(SuppressedKind.TEXT, container, forms, now=now)
    if origin is not None:
        for text, verdict in _look_up(SuppressedKind.TEXT, origin, forms, now=now).items():
            found[text] = strictest([verdict, found.get(text, verdict)])
    return found


def strictest(met: Iterable[Verdict]) -> Verdict:
    return min(met, key=lambda verdict: STRICTEST_FIRST.index(verdict.mode))


def texts_here(*containers: Container) -> QuerySet[Suppression]:
    """The texts that are suppressed in containers, their own and everywhere's."""
    return Suppression.objects.filter(_here(*containers), kind=SuppressedKind.TEXT).exclude(mode=Mode.LIFTED)


@transaction.atomic
def let_lapse(*, actor: str, now: datetime) -> dict[str, int]:
    """Forget what need not be known any more, and turn blocks whose time has come into flags. Returns how many of each."""
    over = Suppression.objects.filter(keep_until__lte=now, mode__in=STANDING).exclude(mode=Mode.FENCE)
    softer = Suppression.objects.filter(block_until__lte=now, mode__in=[Mode.BLOCK, Mode.QUARANTINE])
    touched = [*over, *softer]
    subjects = {subject.pk: subject for suppression in touched for subject in _suppressed_rows(suppression)}
    counts = {"flagged": softer.update(mode=Mode.FLAG), "forgotten": Suppression.objects.filter(pk__in=over.values("pk")).delete()[0]}
    for subject in subjects.values():
        _mark(Subject.objects.filter(pk=subject.pk), _mode_of(verdicts(subject.container, [subject.user_id], now=now)))
    if any(counts.values()):
        log.append(Action.SUPPRESSION_LAPSED, actor=actor, target="suppressions/all", at=now, counts=counts)
    return counts


def _place(kind: SuppressedKind, text: str, container: Container | None, terms: Terms, *, request_ref: str, now: datetime) -> Suppression:
    """Make a suppression, or put the terms on the one that stands: there is one of a thing and place."""
    keys = ring()
    known = Suppression.objects.filter(digest__in=keys.digests(kind, text).values(), container=container, mode__in=STANDING)
    values = {
        "mode": terms.mode,
        "block_until": terms.block_until,
        "keep_until": terms.keep_until,
        "request_ref": request_ref,
        "since": now,
    }
    standing = known.first()
    if standing is not None:
        Suppression.objects.filter(pk=standing.pk).update(**values)
        standing.refresh_from_db()
        return standing
    return Suppression.objects.create(kind=kind, digest=keys.digest(kind, text), key_id=keys.current, container=container, **values)


def _end(suppression: Suppression, *, lifted_at: datetime, **values: object) -> None:
    standing = Suppression.objects.filter(pk=suppression.pk, mode__in=STANDING).exclude(mode=Mode.FENCE)
    if not standing.update(mode=Mode.LIFTED, lifted_at=lifted_at, **values):
        raise NotStanding("This was lifted already.")
    suppression.refresh_from_db()
    for subject in _suppressed_rows(suppression):
        _mark(Subject.objects.filter(pk=subject.pk), _mode_of(verdicts(subject.container, [subject.user_id], now=lifted_at)))


def _look_up(kind: SuppressedKind, container: Container, forms: Mapping[str, str], *, now: datetime) -> dict[str, Verdict]:
    found: dict[str, Verdict] = {}
    if not forms:
        return found
    keys = ring()
    named: dict[str, list[str]] = {}
    for text, form in forms.items():
        for digest in keys.digests(kind, form).values() if form or kind is SuppressedKind.SUBJECT else ():
            named.setdefault(digest, []).append(text)
    digests = list(named)
    for start in range(0, len(digests), AT_ONCE):
        wanted = Q(digest__in=digests[start : start + AT_ONCE]) | ~Q(key_id__in=list(keys.keys))
        for suppression in Suppression.objects.filter(_here(container), wanted, kind=kind, mode__in=STANDING):
            if suppression.key_id not in keys.keys:
                raise KeysUnusable(f"The key {suppression.key_id} of suppressed ids is missing: put the file of keys back.")
            for text in named[suppression.digest]:
                given = _verdict(suppression, now=now)
                found[text] = strictest([found[text], given]) if text in found else given
    return {text: verdict for text, verdict in found.items() if verdict.mode is not Mode.LIFTED}


def _verdict(suppression: Suppression, *, now: datetime) -> Verdict:
    mode = Mode(suppression.mode)
    if mode is not Mode.FENCE and suppression.keep_until is not None and suppression.keep_until <= now:
        mode = Mode.LIFTED
    elif mode in {Mode.BLOCK, Mode.QUARANTINE} and suppression.block_until is not None and suppression.block_until <= now:
        mode = Mode.FLAG
    return Verdict(mode, suppression.uid)


def _here(*containers: Container) -> Q:
    return Q(container__in=containers) | Q(container__isnull=True)


def _mode_of(found: Mapping[str, Verdict]) -> str:
    return next((verdict.mode.value for verdict in found.values()), "")


def _rows_of(names: Sequence[str], container: Container | None) -> SubjectQuerySet:
    rows = Subject.objects.filter(user_id__in=names)
    return rows if container is None else rows.filter(container=container)


def _rows_with(suppression: Suppression, user_ids: Collection[str]) -> SubjectQuerySet:
    keys = ring()
    meant = [name for name in user_ids if suppression.digest in keys.digests(SuppressedKind.SUBJECT, name).values()]
    return _rows_of(meant, suppression.container)


def _suppressed_rows(suppression: Suppression) -> list[Subject]:
    """Find the subjects that a suppression of a user speaks of: their ids are known by the digest alone."""
    if suppression.kind != SuppressedKind.SUBJECT:
        return []
    marked = Subject.objects.exclude(suppressed="").filter(user_id__isnull=False).select_related("container")
    keys = ring()
    if suppression.container_id is not None:
        marked = marked.filter(container_id=suppression.container_id)
    return [row for row in marked if suppression.digest in keys.digests(SuppressedKind.SUBJECT, row.user_id or "").values()]


def _mark(rows: SubjectQuerySet, mode: str) -> None:
    counters.lock(rows.values_list("pk", flat=True))
    rows.update(suppressed="" if mode == Mode.LIFTED else mode)


def _say(action: Action, request_ref: str, *, actor: str, now: datetime, counts: Mapping[str, int]) -> None:
    log.append(action, actor=actor, target=request_ref, at=now, counts=counts)
